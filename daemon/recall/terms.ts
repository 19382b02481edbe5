/**
 * Text → the terms it is found by: words without their endings, the parts of identifiers and paths and these as a whole, pairs
 * of characters where a script has no spaces, days and months. The same for memories and for questions. Pure.
 */
import { chunkEnd, chunkStart, isPlainWord } from './ascii-chunks.ts'

export type Word = {
  /** What it is found by. */
  term: string
  /** As it was written, in small letters. */
  surface: string
  /** `whole`: an identifier, path or date, whose parts stand beside it. `pair`: two characters. */
  kind: 'word' | 'whole' | 'pair'
  /** Written with a capital letter where no sentence begins. */
  named: boolean
}

/** Scripts without spaces. */
const UNSPACED = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}'
const UNSPACED_RUN = new RegExp(`[${UNSPACED}]+`, 'u')
const CHUNK = new RegExp(
  `[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}_])+(?:[.\\-/:'’@#](?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}_])+)*`,
  'gu',
)
/** Most texts are, and it is much quicker to look through them then. White space of other kinds is none: it has to be made plain. */
export const ASCII = /^[\t-\r -~]*$/
/** Nothing to take apart: no hump, no mark. */
const PLAIN_WORD = /^[A-Z]?[a-z0-9]+$/
const APOSTROPHE = /['’]\p{L}{1,2}$/u
const BETWEEN_PARTS = /[^\p{L}\p{M}\p{N}]+/u
const HUMP = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u
const CAPITAL = /^\p{Lu}/u
/** The fifth is the fifth. */
const LEADING_ZEROS = /^0+(?=\d+$)/
const LONGEST_WORD = 64
/** Of a text: more than any memory has. */
const MOST_WORDS = 20_000

const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]
const MONTH = '(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?'
const DATES = new RegExp(
  [
    '\\b(\\d{4})-(\\d{2})(?:-(\\d{2}))?\\b',
    `\\b(\\d{1,2})(?:st|nd|rd|th)?(?: of)? ${MONTH},? (\\d{4})\\b`,
    `\\b${MONTH} (\\d{1,2})(?:st|nd|rd|th)?,? (\\d{4})\\b`,
    `\\b${MONTH},? (\\d{4})\\b`,
  ].join('|'),
  'gi',
)

/** `stem` takes a word's ending away; single words of which it leaves nothing are left out. */
export function wordsOf(text: string, stem: (word: string) => string): Word[] {
  const words: Word[] = []
  const isAscii = ASCII.test(text)
  const plain = isAscii ? text : text.normalize('NFKC')
  if (isAscii) addAscii(plain, words, stem)
  else addAny(plain, words, stem)
  for (const date of datesIn(plain)) words.push({ term: stem(date), surface: date, kind: 'whole', named: false })
  return words
}

type Stem = (word: string) => string

function addAscii(text: string, words: Word[], stem: Stem): void {
  let end = 0
  for (let at = chunkStart(text, 0); at < text.length && words.length <= MOST_WORDS; at = chunkStart(text, end)) {
    end = chunkEnd(text, at)
    const chunk = text.slice(at, end)
    if (isPlainWord(text, at, end)) addWord(chunk, isNamed(chunk, text, at), words, stem)
    else addChunk(chunk, text, at, words, stem)
  }
}

function addAny(text: string, words: Word[], stem: Stem): void {
  for (const { 0: chunk, index } of text.matchAll(CHUNK)) {
    if (words.length > MOST_WORDS) return
    if (UNSPACED_RUN.test(chunk)) for (const pair of pairsOf(chunk)) words.push(pair)
    else if (PLAIN_WORD.test(chunk)) addWord(chunk, isNamed(chunk, text, index), words, stem)
    else addChunk(chunk, text, index, words, stem)
  }
}

function addChunk(chunk: string, text: string, at: number, words: Word[], stem: Stem) {
  const named = isNamed(chunk, text, at)
  const bare = chunk.replace(APOSTROPHE, '')
  const segments = bare.split('/').map(partsOf)
  for (const parts of segments) {
    for (const part of parts) addWord(part, named && isCapital(part), words, stem)
    if (parts.length > 1) addWhole(parts.join(''), words, stem)
  }
  if (segments.length > 1) addWhole(segments.flat().join(''), words, stem)
}

function partsOf(chunk: string): string[] {
  return chunk
    .split(BETWEEN_PARTS)
    .flatMap((part) => part.split(HUMP))
    .filter((part) => part !== '')
}

function addWord(written: string, named: boolean, words: Word[], stem: Stem): void {
  const surface = shortened(written.toLowerCase())
  const term = stem(surface)
  if (term !== '') words.push({ term, surface, kind: 'word', named })
}

function shortened(word: string): string {
  const bare = word.startsWith('0') ? word.replace(LEADING_ZEROS, '') : word
  return bare.length > LONGEST_WORD ? bare.slice(0, LONGEST_WORD) : bare
}

function addWhole(joined: string, words: Word[], stem: Stem): void {
  const surface = joined.toLowerCase().slice(0, LONGEST_WORD)
  words.push({ term: stem(surface), surface, kind: 'whole', named: false })
}

function isNamed(chunk: string, text: string, at: number): boolean {
  return isCapital(chunk) && !beginsSentence(text, at)
}

function isCapital(word: string): boolean {
  const code = word.charCodeAt(0)
  return code < 128 ? code >= 65 && code <= 90 : CAPITAL.test(word)
}

function beginsSentence(text: string, at: number): boolean {
  for (let n = at - 1; n >= 0; n--) {
    const before = text[n] as string
    if (before === ' ' || before === '"' || before === '“' || before === '*' || before === '-') continue
    return /[.!?:\n。！？：]/.test(before)
  }
  return true
}

function pairsOf(run: string): Word[] {
  const characters = [...run]
  const pair = (term: string): Word => ({ term, surface: term, kind: 'pair', named: false })
  if (characters.length === 1) return [pair(run)]
  return characters.slice(1).map((character, at) => pair(`${characters[at]}${character}`))
}

/** `@2026-03-05`, `@2026-03` and `march` for each day that is written out, the last two for a month. */
function datesIn(text: string): Iterable<string> {
  if (!/\d{4}/.test(text)) return []
  const found = new Set<string>()
  for (const [, y1, m1, d1, d2, m2, y2, m3, d3, y3, m4, y4] of text.matchAll(DATES)) {
    const named = (m2 ?? m3 ?? m4)?.toLowerCase()
    const month = named === undefined ? Number(m1) : MONTHS.findIndex((name) => name.startsWith(named)) + 1
    const name = MONTHS[month - 1]
    if (name === undefined) continue
    const inYear = `@${y1 ?? y2 ?? y3 ?? y4}-${String(month).padStart(2, '0')}`
    const day = d1 ?? d2 ?? d3
    found.add(name).add(inYear)
    if (day !== undefined) found.add(`${inYear}-${day.padStart(2, '0')}`)
  }
  return found
}
