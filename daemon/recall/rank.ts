/**
 * Ranks memories for a question without a model: BM25 over the words, more for words in one line and for names, then what the best
 * have in common. Says whether anything fits at all. Pure.
 */
import { type Doc, EVERY_LINE, findPosting, STRIDE, type Term, type WordIndex } from './corpus.ts'
import { COMMON_WORDS, RELATED_GROUPS, STOP_WORDS } from './vocabulary.ts'
import { ASCII, stem, type Word, wordsOf } from './words.ts'

export type Ranking = {
  /** Best first, whether or not they fit. */
  files: string[]
  scores: number[]
  /** Of the one that fits best; below `ENOUGH` a wrong memory is more likely than a right one. */
  fit: number
  explained: { file: string; score: number; fit: number; words: string[] }[] | undefined
}

/** `sure`: for each word wanted, how sure it is that the memory has it. */
type Scored = { doc: Doc; score: number; sure: number[] }

// All numbers were chosen by measurement; results hardly change around them.

export const ENOUGH = 0.18
const CLOSELY = 30
const SURE = 3
const SHOWN = 5
const LINE = 1
const TITLE = 0.75
/** Words in so many memories, and in a quarter of all, only decide among the best. */
const FREQUENT = 2_000
const ENOUGH_HOLDERS = 100
const FEEDBACK = { strength: 0.45, terms: 12, fewestHolders: 2, largestShare: 1 / 3 }
/** A word that no memory has is often a synonym of what was written; a name has none. */
const UNKNOWN = 0.8
const UNKNOWN_NAME = 3
/** One word of several may be shared by chance. */
const LONE = 0.6
const LONE_AMONG = 2
/** A long question is about some of its words only. */
const MOST_COUNTED = 12

export type RankOptions = { limit: number; skip?: ((file: string) => boolean) | undefined; explain?: boolean }

export function rank(question: string, index: WordIndex, { limit, skip, explain }: RankOptions): Ranking {
  const wanted = questionOf(question, index)
  const scored = candidates(wanted, index, Math.max(CLOSELY, limit), skip)
    .map((doc) => scoreClosely(doc, wanted, index))
    .sort(byScore)
  const top = scored.slice(0, Math.min(SURE, limit))
  const others = scored.slice(top.length)
  addFeedback(top, others, wanted, index)
  const shown = [...top, ...others.sort(byScore)].slice(0, limit)
  const fits = shown.map(({ sure }) => fitOf(sure, wanted))
  const explained = shown.map(({ doc, score, sure }, n) => {
    const words = wanted.flatMap(({ surface }, at) => (sure[at] === 0 ? [] : [surface]))
    return { file: doc.file, score, fit: fits[n] as number, words }
  })
  return {
    files: shown.map(({ doc }) => doc.file),
    scores: shown.map(({ score }) => score),
    fit: Math.max(0, ...fits.slice(0, SHOWN)),
    explained: explain ? explained : undefined,
  }
}

/** By name where scores are equal: ids depend on what was read first. */
function byScore(a: Scored, b: Scored): number {
  return b.score - a.score || (a.doc.file < b.doc.file ? -1 : 1)
}

function candidates(wanted: readonly Wanted[], index: WordIndex, most: number, skip: RankOptions['skip']): Doc[] {
  const sums = new Float64Array(index.idLimit())
  for (const { alternatives, weight } of rareEnough(wanted, index.size())) {
    const parts = new Float64Array(sums.length)
    for (const { term, weight: part } of alternatives)
      for (let at = 0; at < term.postings.length; at += STRIDE) {
        const id = term.postings[at] as number
        const value = part * index.share(term.postings[at + 1] as number, index.doc(id))
        if (value > (parts[id] as number)) parts[id] = value
      }
    for (let id = 0; id < sums.length; id++) sums[id] = (sums[id] as number) + weight * (parts[id] as number)
  }
  return bestOf(sums, index, most, skip)
}

