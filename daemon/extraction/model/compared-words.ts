/**
 * Words as they are compared: one that is hidden behind invisible signs, other alphabets or glued names is found all
 * the same. Pure; linear in the text.
 */

/** `whole`: all of it, `parts`: of a name that was glued together. Beginnings only: "mocking" rests on "mocks". */
export type Word = { whole: string; parts: readonly string[] }

const STEM_UNITS = 5
/** Letters that only look like those of another alphabet make a word that was not said. */
export const DISGUISED = '\u0000'

/** They say how something is meant and not what it is about. */
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

/** Without what cannot be seen, and every form of a sign as one. */
export function plainText(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replaceAll('μ', 'u')
    .replaceAll('’', "'")
}

/** What a text is about, in order. Numbers are none: they are held against what was said to the digit. */
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

/** Where words have no spaces between them, pairs of neighbours stand for them. */
function pairsOf(piece: string): Word[] {
  return piece
    .replace(COMMON_HAN, ' ')
    .split(' ')
    .flatMap((run) => {
      const signs = [...run]
      return signs.slice(1).map((sign, n) => ({ whole: `${signs[n]}${sign}`, parts: [`${signs[n]}${sign}`] }))
    })
}

/** Every word, the common ones too, as one line that can be looked through. */
export function runOf(text: string): string {
  const found = plainText(text)
    .toLowerCase()
    .matchAll(/\p{Script=Han}|[\p{L}\p{N}]+/gu)
  return ` ${Array.from(found, ([word]) => stem(word)).join(' ')} `
}

const SPAN = /`+([^`\n]+)`+/g
/** Days may have been reckoned, so they need not have been said like that. */
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
/** Shortened words are no names. */
const SHORTENED = /^(?:e\.g|i\.e|a\.m|p\.m|etc|vs)$/i
const NUMBER_WORDS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')
const NUMBER_SIGNS = '零一二三四五六七八九十'

/** What has to be said to the letter: commands, addresses, paths, flags, names with signs in them, numbers. */
export function literalsIn(text: string): string[] {
  let rest = plainText(text)
  const found: string[] = []
  const take = (form: RegExp, of: (match: RegExpMatchArray) => string[]) => {
    rest = rest.replace(form, (...match) => {
      found.push(...of(match as unknown as RegExpMatchArray))
      return ' '
    })
  }
  // All of a command, word by word: it may have been said with others between them.
  take(SPAN, ([, span = '']) => span.trim().split(/\s+/))
  take(DATE, () => [])
  for (const form of FORMS) take(form, ([whole]) => [whole])
  const bare = found.map((literal) => literal.replace(/[.,;:!?'")\]]+$/, ''))
  return [...new Set(bare)].filter((literal) => literal !== '' && !SHORTENED.test(literal))
}

/** `said`: plain, in lower case. */
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

function isWordly(sign: string | undefined): boolean {
  return sign !== undefined && /[a-z0-9_]/.test(sign)
}

/** `label`: what a memory is called, which may say nothing. `code`: stands for itself, to the letter. */
export type Unit = { kind: 'label' | 'sentence' | 'code'; text: string }

/** What is read of the text of a memory. `rest`: whatever else stands before its body. */
export type Memory = {
  text: string
  name: string
  description: string
  body: string
  rest: string
  type: 'user' | 'feedback' | 'project' | 'reference' | undefined
  untrusted: boolean
}

const LABELS = /\*\*(?:why|how to apply)\s*[:：]?\s*\*\*\s*[:：]?|^\s*(?:why|how to apply)\s*[:：]/gi
const MARKS = /^[\s>]*(?:#{1,6}\s|[-*+]\s(?:\[[ x]\]\s)?|\d{1,2}[.)]\s)?/
const ENDS = /(?<=[.!?…]["')\]]?)\s+(?=\S)|(?<=[。！？；])/

export function unitsOf({
  name,
  description,
  body,
  rest,
}: Pick<Memory, 'name' | 'description' | 'body' | 'rest'>): Unit[] {
  return [
    { kind: 'label' as const, text: name },
    ...sentences(description),
    ...sentences(rest),
    ...sentences(body),
  ].filter(({ text }) => /[\p{L}\p{N}]/u.test(text))
}

/** Those that were not there before. */
export function addedUnits(before: Memory, after: Memory): Unit[] {
  const known = new Set(unitsOf(before).map(keyOf))
  return unitsOf(after).filter((unit) => !known.has(keyOf(unit)))
}

export function removedUnits(before: Memory, after: Memory): Unit[] {
  return addedUnits(after, before)
}

function keyOf({ text }: Unit): string {
  return plainText(text).replace(/\s+/g, ' ').trim()
}

/** Without the lines that say how to apply it, but for those that stood there before. */
export function withoutGuess(text: string, before: string): string {
  const known = new Set(before.split('\n'))
  const isGuess = (line: string) => /^\s*\*\*how to apply\b/i.test(line) && !known.has(line)
  const lines = text.split('\n')
  return lines.some(isGuess)
    ? lines.filter((line, n) => !isGuess(line) && !(line.trim() === '' && isGuess(lines[n + 1] ?? ''))).join('\n')
    : text
}

export function sentences(text: string): Unit[] {
  const units: Unit[] = []
  let inFence = false
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(?:```|~~~)/.test(line)) {
      inFence = !inFence
      const info = line.replace(/^\s*(?:`+|~+)\s*/, '')
      // What stands behind the mark names a language, and can be made to say more.
      if (/\s/.test(info.trim())) units.push({ kind: 'sentence', text: info })
    } else if (inFence) units.push({ kind: 'code', text: line })
    else
      for (const sentence of line.replace(MARKS, '').replace(LABELS, ' ').split(ENDS))
        units.push({ kind: 'sentence', text: sentence.trim() })
  }
  return units
}
