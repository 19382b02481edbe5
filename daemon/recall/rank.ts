/**
 * Puts the memories of a directory in order for a question, without a model: BM25 over the words, more for what is said in one
 * line and for names, then what the best have in common. Says whether anything fits at all. Works in the scratch of the index.
 */
import { questionOf, type Wanted } from './question.ts'
import { candidates, look, mark, type Scored, type Skip, scoreAll, unmark } from './scoring.ts'
import { STRIDE, type Term, type WordIndex } from './word-index.ts'

export type Ranked = {
  file: string
  score: number
  /** How much of the question it answers to, 0 to 1. */
  fit: number
  /** The words of the question that it has. */
  words: string[]
}

export type Ranking = {
  /** Best first, whether or not they fit. */
  files: string[]
  /** Of each of them. */
  scores: number[]
  /** Of the one that fits best; below `ENOUGH` a wrong memory is more likely than a right one. */
  fit: number
  /** The same with all that speaks for them, for who wants to see it. */
  explained: Ranked[] | undefined
}

/** Chosen by measurement, in the middle of the range in which it hardly matters. */
export const ENOUGH = 0.18

/** So many are looked at closely. */
const CLOSELY = 30
/** They stay on top, and tell what else belongs there. */
const SURE = 3
/** A long answer is no better than its best. */
const SHOWN = 5

export type RankOptions = { limit: number; skip?: Skip; explain?: boolean }

export function rank(question: string, index: WordIndex, { limit, skip, explain }: RankOptions): Ranking {
  const wanted = questionOf(question, index)
  const scored = scoreAll(candidates(wanted, index, Math.max(CLOSELY, limit), skip), wanted, index)
  const best = inOrder(scored, Math.min(SURE, limit), wanted, index)
  const shown = Math.min(limit, scored.count)
  const files: string[] = []
  const scores: number[] = []
  let fit = 0
  for (let n = 0; n < shown; n++) {
    const one = best[n] as number
    files.push(fileOf(one, scored, index))
    scores.push(scored.scores[one] as number)
    if (n < SHOWN) fit = Math.max(fit, fitOf(scored.sure, one * wanted.length, wanted))
  }
  const explained = explain
    ? files.map((file, n) => explainedOne({ file, score: scores[n] as number }, best[n] as number, scored, wanted))
    : undefined
  return { files, scores, fit, explained }
}

/** The places of all among the few: the sure ones first, then, by what those have in common, the others. */
function inOrder(scored: Scored, sure: number, wanted: readonly Wanted[], index: WordIndex): Int32Array {
  const { count } = scored
  const { order } = index.scratch()
  for (let n = 0; n < count; n++) order[n] = n
  const top: number[] = []
  for (let n = 0; n < Math.min(sure, count); n++) top.push(bringBest(order, n, scored, index))
  feedBack(top, scored, wanted, index)
  sortFrom(order, top.length, scored, index)
  return order
}

/** Swaps the best of those from a place on with the one that stands there. */
function bringBest(order: Int32Array, to: number, scored: Scored, index: WordIndex): number {
  let at = to
  for (let n = to + 1; n < scored.count; n++)
    if (isBetter(order[n] as number, order[at] as number, scored, index)) at = n
  const best = order[at] as number
  order[at] = order[to] as number
  order[to] = best
  return best
}

/** Each is put where it belongs among those before it: they are few, and to compare names takes longest. */
function sortFrom(order: Int32Array, from: number, scored: Scored, index: WordIndex): void {
  for (let n = from + 1; n < scored.count; n++) {
    const each = order[n] as number
    let low = from
    let high = n
    while (low < high) {
      const middle = (low + high) >> 1
      if (isBetter(each, order[middle] as number, scored, index)) high = middle
      else low = middle + 1
    }
    for (let at = n; at > low; at--) order[at] = order[at - 1] as number
    order[low] = each
  }
}

/** By name where nothing else decides: the same question gets the same answer. */
function isBetter(a: number, b: number, scored: Scored, index: WordIndex): boolean {
  const difference = (scored.scores[a] as number) - (scored.scores[b] as number)
  return difference > 0 || (difference === 0 && fileOf(a, scored, index) < fileOf(b, scored, index))
}

function fileOf(one: number, { ids }: Scored, index: WordIndex): string {
  return index.doc(ids[one] as number).file
}

function explainedOne(
  ranked: Pick<Ranked, 'file' | 'score'>,
  one: number,
  { sure }: Scored,
  wanted: readonly Wanted[],
): Ranked {
  const row = one * wanted.length
  const words = wanted.flatMap(({ surface }, n) => (sure[row + n] === 0 ? [] : [surface]))
  return { ...ranked, fit: fitOf(sure, row, wanted), words }
}

/** How much of a question a memory answers to: what of it was found, measured by how much each word tells. Pure. */

/** A word that nobody ever wrote: often only another word for what was written. A name has no other. */
const UNKNOWN = 0.8
const UNKNOWN_NAME = 3
/** One word of several is shared by chance. */
const LONE = 0.6
const LONE_AMONG = 2
/** A long question is about some of its words only. */
const MOST_COUNTED = 12

/** `sure`, from `row` on, tells of each thing wanted how sure it is that it is there. */
export function fitOf(sure: Float64Array, row: number, wanted: readonly Wanted[]): number {
  let all = 0
  let covered = 0
  let met = 0
  let missed = 0
  for (let n = 0; n < wanted.length; n++) {
    const want = wanted[n] as Wanted
    if (want.extra) continue
    const weight = weightOf(want)
    const certainty = sure[row + n] as number
    all += weight
    covered += weight * certainty
    if (want.common) continue
    if (certainty > 0) met++
    else missed++
  }
  if (wanted.length > MOST_COUNTED) all = heaviest(wanted)
  if (all === 0) return 0
  return Math.min(1, covered / all) * (met <= 1 && missed >= LONE_AMONG ? LONE : 1)
}

function heaviest(wanted: readonly Wanted[]): number {
  const weights = wanted.filter(({ extra }) => !extra).map(weightOf)
  return weights
    .sort((a, b) => b - a)
    .slice(0, MOST_COUNTED)
    .reduce((sum, weight) => sum + weight, 0)
}

function weightOf({ weight, alternatives, named }: Wanted): number {
  return weight * (alternatives.length > 0 ? 1 : named ? UNKNOWN_NAME : UNKNOWN)
}

/**
 * What the best memories have in common tells what the question is about: others that speak of it, too, move up. The best
 * themselves stay where they are, so that a wrong guess cannot push away what was found. Works in the scratch of the index.
 */

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
