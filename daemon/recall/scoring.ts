/** How well single memories fit what is wanted: quickly for all of them, closely for the best. Pure. */
import { bestOf } from './best-of.ts'
import type { Wanted } from './question.ts'
import { type Doc, EVERY_LINE, findPosting, STRIDE, type Term, type WordIndex } from './word-index.ts'

export type Scored = {
  doc: Doc
  score: number
  /** From `row` on, for each thing wanted: how sure it is that it is there; 0: it is not. */
  sure: readonly number[]
  row: number
}

/** For what stands together in one line. Chosen by measurement; results hardly change around it. */
const LINE = 1
/** For somebody or something whose name stands in the memory's own. */
const TITLE = 0.75
/** What is in so many memories, and in a quarter of all, only decides among the best. */
const FREQUENT = 2_000
const ENOUGH_HOLDERS = 100

export type Skip = (file: string) => boolean

/** The ids of those that have the most, in no order. */
export function candidates(wanted: readonly Wanted[], index: WordIndex, most: number, skip?: Skip): number[] {
  const { sums, parts, touched, own } = index.scratch()
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
        sums[id] = before + factor * (shares[n] as number)
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
      sums[id] = before + weight * (parts[id] as number)
      parts[id] = 0
    }
  }
  const found = bestOf({ ids: touched, count }, sums, most, skip && ((id) => skip(index.doc(id).file)))
  for (let n = 0; n < count; n++) sums[touched[n] as number] = 0
  return found
}

/** Rare ones first. What is in very many memories decides only among those that something else has led to. */
function telling(wanted: readonly Wanted[], memories: number): readonly Wanted[] {
  if (memories < FREQUENT) return wanted
  const holders = ({ alternatives }: Wanted) =>
    alternatives.reduce((sum, { term }) => sum + term.postings.length / STRIDE, 0)
  const rare = wanted.filter((want) => holders(want) < Math.max(FREQUENT, memories / 4))
  return rare.reduce((sum, want) => sum + holders(want), 0) >= ENOUGH_HOLDERS ? rare : wanted
}

/** Word after word for all of them: most words are in few memories, and those are walked through once. */
export function scoreAll(ids: readonly number[], wanted: readonly Wanted[], index: WordIndex): Scored[] {
  const things = wanted.length
  // Plain lists: typed ones of this size are made outside of the heap, which takes longer than to fill them.
  const sure = zeros(ids.length * things)
  const lines = zeros(ids.length * things)
  const { scores, best, titles } = index.scratch()
  for (let one = 0; one < ids.length; one++) scores[one] = titles[one] = best[one] = 0
  const found = createFinder(ids, index)
  for (let n = 0; n < things; n++) {
    const { alternatives, weight, named } = wanted[n] as Wanted
    if (alternatives.length === 0) continue
    for (const { term, weight: part } of alternatives) {
      const { postings } = term
      const { shares } = index.worth(term)
      const hits = found.in(term)
      for (let hit = 0; hit < hits; hit++) {
        const one = found.ones[hit] as number
        const at = found.places[hit] as number
        const row = one * things + n
        lines[row] = (lines[row] as number) | (postings[at * STRIDE + 2] as number)
        const value = part * (shares[at] as number)
        if (value <= (best[one] as number)) continue
        best[one] = value
        sure[row] = part
      }
    }
    for (let one = 0; one < ids.length; one++) {
      scores[one] = (scores[one] as number) + weight * (best[one] as number)
      best[one] = 0
      if (named && lines[one * things + n] === EVERY_LINE) titles[one] = (titles[one] as number) + 1
    }
  }
  found.done()
  const all = Math.log(1 + index.size())
  return ids.map((id, one) => {
    const row = one * things
    const score = (scores[one] as number) + LINE * bestLine(wanted, lines, row) + (titles[one] as number) * TITLE * all
    return { doc: index.doc(id), score, sure, row }
  })
}

/** Filled one by one: for so few that is quicker than to have it done. */
function zeros(count: number): number[] {
  const list = new Array<number>(count)
  for (let n = 0; n < count; n++) list[n] = 0
  return list
}

/** Finds the postings of a few memories in many lists; one of these at a time. */
export function createFinder(ids: readonly number[], index: WordIndex) {
  const { slots, ones, places } = index.scratch()
  for (let one = 0; one < ids.length; one++) slots[ids[one] as number] = one + 1
  return {
    /** Which of the ids a term has, by their order in the list; valid until the next call, as are the places. */
    ones,
    /** The how manieth of the term's postings each of those is. */
    places,
    /** How many of them it has. */
    in: (term: Term): number => {
      const { ids: holders } = index.worth(term)
      let hits = 0
      const steps = 32 - Math.clz32(holders.length)
      if (holders.length > ids.length * steps) {
        for (let one = 0; one < ids.length; one++) {
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
    },
    done: () => {
      for (let one = 0; one < ids.length; one++) slots[ids[one] as number] = 0
    },
  }
}

/** The most that one line has of what is wanted; `from` is where the lines of this memory stand. */
function bestLine(wanted: readonly Wanted[], lines: readonly number[], from: number): number {
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
