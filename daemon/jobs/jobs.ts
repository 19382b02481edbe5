/** Jobs: what is due is queued in the index, run when there is room, and shown to the user. */
import { MemoryError } from '../../schema/errors.ts'
import type { JobList, Job as JobShown, OneJob } from '../../schema/job.ts'
import type { Core } from '../core.ts'
import type { Models } from '../models/models.ts'
import type { Timer } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import { aborted } from '../platform/process.ts'
import type { Job, JobKind, Telling } from './job.ts'
import { createJobClaims, createJobTable } from './job-table.ts'
import { createRunner } from './runner.ts'
import { createScheduler, createSchedules, type Schedule } from './scheduler.ts'

const DAY_MS = 86_400_000
/** Soon, not at once: the program that starts the daemon waits for its first answer. */
const START_MS = 300
const PAGE = 50

type Listed = { state?: string | undefined; limit?: number | undefined; after?: number | undefined }

export type Jobs = ReturnType<typeof createJobs>

export function createJobs(core: Core, models: Models) {
  const { db, clock, events, health, log, disk, givingWay } = core
  const table = createJobTable(db.index)
  const kinds: JobKind[] = []
  let listSchedules = (): readonly Schedule[] => []
  let isBusy = () => false
  let starting: Timer | undefined

  const publish = ({ id, kind, key, state, error, runId }: Job, progress: string | undefined, more?: Telling) => {
    const why = { ...(error !== undefined && { error }), ...(runId !== undefined && { runId }) }
    events.publish({ type: 'job', id, kind, key, state, ...why, ...(progress !== undefined && { progress }), ...more })
  }
  const runner = createRunner({
    jobs: table,
    claims: createJobClaims(db.index),
    kinds,
    clock,
    random: Math.random,
    isOnline: () => models.mode() === 'online',
    modelWaits: models.waits,
    isBusy: () => isBusy(),
    givingWay,
    onNews: (job, progress, more) => {
      publish(job, progress, more)
      if (progress !== undefined) return
      log.debug({ job: job.id, state: job.state }, 'job')
      // Its words may be made of the user's: the log gets what it is, `status` and `memoryd jobs` why.
      if (job.state !== 'failed') return
      health.failed('job', `${job.id} was given up: ${job.error ?? 'no reason was given'}`)
      log.warn({ job: job.id, attempts: job.attempts }, 'a job was given up')
    },
    onError: (error, job) => {
      if (!disk.blames(error)) log.error({ err: error, ...(job && { job: job.id }) }, 'a job could not be looked after')
    },
  })
  const scheduler = createScheduler({
    schedules: () => listSchedules(),
    planned: createSchedules(db.history),
    enqueue: runner.enqueue,
    clock,
    onError: (error) => {
      if (disk.blames(error)) return
      health.failed('schedule', message(error))
      log.error({ err: error }, 'the calendar could not be kept')
    },
  })
  models.onModeChange(runner.resume)
  disk.onRecovered(runner.resume)

  const begin = (): Promise<void> => {
    starting?.stop()
    starting = undefined
    runner.start()
    return scheduler.plan()
  }
  const found = (id: string): Job => {
    const job = table.get(id)
    if (!job) throw new MemoryError('NOT_FOUND', `there is no job ${id}`, { hint: 'memoryd jobs lists them' })
    return job
  }
  const shown = (job: Job) => shownJob(job, runner.progressOf(job.id))
  const whole = (job: Job): OneJob => ({
    ...shown(job),
    watermark: job.watermark,
    ...(job.result !== undefined && job.result !== null && { result: job.result }),
  })

  return {
    register: (...more: readonly JobKind[]): void => void kinds.push(...more),
    /** What is due by the calendar, by the settings as they are at the time. */
    schedule: (list: () => readonly Schedule[]): void => {
      listSchedules = list
    },
    /** Low jobs rest meanwhile. */
    holdLowWhile: (busy: () => boolean): void => {
      isBusy = busy
    },
    enqueue: runner.enqueue,
    /** Another connection may have enqueued something. */
    wake: runner.wake,
    /** What waits may go on. */
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
        throw new MemoryError('CONFLICT', `${answer.by} took its place`, { hint: `memoryd jobs show ${answer.by}` })
      throw new MemoryError('CONFLICT', `${id} is ${answer.refused}: there is nothing to try again`)
    },
    /** Forgets jobs that ended so many days ago. */
    expire: (days: number) => table.expire(clock.now() - days * DAY_MS),
    settingsChanged: (): void => {
      if (starting) return
      void scheduler.plan()
      runner.resume()
    },
    start: (): void => {
      starting = clock.after(START_MS, begin)
    },
    stop: async (signal: AbortSignal): Promise<void> => {
      // What is due at every start is done by a daemon that is stopped at once, too.
      if (starting) await Promise.race([begin(), aborted(signal)])
      scheduler.stop()
      return runner.stop(signal)
    },
  }
}

function shownJob(job: Job, progress: string | undefined): JobShown {
  const { id, kind, key, state, attempts, error, runId, followedBy } = job
  const waits = (state === 'queued' || state === 'waiting') && job.readyMs > job.createdMs
  const stamps = {
    createdAt: job.createdMs,
    startedAt: job.startedMs,
    endedAt: job.endedMs,
    dueAt: waits && Number.isFinite(job.readyMs) ? job.readyMs : undefined,
  }
  const told = Object.entries(stamps).flatMap(([name, at]) =>
    at === undefined ? [] : [[name, new Date(at).toISOString()] as const],
  )
  return {
    id,
    kind,
    key,
    state,
    attempts,
    ...(Object.fromEntries(told) as Pick<JobShown, 'createdAt'>),
    ...(error !== undefined && { error }),
    ...(runId !== undefined && { runId }),
    ...(progress !== undefined && { progress }),
    ...(job.truncated && { truncated: true }),
    ...(job.trailing && { trailing: true }),
    ...(followedBy !== undefined && { followedBy }),
  }
}
