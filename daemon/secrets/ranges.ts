/** Where credentials sit in a text, in UTF-16 indexes. Pure arithmetic on ranges; knows nothing of what a credential is. */
import { type Kind, MARK } from './kinds.ts'

export type Secret = { kind: Kind; start: number; end: number }

/** Sorted and free of overlaps. Where findings overlap, the range covers all of them and the first in the list names it. */
export function merge(found: readonly Secret[]): Secret[] {
  const ranked = found.map((secret, rank) => ({ ...secret, rank })).sort((a, b) => a.start - b.start || a.rank - b.rank)
  const merged: (Secret & { rank: number })[] = []
  for (const next of ranked) {
    if (next.end <= next.start) continue
    const last = merged.at(-1)
    if (!last || next.start >= last.end) {
      merged.push({ ...next })
      continue
    }
    last.end = Math.max(last.end, next.end)
    if (next.rank < last.rank) {
      last.rank = next.rank
      last.kind = next.kind
    }
  }
  return merged.map(({ kind, start, end }) => ({ kind, start, end }))
}

/**
 * Takes the marks of an earlier redaction into account: what covers nothing but marks is no finding, and what touches
 * one takes the whole of it along, so that no half mark is left behind.
 */
export function beyondMarks(text: string, secrets: readonly Secret[]): Secret[] {
  if (secrets.length === 0) return []
  const marks = [...text.matchAll(MARK)].map((match) => ({ start: match.index, end: match.index + match[0].length }))
  let first = 0
  const kept = secrets.flatMap((secret) => {
    while (first < marks.length && (marks[first]?.end ?? 0) <= secret.start) first++
    let { start, end } = secret
    let bare = end - start
    for (let at = first; at < marks.length; at++) {
      const mark = marks[at]
      if (!mark || mark.start >= end) break
      bare -= Math.min(mark.end, secret.end) - Math.max(mark.start, secret.start)
      start = Math.min(start, mark.start)
      end = Math.max(end, mark.end)
    }
    return bare > 0 ? [{ kind: secret.kind, start, end }] : []
  })
  return merge(kept)
}
