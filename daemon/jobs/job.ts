/** A job: what became due, how a run of it ends, and what a kind of job is. Kinds are registered in `daemon/daemon.ts`. */
import type { JobEvent, JobState } from '../../schema/job.ts'

/**
 * What became due. `key`: what must not overlap (a session, a memory directory). `dir`: the memory directory it may change.
 * `watermark`: how far its input goes; only ever compared for being the same, the one that arrives later is the newer.
 */
export type Due = {
  kind: string
  key: string
  dir?: string | undefined
  watermark: string
  input: unknown
  notBeforeMs?: number | undefined
}

export type Job = {
  id: string
  kind: string
  key: string
  dir: string | undefined
  state: JobState
  watermark: string
  input: unknown
  createdMs: number
  startedMs: number | undefined
  endedMs: number | undefined
  /** When it may run, if it is still to run; infinite when it waits for something that has no time. */
  readyMs: number
  attempts: number
  failures: number
  error: string | undefined
  result: unknown
  runId: string | undefined
  truncated: boolean
  /** More became due while it ran: another run follows. */
  trailing: boolean
  followedBy: string | undefined
}

/** How one run of a job ended. */
export type Outcome =
  | { done: unknown; runId?: string | undefined; truncated?: true | undefined }
  /** `afterMs`: the server said when to come again. */
  | { failed: string; afterMs?: number | undefined }
  /** Nothing failed, but it cannot be done now: offline, over the budget, no room on the disk. */
  | { postponed: string; untilMs?: number | undefined }
  /** Never tried again by itself. */
  | { rejected: string }

export function skipped(why: string): Outcome {
  return { done: { skipped: why } }
}

export const LOST = { failed: 'another run has taken it over' }

/** What a run is told of its job. */
export type Claimed = Pick<Job, 'id' | 'kind' | 'key' | 'dir' | 'watermark' | 'input' | 'attempts'>

/** What an event says of a run besides words. */
export type Telling = Pick<JobEvent, 'import'>

export type RunContext = {
  /** Aborts when the job is killed, when its lease is lost, and when the daemon stops and has waited long enough. */
  signal: AbortSignal
  /** `more`: what besides the words is told with the event. */
  progress(text: string, more?: Telling): void
  /** To be asked right before anything is changed: a run that lost its lease must leave no trace. */
  ownsLease(): boolean
}

export type JobKind = {
  name: string
  /**
   * Counted against the limit of model runs; waits when offline or over budget. `if-online`: the same while there is a
   * model, and done in another way while there is none. `may`: counted while there is a model, and never waits.
   */
  model: boolean | 'if-online' | 'may'
  /** The memory directory that a run of a model would be at, where it was not known when the job was enqueued. */
  dirOf?(job: Claimed): string | undefined
  /** Gives way to all others, the newest first: one at a time without a model, two with one. */
  low?: true
  /** What it does is kept step by step, and taken up by the next daemon: a stop does not wait for it. */
  resumes?: true
  /** The part of the settings that switches it off. */
  setting?: 'notes'
  /** history.db already covers this watermark: settled without running. */
  alreadyDone?(job: Claimed): boolean
  run(job: Claimed, context: RunContext): Promise<Outcome>
  /** The user killed it: it must not be taken up again in another way. */
  killed?(job: Claimed): void
}
