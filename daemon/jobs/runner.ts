/** Runs what is due: claims jobs, renews leases, and records how each run ended, errors included, if the lease is still held. */
import { randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import type { Models } from '../models/models.ts'
import type { Timer } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import { aborted } from '../platform/process.ts'
import type { Due, JobKind, Outcome, Telling } from './job.ts'
import {
  type Ending,
  type Enqueued,
  type Job,
  type JobClaims,
  type JobTable,
  LEASE_MS,
  NEVER_MS,
  type Retried,
} from './job-table.ts'

const MODEL_RUNS_AT_ONCE = 2
const OTHER_RUNS_AT_ONCE = 4
const LOW_RUNS_AT_ONCE = 1
const LOOK_EVERY_MS = 30_000
/** After what a run needs could not be read or written: the first time, and later. */
const LOOK_SOON_MS = 5_000
const LOOK_AGAIN_MS = 60_000
const ABORTED_MS = 1_000

type Run = {
  job: Job
  abort: AbortController
  progress: string | undefined
  ending: Ending | undefined
  restMs: () => number
}

export type Runner = ReturnType<typeof createRunner>

export function createRunner(
  { clock, events, health, log, disk, givingWay, settings }: Core,
  models: Models,
  table: JobTable,
  claims: JobClaims,
  random = Math.random,
) {
  const kinds: JobKind[] = []
  let isBusy = () => false
  const owner = randomBytes(8).toString('hex')
  const kindOf = (name: string) => kinds.find((kind) => kind.name === name)
  const named = (which: (kind: JobKind) => boolean) => kinds.filter(which).map(({ name }) => name)
  const isOnline = () => models.mode() === 'online'
  const usesModel = ({ model }: JobKind, online = isOnline()) => model === 'always' || (model !== 'never' && online)
  const running = new Map<string, Run>()
  const ended = new Set<() => void>()
  let state: 'new' | 'running' | 'stopping' = 'new'
  // Done in the next pass that can write, so that a full disk fails neither start nor reload.
  let deadHold = true
  let mayGoOn = true
  let isCalled = false
  let restedAtMs = 0
  let next: Timer | undefined
  let beats: Timer | undefined

  const publish = ({ id, kind, key, state, error, runId }: Job, progress?: string, more?: Telling) => {
    events.publish({ type: 'job', id, kind, key, state, error, runId, progress, ...more })
  }

  const changed = (job: Job) => {
    publish(job)
    log.debug({ job: job.id, state: job.state }, 'job')
    // The error may quote the user: `status` and `memoryd jobs` show it, the log does not.
    if (job.state !== 'failed') return
    health.failed('job', `${job.id} was given up: ${job.error ?? 'no reason was given'}`)
    log.warn({ job: job.id, attempts: job.attempts }, 'a job was given up')
  }

  const failed = (error: unknown, job?: Job) => {
    if (disk.blames(error)) return
    if (job) log.error({ err: error, job: job.id }, 'a job ended with an error')
    else log.error({ err: error }, 'the job table could not be read or written')
  }

  const look = () => {
    if (state !== 'running') return
    next?.stop()
    let delayMs = LOOK_EVERY_MS
    try {
      if (deadHold) claims.freeOthers(owner, clock.now())
      deadHold = false
      if (mayGoOn) claims.resume(clock.now())
      mayGoOn = false
      for (const run of running.values()) if (run.ending) settle(run, run.ending)
      delayMs = beginDue()
    } catch (error) {
      failed(error)
    }
    next = clock.after(delayMs, look)
  }

  /** Returns after how many ms there may be more. */
  const beginDue = (): number => {
    const restMs = restedAtMs - clock.elapsed()
    if (restMs > 0) return restMs
    for (let job = claimOne(); job; job = claimOne()) begin(job)
    const nowMs = clock.now()
    return Math.min(LOOK_EVERY_MS, (claims.nextReady(nowMs) ?? Number.POSITIVE_INFINITY) - nowMs)
  }

  const lookSoon = () => {
    if (isCalled) return
    isCalled = true
    void turn().then(() => {
      isCalled = false
      look()
    })
  }

  const sortsNow = () => {
    const online = isOnline()
    const others = (isLow: boolean) => named((kind) => !usesModel(kind, online) && (kind.low ?? false) === isLow)
    return [
      { kinds: named((kind) => usesModel(kind, online)), atOnce: MODEL_RUNS_AT_ONCE },
      { kinds: others(false), atOnce: OTHER_RUNS_AT_ONCE },
      { kinds: isBusy() ? [] : others(true), atOnce: LOW_RUNS_AT_ONCE },
    ]
  }

  const claimOne = () =>
    claims.claim({
      owner,
      nowMs: clock.now(),
      sorts: sortsNow(),
      low: named((kind) => kind.low === true),
      dirOf: (job) => {
        const kind = kindOf(job.kind)
        return kind && usesModel(kind) ? kind.dirOf?.(job) : undefined
      },
      busy: [...running.values()].map(({ job }) => job),
    })

  const begin = (job: Job) => {
    const abort = new AbortController()
    const run: Run = { job, abort, progress: undefined, ending: undefined, restMs: givingWay.begin() }
    running.set(job.id, run)
    beats ??= clock.every(LEASE_MS / 3, beat, failed)
    changed(job)
    // Not within the look that claimed it, for a run may call `wake`; and after other callbacks: runs that wait for nothing
    // would follow one another until none is due.
    void givingWay
      .turn()
      .then(() => perform(run))
      .then((outcome) => end(run, outcome))
      .catch((error) => failed(error))
  }

  const perform = async (run: Run): Promise<Outcome> => {
    const { job, abort } = run
    const kind = kindOf(job.kind) as JobKind
    try {
      if (kind.setting && !settings.current()[kind.setting].enabled)
        return { done: { skipped: `${kind.setting} are off` } }
      if (kind.alreadyDone?.(job)) return { done: null }
      // Both `alreadyDone` and the run take a while.
      await givingWay.turn()
      const waits = kind.model !== 'optional' && usesModel(kind) ? models.waits() : undefined
      if (waits) return waits
      return await kind.run(job, {
        signal: abort.signal,
        progress: (text, more) => {
          run.progress = text
          if (running.get(job.id) === run) publish(job, text, more)
        },
        ownsLease: () => claims.holds(owner, job.id),
      })
    } catch (error) {
      const why = message(error)
      // Nothing tells when it can be read again. No failure: after three of them it would be given up.
      if (error instanceof MemoryError && error.code === 'DEGRADED')
        return { postponed: why, untilMs: clock.now() + (job.error === why ? LOOK_AGAIN_MS : LOOK_SOON_MS) }
      if (!abort.signal.aborted) failed(error, job)
      return { failed: why }
    }
  }

  const end = (run: Run, outcome: Outcome) => {
    const { job, abort } = run
    // Released already, by a stop that could not wait for it.
    if (running.get(job.id) !== run) return
    const after = { failures: job.failures, nowMs: clock.now(), random }
    const cutOff = abort.signal.aborted && !('done' in outcome)
    settle(run, cutOff ? { to: 'released' } : endingOf(outcome, after))
    lookSoon()
  }

  /** An end that cannot be written, on a full disk, is written by a later look: until then the job is held. */
  const settle = (run: Run, ending: Ending) => {
    const { id } = run.job
    run.ending = ending
    const job = claims.settle(id, owner, ending, clock.now())
    running.delete(id)
    if (running.size === 0) {
      beats?.stop()
      beats = undefined
    }
    restedAtMs = Math.max(restedAtMs, clock.elapsed() + run.restMs())
    if (job) changed(job)
    for (const tell of ended) tell()
  }

  const beat = () => {
    const ours = new Set(claims.renew(owner, clock.now()))
    for (const [id, { abort }] of running) if (!ours.has(id)) abort.abort(new Error('the job is no longer ours'))
  }

  const allEnded = () =>
    new Promise<void>((resolve) => {
      const tell = () => {
        if (running.size > 0) return
        ended.delete(tell)
        resolve()
      }
      ended.add(tell)
      tell()
    })

  return {
    register: (...more: readonly JobKind[]): void => void kinds.push(...more),
    /** Low jobs would keep others from the disk. */
    holdLowWhile: (busy: () => boolean): void => {
      isBusy = busy
    },
    start: (): void => {
      state = 'running'
      look()
    },
    enqueue: (due: Due): Enqueued => {
      const enqueued = table.enqueue(due, clock.now())
      const job = table.get(enqueued.id)
      if (job && enqueued.as !== 'known') changed(job)
      look()
      return enqueued
    },
    wake: lookSoon,
    resume: (): void => {
      mayGoOn = true
      look()
    },
    kill: (id: string): Job | undefined => {
      const killed = claims.kill(id, clock.now())
      if (!killed) return undefined
      running.get(id)?.abort.abort(new Error('the job was killed'))
      kindOf(killed.kind)?.killed?.(killed)
      changed(killed)
      look()
      return killed
    },
    retry: (id: string): Retried | undefined => {
      const answer = claims.retry(id, clock.now())
      if (answer && 'retried' in answer) {
        changed(answer.retried)
        look()
      }
      return answer
    },
    progressOf: (id: string) => running.get(id)?.progress,
    /** Lets runs end until the signal, then aborts and releases them. */
    stop: async (signal: AbortSignal): Promise<void> => {
      state = 'stopping'
      next?.stop()
      for (const { job, abort } of running.values())
        if (kindOf(job.kind)?.resumes) abort.abort(new Error('the daemon stops'))
      await Promise.race([allEnded(), aborted(signal)])
      for (const { abort } of running.values()) abort.abort(new Error('the daemon stops'))
      if (running.size > 0) await Promise.race([allEnded(), clock.delay(ABORTED_MS)])
      for (const run of running.values()) settle(run, run.ending ?? { to: 'released' })
      beats?.stop()
    },
  }
}

const FIRST_BACKOFF_MS = 30_000
const BACKOFF_GROWS = 4
const LONGEST_BACKOFF_MS = 15 * 60_000
const BREAKER_AT = 3
/** A job that waits for a moment in the past would be tried again and again. */
const SHORTEST_WAIT_MS = 1_000

export type After = { failures: number; nowMs: number; random: () => number }

export function endingOf(outcome: Outcome, { failures: before, nowMs, random }: After): Ending {
  if ('done' in outcome)
    return { to: 'done', result: outcome.done, runId: outcome.runId, truncated: outcome.truncated ?? false }
  if ('postponed' in outcome) {
    const retryAt = Math.max(outcome.untilMs ?? NEVER_MS, nowMs + SHORTEST_WAIT_MS)
    return { to: 'waiting', error: outcome.postponed, retryAt }
  }
  if ('rejected' in outcome) return { to: 'failed', error: outcome.rejected, failures: before + 1, retryAt: 0 }
  const failures = before + 1
  const retryAt = nowMs + Math.max(backoffMs(failures, random), outcome.afterMs ?? 0)
  return { to: failures >= BREAKER_AT ? 'failed' : 'queued', error: outcome.failed, failures, retryAt }
}

/** Between half of it and all of it, so that jobs that failed together do not come back together. */
function backoffMs(failures: number, random: () => number): number {
  const whole = Math.min(FIRST_BACKOFF_MS * BACKOFF_GROWS ** (failures - 1), LONGEST_BACKOFF_MS)
  return Math.round(whole * (0.5 + random() / 2))
}
