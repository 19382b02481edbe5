/**
 * What the best memories have in common tells what the question is about: others that speak of it, too, move up. The best
 * themselves stay where they are, so that a wrong guess cannot push away what was found. Pure.
 */
import type { Wanted } from './question.ts'
import { createFinder, type Scored } from './scoring.ts'
import { STRIDE, type Term, type WordIndex } from './word-index.ts'

/** Chosen by measurement. */
const STRENGTH = 0.45
const MOST_TERMS = 12
/** What is in one memory leads nowhere, what is in many anywhere. */
const FEWEST_HOLDERS = 2
const LARGEST_SHARE = 1 / 3

type Telling = { term: Term; weight: number }

export function feedBack(
  best: readonly Scored[],
  rest: readonly Scored[],
  wanted: readonly Wanted[],
  index: WordIndex,
) {
  const fewest = FEWEST_HOLDERS * STRIDE
  const most = index.size() * LARGEST_SHARE * STRIDE
  const top = best[0]?.score || 1
  const shared: Term[] = []
  for (const { doc, score } of best)
    for (const term of doc.terms) {
      const { length } = term.postings
      if (length < fewest || length > most) continue
      if (term.sum === 0) shared.push(term)
      term.sum += score / top
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
  const found = createFinder(
    rest.map(({ doc }) => doc.id),
    index,
  )
  for (const { term, weight } of telling) {
    const hits = found.in(term)
    for (let hit = 0; hit < hits; hit++) (rest[found.ones[hit] as number] as Scored).score += STRENGTH * weight
  }
  found.done()
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