function bestOf(sums: Float64Array, index: WordIndex, most: number, skip: RankOptions['skip']): Doc[] {
  const best: number[] = []
  const sumOf = (id: number) => sums[id] as number
  const isBetter = (a: number, b: number) =>
    sumOf(a) > sumOf(b) || (sumOf(a) === sumOf(b) && index.doc(a).file < index.doc(b).file)
  for (let id = 0; id < sums.length; id++) {
    if (sumOf(id) === 0) continue
    let at = best.length
    if (at === most && !isBetter(id, best[at - 1] as number)) continue
    if (skip?.(index.doc(id).file)) continue
    while (at > 0 && isBetter(id, best[at - 1] as number)) at--
    best.splice(at, 0, id)
    if (best.length > most) best.pop()
  }
  return best.map(index.doc)
}

function rareEnough(wanted: readonly Wanted[], memories: number): readonly Wanted[] {
  if (memories < FREQUENT) return wanted
  const holders = ({ alternatives }: Wanted) =>
    alternatives.reduce((sum, { term }) => sum + term.postings.length / STRIDE, 0)
  const rare = wanted.filter((want) => holders(want) < Math.max(FREQUENT, memories / 4))
  return rare.reduce((sum, want) => sum + holders(want), 0) >= ENOUGH_HOLDERS ? rare : wanted
}

function scoreClosely(doc: Doc, wanted: readonly Wanted[], index: WordIndex): Scored {
  let score = 0
  let titles = 0
  const sure: number[] = []
  const lines: number[] = []
  for (const { alternatives, weight, named } of wanted) {
    let best = 0
    let certainty = 0
    let places = 0
    for (const { term, weight: part } of alternatives) {
      const at = findPosting(term.postings, doc.id)
      if (at < 0) continue
      places |= term.postings[at + 2] as number
      const value = part * index.share(term.postings[at + 1] as number, doc)
      if (value <= best) continue
      best = value
      certainty = part
    }
    score += weight * best
    if (named && places === EVERY_LINE) titles++
    sure.push(certainty)
    lines.push(places)
  }
  score += LINE * bestLine(wanted, lines) + titles * TITLE * Math.log(1 + index.size())
  return { doc, score, sure }
}

function bestLine(wanted: readonly Wanted[], lines: readonly number[]): number {
  let best = 0
  let used = lines.reduce((all, places) => all | (places === EVERY_LINE ? 1 : places), 0)
  for (; used !== 0; used &= used - 1) {
    const line = used & -used
    const sum = wanted.reduce((total, { weight }, n) => total + (((lines[n] as number) & line) !== 0 ? weight : 0), 0)
    best = Math.max(best, sum)
  }
  return best
}

/** Others that have what the best have in common move up; the best stay. */
function addFeedback(top: readonly Scored[], others: Scored[], wanted: readonly Wanted[], index: WordIndex): void {
  const sums = new Map<Term, number>()
  for (const { doc, score } of top)
    for (const term of doc.terms) {
      const holders = term.postings.length / STRIDE
      if (holders < FEEDBACK.fewestHolders || holders > index.size() * FEEDBACK.largestShare) continue
      sums.set(term, (sums.get(term) ?? 0) + score / (top[0]?.score || 1))
    }
  for (const { alternatives } of wanted) for (const { term } of alternatives) sums.delete(term)
  const telling = [...sums]
    .map(([term, sum]) => ({ term, weight: (sum / top.length) * index.rarity(term.postings.length / STRIDE) }))
    .sort((a, b) => b.weight - a.weight || (a.term.text < b.term.text ? -1 : 1))
    .slice(0, FEEDBACK.terms)
  for (const other of others)
    for (const { term, weight } of telling)
      if (findPosting(term.postings, other.doc.id) >= 0) other.score += FEEDBACK.strength * weight
}

function fitOf(sure: readonly number[], wanted: readonly Wanted[]): number {
  const counted = wanted.flatMap((want, n) => (want.extra ? [] : [{ ...want, sure: sure[n] as number }]))
  const weights = counted.map(({ weight, alternatives, named }) => {
    return weight * (alternatives.length > 0 ? 1 : named ? UNKNOWN_NAME : UNKNOWN)
  })
  const covered = counted.reduce((sum, { sure }, n) => sum + (weights[n] as number) * sure, 0)
  const heaviest = wanted.length > MOST_COUNTED ? weights.toSorted((a, b) => b - a).slice(0, MOST_COUNTED) : weights
  const all = heaviest.reduce((sum, weight) => sum + weight, 0)
  if (all === 0) return 0
  const rare = counted.filter(({ common }) => !common)
  const met = rare.filter(({ sure }) => sure > 0).length
  return Math.min(1, covered / all) * (met <= 1 && rare.length - met >= LONE_AMONG ? LONE : 1)
}

