/**
 * The terms of a text, the same for memories and questions: words without their endings, identifiers and paths with their parts,
 * pairs of characters where a script has no spaces, days and months. Pure.
 */
import { pairsOf, UNSPACED_SCRIPT } from '../platform/text.ts'

export type Word = {
  term: string
  surface: string
  /** `whole`: an identifier, path or date, whose parts stand beside it. `pair`: two characters. */
  kind: 'word' | 'whole' | 'pair'
  /** Written with a capital letter where no sentence begins. */
  named: boolean
}

type Stem = (word: string) => string

const UNSPACED_RUN = new RegExp(`[${UNSPACED_SCRIPT}]+`, 'u')
const CHUNK = new RegExp(
  `[${UNSPACED_SCRIPT}]+|(?:(?![${UNSPACED_SCRIPT}])[\\p{L}\\p{M}\\p{N}_])+(?:[.\\-/:'’@#](?:(?![${UNSPACED_SCRIPT}])[\\p{L}\\p{M}\\p{N}_])+)*`,
  'gu',
)
/** ASCII texts, which most are, are searched much faster. */
export const ASCII = /^[\t-\r -~]*$/
const ASCII_CHUNK = /[A-Za-z0-9_]+(?:[.\-/:'@#][A-Za-z0-9_]+)*/g
const PLAIN_WORD = /^[A-Z]?[a-z0-9]+$/
const APOSTROPHE = /['’]\p{L}{1,2}$/u
const BETWEEN_PARTS = /[^\p{L}\p{M}\p{N}]+/u
const HUMP = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u
const CAPITAL = /^\p{Lu}/u
const LEADING_ZEROS = /^0+(?=\d+$)/
const LONGEST_WORD = 64
const MOST_WORDS = 20_000

const MONTHS = 'january february march april may june july august september october november december'.split(' ')
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

export function wordsOf(text: string, stem: Stem): Word[] {
  const words: Word[] = []
  const isAscii = ASCII.test(text)
  const plain = isAscii ? text : text.normalize('NFKC')
  for (const { 0: chunk, index } of plain.matchAll(isAscii ? ASCII_CHUNK : CHUNK)) {
    if (words.length > MOST_WORDS) break
    if (!isAscii && UNSPACED_RUN.test(chunk))
      for (const pair of pairsOf(chunk)) words.push({ term: pair, surface: pair, kind: 'pair', named: false })
    else (PLAIN_WORD.test(chunk) ? addWord : addChunk)(chunk, isNamed(chunk, plain, index), words, stem)
  }
  for (const date of datesIn(plain)) words.push({ term: stem(date), surface: date, kind: 'whole', named: false })
  return words
}

function addChunk(chunk: string, named: boolean, words: Word[], stem: Stem) {
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

// Stems after Porter's rules.

const VOWEL = /[aeiouy]/
/** Porter's measure, m > 0. */
const MEASURE_0 = /^[^aeiouy]*[aeiouy]+[^aeiouy]/
const MEASURE_1 = /^[^aeiouy]*[aeiouy]+[^aeiouy]+[aeiouy]+[^aeiouy]/
const DOUBLE = /([^aeiouylsz])\1$/
const SHORT_END = /[^aeiouy][aeiouy][^aeiouywx]$/

const endings = (list: string) => list.trim().split(/\s+/)
const LONG_ENDINGS = new Map(
  endings(`ational>ate tional>tion enci>ence anci>ance izer>ize abli>able alli>al entli>ent eli>e ousli>ous ization>ize
    ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble icate>ic ative> alize>al
    iciti>ic ical>ic ful> ness>`).map((pair) => pair.split('>') as [string, string]),
)
const LAST_ENDINGS = endings('ement ance ence able ible ment ant ent ion ism ate iti ous ive ize al er ic')

const SHORTEST = 4
const LONGEST = 30
const PLAIN = /^[a-z]+$/

/** Other than plain English words stay as they are. */
export function stem(word: string): string {
  if (word.length < SHORTEST || word.length > LONGEST || !PLAIN.test(word)) return word
  // After a vowel y is a consonant, so that `deployment` becomes `deploy`.
  const marked = word.replace(/([aeiou])y/g, '$1Y')
  const noTense = withoutTense(withoutPlural(marked))
  const soft = noTense.endsWith('y') && VOWEL.test(noTense.slice(0, -1)) ? `${noTense.slice(0, -1)}i` : noTense
  const short = withoutLast(shortenedStem(shortenedStem(soft)))
  return withoutSilentE(short).toLowerCase()
}

function withoutPlural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2)
  if (word.endsWith('ies')) return word.length > 4 ? word.slice(0, -2) : word.slice(0, -1)
  if (word.endsWith('ss') || word.endsWith('us') || !word.endsWith('s')) return word
  return word.slice(0, -1)
}

function withoutTense(word: string): string {
  if (word.endsWith('eed')) return MEASURE_0.test(word.slice(0, -3)) ? word.slice(0, -1) : word
  const ending = word.endsWith('ed') ? 2 : word.endsWith('ing') ? 3 : 0
  const left = word.slice(0, word.length - ending)
  if (ending === 0 || left.length < 2 || !VOWEL.test(left)) return word
  if (/(?:at|bl|iz)$/.test(left)) return `${left}e`
  if (DOUBLE.test(left)) return left.slice(0, -1)
  return !MEASURE_1.test(left) && MEASURE_0.test(left) && SHORT_END.test(left) ? `${left}e` : left
}

function shortenedStem(word: string): string {
  for (let length = Math.min(7, word.length - 2); length >= 3; length--) {
    const replaced = LONG_ENDINGS.get(word.slice(-length))
    if (replaced === undefined) continue
    const left = word.slice(0, -length)
    return MEASURE_0.test(left) ? left + replaced : word
  }
  return word
}

function withoutLast(word: string): string {
  for (const ending of LAST_ENDINGS) {
    if (!word.endsWith(ending)) continue
    const left = word.slice(0, -ending.length)
    if (!MEASURE_1.test(left)) return word
    return ending === 'ion' && !/[st]$/.test(left) ? word : left
  }
  return word
}

function withoutSilentE(word: string): string {
  if (word.endsWith('e')) {
    const left = word.slice(0, -1)
    if (MEASURE_1.test(left) || (MEASURE_0.test(left) && !SHORT_END.test(left))) return left
  }
  return word.endsWith('ll') && MEASURE_1.test(word) ? word.slice(0, -1) : word
}
