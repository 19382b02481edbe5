/**
 * A question → what is looked for, each with the words that would do in its place and how much it matters. Knows the words of the
 * store it is asked of: a word that is in none of them is a slip, a short form, or a sign that nothing fits. Pure.
 */

import { COMMON_WORDS, RELATED_GROUPS, STOP_WORDS } from './vocabulary.ts'
import { STRIDE, type Term, type WordIndex } from './word-index.ts'
import { ASCII, stem, type Word, wordsOf } from './words.ts'

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
