/** How a dream ended: whether it is tried again, and in which words it is told. Pure. */
import type { DreamFacts, DreamOutcome, Spent } from '../../schema/dream.ts'
import { MemoryError } from '../../schema/errors.ts'
import { message } from '../platform/files.ts'
import type { Acquired, HeldLock } from './lock.ts'
import type { Counts } from './plan.ts'

export type NotDone =
  | { retry: string; afterMs?: number | undefined }
  | { wait: string; untilMs?: number | undefined }
  | { refuse: string }

/** What became of a plan. */
export type Settled = { how: 'applied' | 'nothing' } | { how: 'review'; why: string }

export type Ended = {
  outcome: DreamOutcome
  why?: string
  facts: Partial<DreamFacts>
  isOnRecord?: true
  not?: NotDone
  /** Thrown on, once everything is back in its place. */
  surprise?: unknown
}

const DEAR_USD = 0.1
const CHANGED = 'a memory was changed by somebody else meanwhile'

/** What went wrong is a reason too; what only the disk is to blame for is tried again when it can be. */
export function endedBy(error: unknown, blamesDisk: (error: unknown) => boolean): Ended {
  if (blamesDisk(error)) return { outcome: 'failed', why: message(error), facts: {}, not: { wait: message(error) } }
  if (!(error instanceof MemoryError))
    return { outcome: 'failed', why: 'something went wrong; the log has it', facts: {}, surprise: error }
  const { code } = error
  // Where the directory itself is the trouble, its words name nothing else.
  const why = code === 'CONFLICT' ? CHANGED : code === 'DEGRADED' ? error.message : `${code}: it was refused`
  return { outcome: 'failed', why, facts: {}, not: code === 'CONFLICT' ? { retry: why } : { refuse: why } }
}

/** What has cost that much is not paid for again within the minute: the gates know when. */
export function notAtOnce(not: NotDone, { spent }: Partial<DreamFacts>): NotDone {
  return 'retry' in not && (spent?.usd ?? 0) >= DEAR_USD ? { refuse: not.retry } : not
}

export function whyNotAcquired(acquired: Exclude<Acquired, { lock: HeldLock }>): string {
  if ('refused' in acquired) return acquired.refused
  return acquired.heldBy === 'ours' ? 'another dream is at it' : `process ${acquired.heldBy.pid} holds the lock`
}

/** What it was not allowed is a reason to look at it, whatever came of the rest. */
export function whyDenied(denials: number): string | undefined {
  return denials === 0 ? undefined : `the model asked ${denials} times for what it may not do`
}

/** Names nothing: a notice stays when a memory is purged. */
export function noticeOf(
  settled: Settled,
  { created, merged, updated, removed, index }: Counts,
  { usd, calls }: Spent,
): string {
  const numbers = Object.entries({ created, merged, updated, removed })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`)
  const what = numbers.length > 0 ? numbers.join(', ') : `the index has ${index.after.lines} lines now`
  const cost = calls === 0 ? '' : usd === undefined ? `, ${calls} calls of a model` : `, for $${usd.toFixed(4)}`
  if (settled.how === 'review') return `dreamed, and a person has to approve it: ${what}${cost}; memoryd review`
  return `dreamed: ${what}${cost}; memoryd dream --last shows it, and it can be undone`
}
