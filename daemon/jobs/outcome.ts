/** Decides what becomes of a job after a run: tried again and when, given up, waiting. Does no I/O. */
import type { Outcome } from './job.ts'
import { type Ending, NEVER_MS } from './job-table.ts'

const FIRST_BACKOFF_MS = 30_000
const BACKOFF_GROWS = 4
const LONGEST_BACKOFF_MS = 15 * 60_000
/** Failures in a row that open the breaker of a key. */
const BREAKER_AT = 3
/** Who waits for a moment that has passed must not be asked again at once, and again. */
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

/** Between half of it and all of it: those that failed together do not come back together. */
function backoffMs(failures: number, random: () => number): number {
  const whole = Math.min(FIRST_BACKOFF_MS * BACKOFF_GROWS ** (failures - 1), LONGEST_BACKOFF_MS)
  return Math.round(whole * (0.5 + random() / 2))
}
