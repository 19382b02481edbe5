/**
 * Puts the memories of a directory in order for a question, without a model: BM25 over the words, more for what stands together in
 * one line and for names, then what the best have in common. Says whether anything fits at all. Pure.
 */
import { type Doc, EVERY_LINE, findPosting, STRIDE, type Term, type WordIndex } from './corpus.ts'
import { COMMON_WORDS, RELATED_GROUPS, STOP_WORDS } from './vocabulary.ts'
import { ASCII, stem, type Word, wordsOf } from './words.ts'

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
  explained: Ranked[] | undefined
}

/** `sure`: for each thing wanted, how sure it is that it is there; 0: it is not. */
type Scored = { doc: Doc; score: number; sure: number[] }

// All numbers were chosen by measurement; results hardly change around them.

/** Below this nothing fits. */
export const ENOUGH = 0.18
/** So many are looked at closely. */
const CLOSELY = 30
/** They stay on top, and tell what else belongs there. */
const SURE = 3
/** A long answer is no better than its best. */
const SHOWN = 5
/** For what stands together in one line. */
const LINE = 1
/** For a name that stands in the memory's own. */
const TITLE = 0.75
/** What is in so many memories, and in a quarter of all, only decides among the best. */
const FREQUENT = 2_000
const ENOUGH_HOLDERS = 100
/** Of what the best have in common. */
const FEEDBACK = { strength: 0.45, terms: 12, fewestHolders: 2, largestShare: 1 / 3 }
/** A word that no memory has: often only another word for what was written. A name has no other. */
const UNKNOWN = 0.8
const UNKNOWN_NAME = 3
/** One word of several is shared by chance. */
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

/** By name where nothing else decides, never by id, which only tells what was read first. */
function byScore(a: Scored, b: Scored): number {
  return b.score - a.score || (a.doc.file < b.doc.file ? -1 : 1)
}

/** Those that have the most of what is wanted, in no order. */
function candidates(wanted: readonly Wanted[], index: WordIndex, most: number, skip: RankOptions['skip']): Doc[] {
  const sums = new Float64Array(index.idLimit())
  for (const { alternatives, weight } of rareEnough(wanted, index.size())) {
    // Of words that would do for one another the best counts.
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

/** The most that one line has of what is wanted. */
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

/**
 * What the best have in common tells what the question is about: others that speak of it, too, move up. The best themselves stay
 * where they are, so that a wrong guess cannot push away what was found.
 */
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

/** How much of a question a memory answers to: what of it was found, measured by how much each word tells. */
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

/**
 * A question → what is looked for, each with the words that would do in its place and how much it matters. Knows the words of the
 * store it is asked of: a word that is in none of them is a slip, a short form, or a sign that nothing fits. Pure.
 */

export type Alternative = { term: Term; weight: number }

export type Wanted = {
  /** As it was written. */
  surface: string
  /** Those that are in some memory, the one whose rarity counts first; none when no memory has anything like it. */
  alternatives: readonly Alternative[]
  /** Rare words tell more, and some words little of their own. */
  weight: number
  /** Its parts are wanted already: it can only add. */
  extra: boolean
  /** The name of a person or a thing. */
  named: boolean
  common: boolean
}

/** Chosen by measurement, on questions of several kinds: none of them is critical. */
const COMMON = 0.35
const RELATED = 0.5
const SLIP = 0.8
const SHORT_FORM = 0.6
/** Shorter words have neighbours by chance. */
const SLIP_CHARS = 5
const SHORT_FORM_CHARS = 3
/** The beginning of many words is no short form of any. */
const MOST_LONGER = 4

const MOST_WANTED = 64
const MOST_CHARS = 8_000

const isLatin = (word: string) => /^[a-z0-9]+$/.test(word)
const related = relatedWords()
const unspacedStops = [...STOP_WORDS].filter((word) => !isLatin(word)).sort((a, b) => b.length - a.length)
const UNSPACED_STOPS = new RegExp(unspacedStops.join('|'), 'gu')

export function questionOf(text: string, index: WordIndex): Wanted[] {
  const terms: string[] = []
  const asked: Wanted[] = []
  const short = text.slice(0, MOST_CHARS)
  const spaced = ASCII.test(short) ? short : short.replace(UNSPACED_STOPS, ' ')
  const stemOf = (word: string) => (STOP_WORDS.has(word) ? '' : index.stem(word))
  for (const word of wordsOf(spaced, stemOf)) {
    if ((word.kind !== 'word' && STOP_WORDS.has(word.surface)) || isLetter(word)) continue
    // They are few: to look through them is quicker than to keep them by name.
    const at = terms.indexOf(word.term)
    if (at >= 0) (asked[at] as Wanted).named ||= word.named
    else if (asked.length < MOST_WANTED) {
      terms.push(word.term)
      asked.push(wantedOf(word, index))
    }
  }
  return asked
}

function isLetter({ kind, surface }: Word): boolean {
  return kind === 'word' && surface.length === 1 && !/\d/.test(surface)
}

function wantedOf(word: Word, index: WordIndex): Wanted {
  const { kind, surface, named } = word
  const alternatives = alternativesOf(word, index)
  const common = COMMON_WORDS.has(surface)
  const holders = (alternatives[0]?.term.postings.length ?? 0) / STRIDE
  const weight = index.rarity(holders) * (common ? COMMON : 1)
  return { surface, alternatives, weight, extra: kind === 'whole', named: named && !common, common }
}

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

/** What a word may have been meant to be: first what most memories have, for that is the likeliest, whichever was read first. */
function guessed(words: readonly string[], index: WordIndex): Term[] {
  const terms = words.flatMap((word) => index.term(index.stem(word)) ?? [])
  return terms.sort((a, b) => b.postings.length - a.postings.length || (a.text < b.text ? -1 : 1))
}

function relatedWords(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const group of RELATED_GROUPS) {
    const terms = group.map(termOf)
    for (const term of terms) {
      const others = found.get(term) ?? new Set()
      for (const other of terms) if (other !== term) others.add(other)
      found.set(term, others)
    }
  }
  return found
}

/** A word of a script without spaces is known by its last pair of characters. */
function termOf(word: string): string {
  return isLatin(word) ? stem(word) : [...word].slice(-2).join('')
}
