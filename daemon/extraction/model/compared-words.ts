/** Words as they are compared: invisible signs, other alphabets and glued names hide none. Pure; linear in the text. */
import type { memoryOf } from '../../memory/change-run.ts'

/** `parts`: of a name made of several words. Only beginnings are compared: "mocking" equals "mocks". */
export type Word = { whole: string; parts: readonly string[] }

const STEM_UNITS = 5
/** Stands for a word that mixes alphabets with similar letters. */
export const DISGUISED = '\u0000'

/** Words about how something is meant, not what it is about. */
const COMMON = new Set(
  `about above after again against all also always am an and any are aren as at avoid back be because been before being
  below between both but by can cannot case cases change changes could did didn do does doesn doing don done down during
  each either else ensure ever every everything few first following for from further get given had has hasn have haven
  having he her here hers him his how however if in instead into is isn it its just keep let like long made make makes
  making many may me might more most much must my need needed needs never no nor not now of off on once one only or other
  others our out over own people person please possible prefer preference preferences preferred prefers project rather re
  repo repository rule rules same session sessions shall she should shouldn since so some someone something still stop such
  sure task tasks than that the their them then there these they thing things this those through time times to too under
  until up upon us use used user users uses using very want wanted wants was wasn way we well were weren what when whenever
  where whether which while who whom why will with within without won work working works would wouldn yet you your yours
  apply applied applies applying convention conventions guideline guidelines habit habits memory memories note notes
  policy practice practices style workflow feedback reference description name type`.split(/\s+/),
)
const COMMON_HAN =
  /用户|希望|喜欢|偏好|要求|需要|应该|应当|总是|必须|始终|一直|永远|以后|今后|一律|所有|每次|每个|不要|不得|不能|不用|不再|禁止|因为|所以|如果|时候|我们|他们|自己|这个|那个|进行|的|了|在|都|要|先|就|也|和|与|时|请|不|别|勿|没|是|会|让|把|被|对|为|我|你|他|她|它|这|那|及|或|并|再|才|又|且/gu

const SPACELESS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u
const PIECES =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]+|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}])[\p{L}\p{N}\p{M}])+/gu

export function plainText(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replaceAll('μ', 'u')
    .replaceAll('’', "'")
}

/** Without numbers: `literalsIn` compares those digit by digit. */
export function wordsIn(text: string): Word[] {
  const words: Word[] = []
  for (const [piece] of plainText(text)
    .replace(/\d{4}-\d\d(?:-\d\d)?/g, ' ')
    .matchAll(PIECES)) {
    if (SPACELESS.test(piece)) words.push(...pairsOf(piece))
    else if (!/^\p{N}+$/u.test(piece)) words.push(...wordsOf(piece))
  }
  return words
}

export function formsIn(text: string): Set<string> {
  return new Set(wordsIn(text).flatMap(({ whole, parts }) => [whole, ...parts]))
}

function wordsOf(piece: string): Word[] {
  if (isDisguised(piece)) return [{ whole: DISGUISED, parts: [DISGUISED] }]
  const parts = piece
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(' ')
  const countable = parts.filter(counts).map(stem)
  const whole = piece.toLowerCase()
  if (parts.length === 1 && countable.length === 0) return []
  return counts(whole) ? [{ whole: stem(whole), parts: countable.length > 0 ? countable : [stem(whole)] }] : []
}

function counts(word: string): boolean {
  return word.length >= 2 && !COMMON.has(word)
}

function stem(word: string): string {
  return word.slice(0, STEM_UNITS)
}

function isDisguised(word: string): boolean {
  return /\p{Script=Latin}/u.test(word) && /(?!\p{Script=Latin})\p{L}/u.test(word)
}

function pairsOf(piece: string): Word[] {
  return piece
    .replace(COMMON_HAN, ' ')
    .split(' ')
    .flatMap((run) => {
      const signs = [...run]
      return signs.slice(1).map((sign, n) => ({ whole: `${signs[n]}${sign}`, parts: [`${signs[n]}${sign}`] }))
    })
}

export function runOf(text: string): string {
  const found = plainText(text)
    .toLowerCase()
    .matchAll(/\p{Script=Han}|[\p{L}\p{N}]+/gu)
  return ` ${Array.from(found, ([word]) => stem(word)).join(' ')} `
}