type Alternative = { term: Term; weight: number }

type Wanted = ReturnType<typeof wantedOf>

const COMMON = 0.35
const RELATED = 0.5
const SLIP = 0.8
const SHORT_FORM = 0.6
const SLIP_CHARS = 5
const SHORT_FORM_CHARS = 3
/** What begins more words is no short form. */
const MOST_LONGER = 4

const MOST_WANTED = 64
const MOST_CHARS = 8_000

const isLatin = (word: string) => /^[a-z0-9]+$/.test(word)
const related = relatedWords()
const unspacedStops = [...STOP_WORDS].filter((word) => !isLatin(word)).sort((a, b) => b.length - a.length)
const UNSPACED_STOPS = new RegExp(unspacedStops.join('|'), 'gu')

function questionOf(text: string, index: WordIndex): Wanted[] {
  const asked = new Map<string, Wanted>()
  const short = text.slice(0, MOST_CHARS)
  const spaced = ASCII.test(short) ? short : short.replace(UNSPACED_STOPS, ' ')
  const stemOf = (word: string) => (STOP_WORDS.has(word) ? '' : index.stem(word))
  for (const word of wordsOf(spaced, stemOf)) {
    if ((word.kind !== 'word' && STOP_WORDS.has(word.surface)) || isLetter(word)) continue
    const known = asked.get(word.term)
    if (known) known.named ||= word.named
    else if (asked.size < MOST_WANTED) asked.set(word.term, wantedOf(word, index))
  }
  return [...asked.values()]
}

function isLetter({ kind, surface }: Word): boolean {
  return kind === 'word' && surface.length === 1 && !/\d/.test(surface)
}

function wantedOf(word: Word, index: WordIndex) {
  const { kind, surface, named } = word
  const alternatives = alternativesOf(word, index)
  const common = COMMON_WORDS.has(surface)
  const holders = (alternatives[0]?.term.postings.length ?? 0) / STRIDE
  const weight = index.rarity(holders) * (common ? COMMON : 1)
  // `extra`: its parts are wanted, too, so it can only add.
  return { surface, alternatives, weight, extra: kind === 'whole', named: named && !common, common }
}

/** A word that no memory has is a typo, a short form, or a sign that nothing fits. */
function alternativesOf({ term, surface, kind }: Word, index: WordIndex): Alternative[] {
  const alternatives: Alternative[] = []
  const add = (found: Term | undefined, weight: number) => {
    if (found && !alternatives.some(({ term }) => term === found)) alternatives.push({ term: found, weight })
  }
  add(index.term(term), 1)
  const isKnown = alternatives.length > 0
  for (const other of related.get(term) ?? []) add(index.term(other), RELATED)
  if (isKnown || kind !== 'word') return alternatives
  if (surface.length >= SLIP_CHARS && !/\d/.test(surface))
    for (const other of guessed(index.alike(surface), index)) add(other, SLIP)
  if (alternatives.length > 0 || surface.length < SHORT_FORM_CHARS) return alternatives
  const longer = index.beginning(surface, MOST_LONGER)
  if (longer.length <= MOST_LONGER) for (const other of guessed(longer, index)) add(other, SHORT_FORM)
  return alternatives
}

function guessed(words: readonly string[], index: WordIndex): Term[] {
  const terms = words.flatMap((word) => index.term(index.stem(word)) ?? [])
  return terms.sort((a, b) => b.postings.length - a.postings.length || (a.text < b.text ? -1 : 1))
}

function relatedWords(): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const terms of RELATED_GROUPS.map((group) => group.map(termOf)))
    for (const term of terms) found.set(term, [...(found.get(term) ?? []), ...terms])
  return found
}

function termOf(word: string): string {
  return isLatin(word) ? stem(word) : [...word].slice(-2).join('')
}
