/**
 * Words as they are compared: whoever means to hide one behind invisible signs, other alphabets or glued names is heard
 * all the same. Pure; linear in the text.
 */

/** `whole`: all of it, `parts`: of a name that was glued together. Beginnings only: "mocking" rests on "mocks". */
export type Word = { whole: string; parts: readonly string[] }

const STEM_UNITS = 5
/** Letters that only look like those of another alphabet make a word that nobody said. */
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
