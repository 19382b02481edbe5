/**
 * What the best memories have in common tells what the question is about: others that speak of it, too, move up. The best
 * themselves stay where they are, so that a wrong guess cannot push away what was found. Works in the scratch of the index.
 */
import { look, mark, unmark } from './finding.ts'
import type { Wanted } from './question.ts'
import type { Scored } from './scoring.ts'
import { STRIDE, type Term, type WordIndex } from './word-index.ts'

/** Chosen by measurement. */
const STRENGTH = 0.45
const MOST_TERMS = 12
/** What is in one memory leads nowhere, what is in many anywhere. */
const FEWEST_HOLDERS = 2
const LARGEST_SHARE = 1 / 3

type Telling = { term: Term; weight: number }

/** Adds to the scores of all but the best, whose places among the few are given, the very best first. */
export function feedBack(best: readonly number[], scored: Scored, wanted: readonly Wanted[], index: WordIndex): void {
  const { ids, scores } = scored
  const fewest = FEWEST_HOLDERS * STRIDE
  const most = index.size() * LARGEST_SHARE * STRIDE
  const theirs = best.map((one) => scores[one] as number)
  const top = theirs[0] || 1
  const shared: Term[] = []
  for (let n = 0; n < best.length; n++)
    for (const term of index.doc(ids[best[n] as number] as number).terms) {
      const { length } = term.postings
      if (length < fewest || length > most) continue
      if (term.sum === 0) shared.push(term)
      term.sum += (theirs[n] as number) / top
    }
  for (const { alternatives } of wanted) for (const { term } of alternatives) term.sum = 0
  const telling: Telling[] = []
  for (const term of shared) {
    const { postings, sum } = term
    term.sum = 0
    if (sum === 0) continue
    const weight = (sum / best.length) * index.rarity(postings.length / STRIDE)
    insert(telling, { term, weight })
  }
  const { ones } = index.scratch()
  mark(scored, index)
  for (const { term, weight } of telling) {
    const hits = look(term, scored, index)
    for (let hit = 0; hit < hits; hit++) {
      const one = ones[hit] as number
      scores[one] = (scores[one] as number) + STRENGTH * weight
    }
  }
  unmark(scored, index)
  for (let n = 0; n < best.length; n++) scores[best[n] as number] = theirs[n] as number
}

/** Heaviest first, and no more than so many. */
function insert(telling: Telling[], one: Telling): void {
  if (telling.length < MOST_TERMS) telling.push(one)
  else if (heavier(one, telling[MOST_TERMS - 1] as Telling) > 0) return
  let at = telling.length - 1
  for (; at > 0 && heavier(one, telling[at - 1] as Telling) < 0; at--) telling[at] = telling[at - 1] as Telling
  telling[at] = one
}

function heavier(a: Telling, b: Telling): number {
  return b.weight - a.weight || (a.term.text < b.term.text ? -1 : 1)
}
