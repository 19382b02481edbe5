/**
 * Puts the memories of a directory in order for a question, without a model: BM25 over the words, more for what is said in one
 * line and for names, then what the best have in common. Says whether anything fits at all. Pure.
 */
import { feedBack } from './feedback.ts'
import { fitOf } from './fit.ts'
import { questionOf } from './question.ts'
import { candidates, type Scored, type Skip, scoreOne } from './scoring.ts'
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

export function rank(question: string, index: WordIndex, { limit, skip = () => false }: RankOptions): Ranking {
  const wanted = questionOf(question, index)
  const ids = candidates(wanted, index, Math.max(CLOSELY, limit), skip)
  const scored = ids.map((id) => scoreOne(id, wanted, index)).sort(best)
  const top = scored.splice(0, SURE)
  feedBack(top, scored, wanted, index)
  const ordered = [...top, ...scored.sort(best)].slice(0, limit)
  const fit = ordered.slice(0, SHOWN).reduce((most, each) => Math.max(most, fitOf(each, wanted)), 0)
  return {
    ranked: ordered.map(({ doc, score }) => ({ file: doc.file, score })),
    fit,
    explain: () =>
      ordered.map((each) => ({
        file: each.doc.file,
        score: each.score,
        fit: fitOf(each, wanted),
        words: wanted.flatMap(({ surface }, n) => (each.sure[n] === 0 ? [] : [surface])),
      })),
  }
}

/** By name where nothing else decides: the same question gets the same answer. */
function best(a: Scored, b: Scored): number {
  return b.score - a.score || (a.doc.file < b.doc.file ? -1 : 1)
}
