/** Composes what happens while nobody asks: the queue, its runner, the calendar, and how all of it is told. */

import type { Databases } from '../db/databases.ts'
import type { Clock, Timer } from '../platform/clock.ts'
import type { Events } from '../platform/events.ts'
import { message } from '../platform/files.ts'
import type { Health } from '../platform/health.ts'
import type { Log } from '../platform/log.ts'
import { aborted } from '../platform/process.ts'
import type { GivingWay } from '../platform/queue.ts'
import { createJobAnswers, type JobAnswers } from './answers.ts'
import { nextAfter } from './calendar.ts'
import type { JobKind } from './job.ts'
import { createJobClaims } from './job-claims.ts'
import type { Job } from './job-rows.ts'
import { createJobTable, type JobTable } from './job-table.ts'
import { createRunner, type Runner } from './runner.ts'
import { createSchedules } from './schedule-table.ts'
import { createScheduler, type Schedule } from './scheduler.ts'

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
