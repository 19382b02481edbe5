/** How well single memories fit what is wanted: quickly for all of them, closely for the best. Pure. */
import type { Wanted } from './question.ts'
import { type Doc, EVERY_LINE, findPosting, LINES, STRIDE, type WordIndex } from './word-index.ts'

export type Scored = {
  doc: Doc
  score: number
  /** For each thing wanted: how sure it is that it is there (0: it is not), and in which lines. */
  sure: number[]
  lines: number[]
}

/** Chosen by measurement; results hardly change around them. */
const K1 = 1.1
const B = 0.4
const DELTA = 0.6
/** For what stands together in one line. */
const LINE = 1
/** For somebody or something whose name stands in the memory's own. */
const TITLE = 0.75
/** What is in so many memories, and in a quarter of all, only decides among the best. */
const FREQUENT = 2_000
const ENOUGH_HOLDERS = 100

export type Skip = (file: string) => boolean

/** The ids of those that have the most, in no order. */
export function candidates(wanted: readonly Wanted[], index: WordIndex, most: number, skip: Skip): number[] {
  const { sums, parts } = index.scratch()
  const lengths = index.lengths()
  const average = index.averageLength()
  const touched: number[] = []
  for (const { alternatives, weight } of telling(wanted, index.size())) {
    const [only] = alternatives
    if (only && alternatives.length === 1) {
      const { postings } = only.term
      for (let at = 0; at < postings.length; at += STRIDE) {
        const id = postings[at] as number
        const before = sums[id] as number
        if (before === 0) touched.push(id)
        const share = saturated((postings[at + 1] as number) / 10, (lengths[id] as number) / average)
        sums[id] = before + weight * only.weight * share
      }
      continue
    }
    // Of words that would do for one another the best counts.
    const own: number[] = []
    for (const { term, weight: part } of alternatives) {
      const { postings } = term
      for (let at = 0; at < postings.length; at += STRIDE) {
        const id = postings[at] as number
        const value = part * saturated((postings[at + 1] as number) / 10, (lengths[id] as number) / average)
        const before = parts[id] as number
        if (before === 0) own.push(id)
        if (value > before) parts[id] = value
      }
    }
    for (const id of own) {
      if (sums[id] === 0) touched.push(id)
      sums[id] = (sums[id] as number) + weight * (parts[id] as number)
      parts[id] = 0
    }
  }
  const best = largest(touched, sums, most, (id) => skip(index.doc(id).file))
  for (const id of touched) sums[id] = 0
  return best
}

/** Rare ones first. What is in very many memories decides only among those that something else has led to. */
function telling(wanted: readonly Wanted[], memories: number): readonly Wanted[] {
  if (memories < FREQUENT) return wanted
  const holders = ({ alternatives }: Wanted) =>
    alternatives.reduce((sum, { term }) => sum + term.postings.length / STRIDE, 0)
  const rare = wanted.filter((want) => holders(want) < Math.max(FREQUENT, memories / 4))
  return rare.reduce((sum, want) => sum + holders(want), 0) >= ENOUGH_HOLDERS ? rare : wanted
}

/** So many of them with the largest sums; a few are not sorted at all, many only where they may be among these. */
function largest(ids: readonly number[], sums: Float64Array, most: number, skip: (id: number) => boolean): number[] {
  const bySum = (a: number, b: number) => (sums[b] as number) - (sums[a] as number) || a - b
  const kept: number[] = []
  let bar = 0
  for (const id of ids) {
    if ((sums[id] as number) < bar || skip(id)) continue
    kept.push(id)
    if (kept.length < 8 * most) continue
    kept.sort(bySum).length = most
    bar = sums[kept[most - 1] as number] as number
  }
  if (kept.length > most) kept.sort(bySum).length = most
  return kept
}

export function scoreOne(id: number, wanted: readonly Wanted[], index: WordIndex): Scored {
  const doc = index.doc(id)
  const longer = doc.length / index.averageLength()
  const sure: number[] = []
  const lines: number[] = []
  let score = 0
  let titles = 0
  for (const { alternatives, weight, named } of wanted) {
    let best = 0
    let certainty = 0
    let places = 0
    for (const { term, weight: part } of alternatives) {
      const { postings } = term
      const at = findPosting(postings, id)
      if (at < 0) continue
      const value = part * saturated((postings[at + 1] as number) / 10, longer)
      places |= postings[at + 2] as number
      if (value <= best) continue
      best = value
      certainty = part
    }
    score += weight * best
    sure.push(certainty)
    lines.push(places)
    if (named && places === EVERY_LINE) titles++
  }
  const title = titles * TITLE * Math.log(1 + index.size())
  return { doc, score: score + LINE * bestLine(wanted, lines) + title, sure, lines }
}

/** BM25+: more of the same word says less and less, most of all in a long text; to have it at all says something. */
function saturated(times: number, longer: number): number {
  return (times * (K1 + 1)) / (times + K1 * (1 - B + B * longer)) + DELTA
}

/** The most that one line has of what is wanted. */
function bestLine(wanted: readonly Wanted[], lines: readonly number[]): number {
  const used = lines.reduce((all, places) => all | (places === EVERY_LINE ? 1 : places), 0)
  let best = 0
  for (let line = 0; line < LINES; line++) {
    if ((used & (1 << line)) === 0) continue
    let sum = 0
    for (let n = 0; n < lines.length; n++)
      if (((lines[n] as number) & (1 << line)) !== 0) sum += (wanted[n] as Wanted).weight
    if (sum > best) best = sum
  }
  return best
}
