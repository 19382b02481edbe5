/** What a run that came to nothing means for the job it was for. Pure. */
import type { ModelFailure } from '../models/provider.ts'
import type { ForkReport } from './fork.ts'

/** `of: 'part'`: what was asked is why; asked about something else, the model may answer. */
export type NotDone = (
  | { retry: string; afterMs?: number | undefined }
  | { wait: string; untilMs?: number | undefined }
  | { refuse: string }
) & { of?: 'part' }

/** What a server says of a request that it does not take as it is. Not that it knows no such model. */
const OF_REQUEST = [400, 413, 422]

/** `undefined`: it did what it was for. */
export function whyNotDone({ ended, why = 'it was given up', failure, answer }: ForkReport): NotDone | undefined {
  if (ended === 'done' || ended === 'truncated') return undefined
  if (!failure) return { retry: why, ...(answer === 'useless' && PART) }
  if (failure.failed === 'offline' || failure.failed === 'budget') return { wait: why, untilMs: failure.untilMs }
  const of = isOfPart(failure) ? PART : {}
  return failure.permanent ? { refuse: why, ...of } : { retry: why, afterMs: failure.retryAfterMs, ...of }
}

const PART = { of: 'part' as const }

function isOfPart({ failed, status }: ModelFailure): boolean {
  if (failed === 'refused' || failed === 'garbage') return true
  return failed === 'bad-request' && (status === undefined || OF_REQUEST.includes(status))
}
