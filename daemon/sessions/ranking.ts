/** Which candidate comes first: the better match, and of equal ones the newer. Pure. */
import type { Candidate } from '../transcripts/message-words.ts'

/** What was said just now counts twice, what was said this long ago one and a half times. */
const HALF_LIFE_MS = 14 * 86_400_000

export function ranked(candidates: readonly Candidate[], nowMs: number): Candidate[] {
  const worth = new Map(candidates.map((candidate) => [candidate, worthOf(candidate, nowMs)]))
  const by = (candidate: Candidate) => worth.get(candidate) ?? 0
  return [...candidates].sort((a, b) => by(b) - by(a) || (b.at ?? 0) - (a.at ?? 0) || b.id - a.id)
}

function worthOf({ score, at }: Candidate, nowMs: number): number {
  // A clock that was set back must not make yesterday the future.
  const recent = at === null ? 0 : 2 ** (-Math.max(0, nowMs - at) / HALF_LIFE_MS)
  return -score * (1 + recent)
}