const SPAN = /`+([^`\n]+)`+/g
/** Dates may have been computed, so they need not have been said literally. */
const DATE = /\b\d{4}-\d\d(?:-\d\d)?\b|(?<![\d.])20\d\d(?![\d.])|\bQ[1-4]\b/g
const FORMS: readonly RegExp[] = [
  /[a-z][a-z0-9+.-]*:\/\/[^\s`'"<>)\]]+/gi,
  /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g,
  /(?<![\w./~])(?:~\/[\w.@*/-]*|\.{0,2}\/[\w.@*-][\w.@*/-]*)/g,
  /(?<![\w-])--?[a-z][\w-]*/gi,
  /(?<![\w/@.-])[\w-]+(?:\.[\w-]+)+(?:\/[\w./-]*)?/g,
  /(?<![\w/&])[@#][\w-]+/g,
  /(?<![\p{L}\p{N}_.])\d+(?:[.,:]\d+)*/gu,
]
const SHORTENED = /^(?:e\.g|i\.e|a\.m|p\.m|etc|vs)$/i
const NUMBER_WORDS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')
const NUMBER_SIGNS = '零一二三四五六七八九十'

/** What has to be said to the letter: commands, addresses, paths, flags, names with signs in them, numbers. */
export function literalsIn(text: string): string[] {
  let rest = plainText(text)
  const take = (form: RegExp) => {
    const matches = [...rest.matchAll(form)]
    rest = rest.replace(form, ' ')
    return matches
  }
  // A command word by word: it may have been said with others between them.
  const spans = take(SPAN).flatMap(([, span = '']) => span.trim().split(/\s+/))
  take(DATE)
  const found = [...spans, ...FORMS.flatMap(take).map(([whole]) => whole)]
  const bare = found.map((literal) => literal.replace(/[.,;:!?'")\]]+$/, ''))
  return [...new Set(bare)].filter((literal) => literal !== '' && !SHORTENED.test(literal))
}

export function isSaid(literal: string, said: string): boolean {
  const sought = literal
    .toLowerCase()
    .replace(/^https?:\/\/(?:www\.)?/, '')
    .replace(/\/+$/, '')
  if (sought === '') return said.includes(literal)
  if (standsIn(sought, said)) return true
  if (!/^\d{1,2}$/.test(sought)) return false
  const [word, sign] = [NUMBER_WORDS[Number(sought)], NUMBER_SIGNS[Number(sought)]]
  return (word !== undefined && standsIn(word, said)) || (sign !== undefined && said.includes(sign))
}

function standsIn(sought: string, said: string): boolean {
  for (let at = said.indexOf(sought); at >= 0; at = said.indexOf(sought, at + 1)) {
    const isWhole = !(isWordly(said[at - 1]) && isWordly(sought[0]))
    const end = at + sought.length
    if (isWhole && !(isWordly(said[end]) && isWordly(sought.at(-1)))) return true
  }
  return false
}

function isWordly(sign = ''): boolean {
  return /[a-z0-9_]/.test(sign)
}

/** `label`: the name of a memory. `code`: compared to the letter. */
export type Unit = { kind: 'label' | 'sentence' | 'code'; text: string }

export type Memory = ReturnType<typeof memoryOf>

const LABELS = /\*\*(?:why|how to apply)\s*[:：]?\s*\*\*\s*[:：]?|^\s*(?:why|how to apply)\s*[:：]/gi
const MARKS = /^[\s>]*(?:#{1,6}\s|[-*+]\s(?:\[[ x]\]\s)?|\d{1,2}[.)]\s)?/
const ENDS = /(?<=[.!?…]["')\]]?)\s+(?=\S)|(?<=[。！？；])/

export function unitsOf({ name, description, body, rest }: Memory): Unit[] {
  const label: Unit = { kind: 'label', text: name }
  const all = [label, ...[description, rest, body].flatMap(sentences)]
  return all.filter(({ text }) => /[\p{L}\p{N}]/u.test(text))
}

export function addedUnits(before: Memory, after: Memory): Unit[] {
  const known = new Set(unitsOf(before).map(keyOf))
  return unitsOf(after).filter((unit) => !known.has(keyOf(unit)))
}

function keyOf({ text }: Unit): string {
  return plainText(text).replace(/\s+/g, ' ').trim()
}

/** Without new lines that say how to apply it. */
export function withoutGuess(text: string, before: string): string {
  const known = new Set(before.split('\n'))
  const isGuess = (line: string) => /^\s*\*\*how to apply\b/i.test(line) && !known.has(line)
  const lines = text.split('\n')
  return lines.filter((line, n) => !isGuess(line) && !(line.trim() === '' && isGuess(lines[n + 1] ?? ''))).join('\n')
}

export function sentences(text: string): Unit[] {
  const units: Unit[] = []
  let inFence = false
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(?:```|~~~)/.test(line)) {
      inFence = !inFence
      const info = line.replace(/^\s*(?:`+|~+)\s*/, '')
      // The text behind a fence names a language, and could be made to say more.
      if (/\s/.test(info.trim())) units.push({ kind: 'sentence', text: info })
    } else if (inFence) units.push({ kind: 'code', text: line })
    else
      for (const sentence of line.replace(MARKS, '').replace(LABELS, ' ').split(ENDS))
        units.push({ kind: 'sentence', text: sentence.trim() })
  }
  return units
}
