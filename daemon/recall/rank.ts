/**
 * Puts the memories of a directory in order for a question, without a model: BM25 over the words, more for what is said in one
 * line and for names, then what the best have in common. Says whether anything fits at all. Pure.
 */
import { feedBack } from './feedback.ts'
import { fitOf } from './fit.ts'
import { questionOf } from './question.ts'
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
  ranked: { file: string; score: number }[]
  /** Of the one that fits best; below `ENOUGH` a wrong memory is more likely than a right one. */
  fit: number
  /** The same with all that speaks for them: only who wants to see it pays for it. */
  explain(): Ranked[]
}

/** Chosen by measurement, in the middle of the range in which it hardly matters. */
export const ENOUGH = 0.18

/** So many are looked at closely. */
const CLOSELY = 30
/** They stay on top, and tell what else belongs there. */
const SURE = 3
/** A long answer is no better than its best. */
const SHOWN = 5

export type RankOptions = { limit: number; skip?: Skip }

export function rank(question: string, index: WordIndex, { limit, skip }: RankOptions): Ranking {
  const wanted = questionOf(question, index)
  const ids = candidates(wanted, index, Math.max(CLOSELY, limit), skip)
  const scored = scoreAll(ids, wanted, index)
  const top = takeBest(scored, Math.min(SURE, limit))
  feedBack(top, scored, wanted, index)
  const ordered = [...top, ...inOrder(scored).slice(0, limit - top.length)]
  const fit = ordered.slice(0, SHOWN).reduce((most, each) => Math.max(most, fitOf(each, wanted)), 0)
  return {
    ranked: ordered.map(({ doc, score }) => ({ file: doc.file, score })),
    fit,
    explain: () =>
      ordered.map((each) => ({
        file: each.doc.file,
        score: each.score,
        fit: fitOf(each, wanted),
        words: wanted.flatMap(({ surface }, n) => (each.sure[each.row + n] === 0 ? [] : [surface])),
      })),
  }
}

/** Takes so many out, best first. */
function takeBest(scored: Scored[], most: number): Scored[] {
  const taken: Scored[] = []
  while (taken.length < most && scored.length > 0) {
    let first = 0
    for (let n = 1; n < scored.length; n++) if (best(scored[n] as Scored, scored[first] as Scored) < 0) first = n
    taken.push(scored[first] as Scored)
    const last = scored.pop() as Scored
    if (first < scored.length) scored[first] = last
  }
  return taken
}

/** Each is put where it belongs among those before it: they are few, and to compare names takes longest. */
function inOrder(scored: Scored[]): Scored[] {
  for (let n = 1; n < scored.length; n++) {
    const each = scored[n] as Scored
    let low = 0
    let high = n
    while (low < high) {
      const middle = (low + high) >> 1
      if (best(each, scored[middle] as Scored) < 0) high = middle
      else low = middle + 1
    }
    for (let at = n; at > low; at--) scored[at] = scored[at - 1] as Scored
    scored[low] = each
  }
  return scored
}

/** By name where nothing else decides: the same question gets the same answer. */
function best(a: Scored, b: Scored): number {
  return b.score - a.score || (a.doc.file < b.doc.file ? -1 : 1)
}
