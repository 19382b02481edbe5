/** How well single memories fit what is wanted: quickly for all of them, closely for the best. Works in the scratch of the index. */
import type { Wanted } from './question.ts'
import { EVERY_LINE, findPosting, MOST_FEW, STRIDE, type Term, type WordIndex } from './word-index.ts'

/** Of the few that are looked at closely, by their order among them. In the scratch of the index, until the next question. */
export type Scored = Few & {
  scores: Float64Array
  /** Of each, for all that is wanted: how sure it is that it is there; 0: it is not. */
  sure: Float64Array
}

/** For what stands together in one line. Chosen by measurement; results hardly change around it. */
const LINE = 1
/** For somebody or something whose name stands in the memory's own. */
const TITLE = 0.75
/** What is in so many memories, and in a quarter of all, only decides among the best. */
const FREQUENT = 2_000
const ENOUGH_HOLDERS = 100

export type Skip = (file: string) => boolean

/** Those that have the most, in no order; valid until the next question. */
export function candidates(wanted: readonly Wanted[], index: WordIndex, most: number, skip?: Skip): Few {
  const { sums, parts, touched, own, few } = index.scratch()
  const starts = index.headStarts()
  let count = 0
  for (const { alternatives, weight } of telling(wanted, index.size())) {
    const [only] = alternatives
    if (only && alternatives.length === 1) {
      const { ids, shares } = index.worth(only.term)
      const factor = weight * only.weight
      for (let n = 0; n < ids.length; n++) {
        const id = ids[n] as number
        const before = sums[id] as number
        if (before === 0) touched[count++] = id
        sums[id] = (before === 0 ? (starts[id] as number) : before) + factor * (shares[n] as number)
      }
      continue
    }
    // Of words that would do for one another the best counts.
    let owned = 0
    for (const { term, weight: part } of alternatives) {
      const { ids, shares } = index.worth(term)
      for (let n = 0; n < ids.length; n++) {
        const id = ids[n] as number
        const value = part * (shares[n] as number)
        const before = parts[id] as number
        if (before === 0) own[owned++] = id
        if (value > before) parts[id] = value
      }
    }
    for (let n = 0; n < owned; n++) {
      const id = own[n] as number
      const before = sums[id] as number
      if (before === 0) touched[count++] = id
      sums[id] = (before === 0 ? (starts[id] as number) : before) + weight * (parts[id] as number)
      parts[id] = 0
    }
  }
  const found = bestOf(
    { ids: touched, count, sums, doc: index.doc },
    { most: Math.min(most, MOST_FEW), into: few, skip },
  )
  for (let n = 0; n < count; n++) sums[touched[n] as number] = 0
  return { ids: few, count: found }
}

/** What is in very many memories decides only among those that something else has led to. */
function telling(wanted: readonly Wanted[], memories: number): readonly Wanted[] {
  if (memories < FREQUENT) return wanted
  const holders = ({ alternatives }: Wanted) =>
    alternatives.reduce((sum, { term }) => sum + term.postings.length / STRIDE, 0)
  const rare = wanted.filter((want) => holders(want) < Math.max(FREQUENT, memories / 4))
  return rare.reduce((sum, want) => sum + holders(want), 0) >= ENOUGH_HOLDERS ? rare : wanted
}

