/** Jobs: what is due is queued in the index, run when there is room, and shown to the user. */
import { MemoryError } from '../../schema/errors.ts'
import type { JobList, Job as JobShown, OneJob } from '../../schema/job.ts'
import { AFTER_START_MS, type Core } from '../core.ts'
import type { Models } from '../models/models.ts'
import type { Timer } from '../platform/clock.ts'
import { aborted } from '../platform/process.ts'
import { createJobClaims, createJobTable, type Job } from './job-table.ts'
import { createRunner } from './runner.ts'
import { createScheduler, type Schedule } from './scheduler.ts'

const DAY_MS = 86_400_000
const PAGE = 50

type Listed = { state?: string | undefined; limit?: number | undefined; after?: number | undefined }

export type Jobs = ReturnType<typeof createJobs>

export function createJobs(core: Core, models: Models) {
  const { db, clock, disk } = core
  const table = createJobTable(db.index)
  const runner = createRunner(core, models, table, createJobClaims(db.index))
  const scheduler = createScheduler(core, runner)
  let listSchedules = (): readonly Schedule[] => []
  let starting: Timer | undefined
  models.onModeChange(runner.resume)
  disk.onRecovered(runner.resume)

  const begin = (): Promise<void> => {
    starting?.stop()
    starting = undefined
    runner.start()
    return scheduler.plan(listSchedules())
  }
  const found = (id: string): Job => {
    const job = table.get(id)
    if (!job) throw new MemoryError('NOT_FOUND', `there is no job ${id}`, { hint: 'run: memoryd jobs' })
    return job
  }
  const shown = (job: Job) => shownJob(job, runner.progressOf(job.id))
  const whole = (job: Job): OneJob => ({ ...shown(job), watermark: job.watermark, result: job.result ?? undefined })

  return {
    register: runner.register,
    schedule: (list: () => readonly Schedule[]): void => {
      listSchedules = list
    },
    holdLowWhile: runner.holdLowWhile,
    enqueue: runner.enqueue,
    wake: runner.wake,
    resume: runner.resume,
    counts: table.counts,
    ofKey: table.ofKey,
    list: ({ state, limit = PAGE, after }: Listed): JobList => {
      const { jobs, next } = table.list({ state, limit, after })
      return { items: jobs.map(shown), ...(next !== undefined && { next: String(next) }) }
    },
    get: (id: string) => whole(found(id)),
    kill: (id: string): OneJob => {
      const killed = runner.kill(id) ?? found(id)
      if (killed.state === 'killed') return whole(killed)
      throw new MemoryError('CONFLICT', `${id} is ${killed.state}: there is nothing left to kill`)
    },
    retry: (id: string): OneJob => {
      const answer = runner.retry(id) ?? { refused: found(id).state }
      if ('retried' in answer) return whole(answer.retried)
      if ('by' in answer)
        throw new MemoryError('CONFLICT', `${answer.by} took its place`, {
          hint: `run: memoryd jobs show ${answer.by}`,
        })
      throw new MemoryError('CONFLICT', `${id} is ${answer.refused}: there is nothing to try again`)
    },
    expire: (days: number) => table.expire(clock.now() - days * DAY_MS),
    settingsChanged: (): void => {
      if (starting) return
      void scheduler.plan(listSchedules())
      runner.resume()
    },
    start: (): void => {
      starting = clock.after(AFTER_START_MS, begin)
    },
    stop: async (signal: AbortSignal): Promise<void> => {
      // Even a daemon that is stopped at once does what is due at every start.
      if (starting) await Promise.race([begin(), aborted(signal)])
      scheduler.stop()
      return runner.stop(signal)
    },
  }
}

function shownJob(job: Job, progress: string | undefined): JobShown {
  const { id, kind, key, state, attempts, createdMs, startedMs, endedMs, readyMs, error, runId, followedBy } = job
  const waits = (state === 'queued' || state === 'waiting') && readyMs > createdMs && Number.isFinite(readyMs)
  return {
    ...{ id, kind, key, state, attempts },
    createdAt: new Date(createdMs).toISOString(),
    startedAt: stamp(startedMs),
    endedAt: stamp(endedMs),
    dueAt: stamp(waits ? readyMs : undefined),
    ...{ error, runId, progress },
    truncated: job.truncated || undefined,
    trailing: job.trailing || undefined,
    followedBy,
  }
}

const stamp = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString())
