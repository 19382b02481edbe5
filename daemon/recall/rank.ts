/**
 * Puts the memories of a directory in order for a question, without a model: BM25 over the words, more for what is said in one
 * line and for names, then what the best have in common. Says whether anything fits at all. Works in the scratch of the index.
 */
import { feedBack } from './feedback.ts'
import { fitOf } from './fit.ts'
import { questionOf, type Wanted } from './question.ts'
import { candidates, type Scored, type Skip, scoreAll } from './scoring.ts'
import type { WordIndex } from './word-index.ts'

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