/** Word after word for all of them: most words are in few memories, and those are walked through once. */
export function scoreAll(few: Few, wanted: readonly Wanted[], index: WordIndex): Scored {
  const { ids, count } = few
  const things = wanted.length
  const { sure, lines } = index.grid(count * things)
  const { scores, best, titles, ones, places } = index.scratch()
  for (let one = 0; one < count; one++) scores[one] = titles[one] = best[one] = 0
  mark(few, index)
  for (let n = 0; n < things; n++) {
    const { alternatives, weight, named } = wanted[n] as Wanted
    if (alternatives.length === 0) continue
    for (const { term, weight: part } of alternatives) {
      const { postings } = term
      const { shares } = index.worth(term)
      const hits = look(term, few, index)
      for (let hit = 0; hit < hits; hit++) {
        const one = ones[hit] as number
        const at = places[hit] as number
        const row = one * things + n
        lines[row] = (lines[row] as number) | (postings[at * STRIDE + 2] as number)
        const value = part * (shares[at] as number)
        if (value <= (best[one] as number)) continue
        best[one] = value
        sure[row] = part
      }
    }
    for (let one = 0; one < count; one++) {
      scores[one] = (scores[one] as number) + weight * (best[one] as number)
      best[one] = 0
      if (named && lines[one * things + n] === EVERY_LINE) titles[one] = (titles[one] as number) + 1
    }
  }
  unmark(few, index)
  const all = Math.log(1 + index.size())
  for (let one = 0; one < count; one++)
    scores[one] =
      (scores[one] as number) + LINE * bestLine(wanted, lines, one * things) + (titles[one] as number) * TITLE * all
  return { ids, count, scores, sure }
}

/** The most that one line has of what is wanted; `from` is where the lines of this memory stand. */
function bestLine(wanted: readonly Wanted[], lines: Int32Array, from: number): number {
  let used = 0
  for (let n = 0; n < wanted.length; n++) {
    const places = lines[from + n] as number
    used |= places === EVERY_LINE ? 1 : places
  }
  let best = 0
  for (; used !== 0; used &= used - 1) {
    const line = used & -used
    let sum = 0
    for (let n = 0; n < wanted.length; n++)
      if (((lines[from + n] as number) & line) !== 0) sum += (wanted[n] as Wanted).weight
    if (sum > best) best = sum
  }
  return best
}

/** Finds the postings of a few memories in the lists of many terms. Works in the scratch of an index. */

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

/** A few of many by their numbers, without sorting the many. Pure but for the lists it is given. */

type Many = {
  /** The ids to choose from are the first `count` of them. */
  ids: Int32Array
  count: number
  sums: Float64Array
  /** No two have the same file. */
  doc: (id: number) => { file: string }
}

type BestOfFew = { most: number; into: Int32Array; skip: ((file: string) => boolean) | undefined }

/**
 * Puts the `most` ids with the largest sums into a list, in no order, and tells how many these are; of equal ones
 * those whose files come first by name. Only who would be among them is asked about.
 */
export function bestOf(many: Many, { most, into, skip }: BestOfFew): number {
  const { ids, count, sums, doc } = many
  let kept = 0
  let bar = Number.NEGATIVE_INFINITY
  for (let n = 0; n < count; n++) {
    const id = ids[n] as number
    if ((sums[id] as number) < bar) continue
    if (kept < most) {
      if (!skip?.(doc(id).file)) rise(id, into, kept++, many)
    } else if (isLess(into[0] as number, id, many) && !skip?.(doc(id).file)) sink(id, into, kept, many)
    if (kept === most) bar = sums[into[0] as number] as number
  }
  return kept
}

// The list is a heap: the least of those kept stands at its top.

function rise(id: number, heap: Int32Array, end: number, many: Many): void {
  let at = end
  while (at > 0) {
    const above = (at - 1) >> 1
    if (!isLess(id, heap[above] as number, many)) break
    heap[at] = heap[above] as number
    at = above
  }
  heap[at] = id
}

function sink(id: number, heap: Int32Array, size: number, many: Many): void {
  let at = 0
  for (let below = 1; below < size; below = 2 * at + 1) {
    if (below + 1 < size && isLess(heap[below + 1] as number, heap[below] as number, many)) below++
    if (!isLess(heap[below] as number, id, many)) break
    heap[at] = heap[below] as number
    at = below
  }
  heap[at] = id
}

/** Never by id: that only tells what was read first. */
function isLess(a: number, b: number, { sums, doc }: Many): boolean {
  const difference = (sums[a] as number) - (sums[b] as number)
  return difference < 0 || (difference === 0 && doc(a).file > doc(b).file)
}
