/** Finds the postings of a few memories in the lists of many terms. Works in the scratch of an index. */
import { findPosting, STRIDE, type Term, type WordIndex } from './word-index.ts'

/** The few are the first `count` ids of the list. */
export type Few = { ids: Int32Array; count: number }

/** Before the first look; one few at a time. */
export function mark({ ids, count }: Few, index: WordIndex): void {
  const { slots } = index.scratch()
  for (let one = 0; one < count; one++) slots[ids[one] as number] = one + 1
}

/** After the last look: who comes next finds no marks. */
export function unmark({ ids, count }: Few, index: WordIndex): void {
  const { slots } = index.scratch()
  for (let one = 0; one < count; one++) slots[ids[one] as number] = 0
}

/**
 * How many of the marked ones have a term. In the scratch, until the next look: `ones`, which they are by their order in the
 * list, and `places`, the how manieth of the term's postings each of them is.
 */
export function look(term: Term, { ids, count }: Few, index: WordIndex): number {
  const { slots, ones, places } = index.scratch()
  const { ids: holders } = index.worth(term)
  let hits = 0
  const steps = 32 - Math.clz32(holders.length)
  if (holders.length > count * steps) {
    for (let one = 0; one < count; one++) {
      const at = findPosting(term.postings, ids[one] as number)
      if (at < 0) continue
      ones[hits] = one
      places[hits++] = at / STRIDE
    }
    return hits
  }
  for (let n = 0; n < holders.length; n++) {
    const slot = slots[holders[n] as number] as number
    if (slot === 0) continue
    ones[hits] = slot - 1
    places[hits++] = n
  }
  return hits
}
