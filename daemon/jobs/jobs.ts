/** Composes what happens while nobody asks: the queue, its runner, the calendar, and how all of it is told. */

import { MemoryError } from '../../schema/errors.ts'
import type { JobList, Job as JobShown, OneJob } from '../../schema/job.ts'
import type { Databases } from '../db/databases.ts'
import type { Clock, Timer } from '../platform/clock.ts'
import type { Events } from '../platform/events.ts'
import { message } from '../platform/files.ts'
import type { Health } from '../platform/health.ts'
import type { Log } from '../platform/log.ts'
import { aborted } from '../platform/process.ts'
import type { GivingWay } from '../platform/queue.ts'
import { nextAfter } from './calendar.ts'
import type { JobKind } from './job.ts'
import { createJobClaims, createJobTable, type Job, type JobTable } from './job-table.ts'
import { createRunner, type Runner } from './runner.ts'
import { createScheduler, createSchedules, type Schedule } from './scheduler.ts'

const DAY_MS = 86_400_000
/** Soon, not at once: whoever starts the daemon waits for its first answer. */
const START_MS = 300

type Deps = {
  store: Databases
  clock: Clock
  events: Events
  health: Health
  log: Log
  blamesDisk: (error: unknown) => boolean
  /** Every kind of job there is. */
  kinds: readonly JobKind[]
  /** What is due by the calendar, by the settings as they are now. */
  schedules: () => readonly Schedule[]
  /** Whether low jobs have to wait for something else. */
  isBusy: () => boolean
  givingWay: GivingWay
  isOnline: () => boolean
  modelWaits: () => { wait: string; untilMs?: number | undefined } | undefined
}

export type Background = {
  answers: JobAnswers
  enqueue: Runner['enqueue']
  counts: JobTable['counts']
  ofKey: JobTable['ofKey']
  /** Somebody else may have enqueued something. */
  wake(): void
  /** What waited for something may have got it. */
  resume(): void
  settingsChanged(): void
  /** Forgets jobs that ended so many days ago. */
  expire(days: number): number
  start(): void
  stop(signal: AbortSignal): Promise<void>
}

export function createBackground(deps: Deps): Background {
  const { store, clock, events, health, log, blamesDisk, kinds, schedules } = deps
  const { isOnline, modelWaits, isBusy, givingWay } = deps
  const jobs = createJobTable(store.index)
  const onError = (error: unknown, job?: Job) => {
    if (!blamesDisk(error)) log.error({ err: error, ...(job && { job: job.id }) }, 'a job could not be looked after')
  }
  const runner = createRunner({
    jobs,
    claims: createJobClaims(store.index),
    kinds,
    clock,
    random: Math.random,
    isOnline,
    modelWaits,
    isBusy,
    givingWay,
    onNews: (job, progress, more) => {
      const { id, kind, key, state, error, runId } = job
      const details = { ...(error !== undefined && { error }), ...(runId !== undefined && { runId }) }
      events.publish({
        type: 'job',
        id,
        kind,
        key,
        state,
        ...details,
        ...(progress !== undefined && { progress }),
        ...more,
      })
      if (progress !== undefined) return
      log.debug({ job: id, state }, 'job')
      // Its words may be made of a person's: the log gets what it is, `status` and `memoryd jobs` why.
      if (state !== 'failed') return
      health.failed('job', `${id} was given up: ${error ?? 'no reason was given'}`)
      log.warn({ job: id, attempts: job.attempts }, 'a job was given up')
    },
    onError,
  })
  const scheduler = createScheduler({
    schedules,
    planned: createSchedules(store.history),
    nextAfter,
    enqueue: runner.enqueue,
    clock,
    onError: (error) => {
      if (blamesDisk(error)) return
      health.failed('schedule', message(error))
      log.error({ err: error }, 'the calendar could not be kept')
    },
  })
  let starting: Timer | undefined
  const begin = (): Promise<void> => {
    starting?.stop()
    starting = undefined
    runner.start()
    return scheduler.plan()
  }
  return {
    answers: createJobAnswers({ jobs, runner }),
    enqueue: runner.enqueue,
    counts: jobs.counts,
    ofKey: jobs.ofKey,
    wake: runner.wake,
    resume: runner.resume,
    settingsChanged: () => {
      if (starting) return
      void scheduler.plan()
      runner.resume()
    },
    expire: (days) => jobs.expire(clock.now() - days * DAY_MS),
    start: () => {
      starting = clock.after(START_MS, begin)
    },
    stop: async (signal) => {
      // What is due at every start is done by a daemon that is stopped at once, too.
      if (starting) await Promise.race([begin(), aborted(signal)])
      scheduler.stop()
      return runner.stop(signal)
    },
  }
}

/** Jobs as the interface tells of them; kill and retry with their refusals in words. */

const PAGE = 50

type AnswersDeps = { jobs: JobTable; runner: Pick<Runner, 'kill' | 'retry' | 'progressOf'> }

export type JobAnswers = {
  list(query: { state?: string | undefined; limit?: number | undefined; after?: number | undefined }): JobList
  one(id: string): OneJob
  kill(id: string): OneJob
  retry(id: string): OneJob
}

export function createJobAnswers({ jobs, runner }: AnswersDeps): JobAnswers {
  const found = (id: string): Job => {
    const job = jobs.get(id)
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
    list: ({ state, limit = PAGE, after }) => {
      const { jobs: page, next } = jobs.list({ state, limit, after })
      return { items: page.map(shown), ...(next !== undefined && { next: String(next) }) }
    },
    one: (id) => whole(found(id)),
    kill: (id) => {
      const killed = runner.kill(id)
      if (killed) return whole(killed)
      const job = found(id)
      if (job.state === 'killed') return whole(job)
      throw new MemoryError('CONFLICT', `${id} is ${job.state}: there is nothing left to kill`)
    },
    retry: (id) => {
      const answer = runner.retry(id) ?? { refused: found(id).state }
      if ('retried' in answer) return whole(answer.retried)
      if ('by' in answer)
        throw new MemoryError('CONFLICT', `${answer.by} took its place`, { hint: `memoryd jobs show ${answer.by}` })
      throw new MemoryError('CONFLICT', `${id} is ${answer.refused}: there is nothing to try again`)
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
