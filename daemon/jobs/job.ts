/** A job: what became due, how a run of it ends, and what a kind of job is. Kinds are registered in `daemon/daemon.ts`. */
import type { JobEvent } from '../../schema/job.ts'
import type { Job } from './job-table.ts'

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

export type Claimed = Pick<Job, 'id' | 'kind' | 'key' | 'dir' | 'watermark' | 'input' | 'attempts'>

export type Telling = Pick<JobEvent, 'import'>

export type RunContext = {
  /** Aborts when the job is killed, when its lease is lost, and when the daemon stops and has waited long enough. */
  signal: AbortSignal
  progress(text: string, more?: Telling): void
  /** To be asked right before anything is changed: a run that lost its lease must leave no trace. */
  ownsLease(): boolean
}

export type JobKind = {
  name: string
  /**
   * `always`: counts against the limit of model runs, and waits while offline or over budget.
   * `if-online`: the same while there is a model; without one the work is done in another way.
   * `optional`: counts while there is a model, and never waits.
   */
  model: 'never' | 'always' | 'if-online' | 'optional'
  /** The memory directory that a run of a model would be at, where it was not known when the job was enqueued. */
  dirOf?(job: Claimed): string | undefined
  /** Gives way to all others, the newest first: one at a time without a model, two with one. */
  low?: true
  /** A stop does not wait for it: the next daemon goes on where it was. */
  resumes?: true
  setting?: 'notes'
  /** history.db already covers this watermark: settled without running. */
  alreadyDone?(job: Claimed): boolean
  run(job: Claimed, context: RunContext): Promise<Outcome>
  killed?(job: Claimed): void
}
