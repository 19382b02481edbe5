/** What a run that came to nothing means for the job it was for. Pure. */
import type { ForkReport } from './fork.ts'

export type NotDone =
  | { retry: string; afterMs?: number | undefined }
  | { wait: string; untilMs?: number | undefined }
  | { refuse: string }

/** `undefined`: it did what it was for. */
export function whyNotDone({ ended, why = 'it was given up', failure }: ForkReport): NotDone | undefined {
  if (ended === 'done' || ended === 'truncated') return undefined
  if (!failure) return { retry: why }
  if (failure.failed === 'offline' || failure.failed === 'budget') return { wait: why, untilMs: failure.untilMs }
  return failure.permanent ? { refuse: why } : { retry: why, afterMs: failure.retryAfterMs }
}
