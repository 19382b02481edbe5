/**
 * What has to be said to the letter: commands, addresses, paths, flags, names with signs in them, numbers. One that a
 * person did not say is not theirs, however much of their words stands around it. Pure.
 */
import { plainText } from './words.ts'

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
