/**
 * What is said as the tokens of the full-text index, and what of a literal must be among them. Pure.
 *
 * Every character is folded by itself, whatever stands beside it: only then are the tokens of a part of a text known from
 * the part alone, and a literal that stands in a text is never missed.
 */

/** Scripts written without spaces: a whole sentence would be one token. Their runs become overlapping pairs. */
const UNSPACED = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}]'
const RUNS = new RegExp(`(${UNSPACED}+)|[[a-z0-9\\u{80}-\\u{10ffff}]--${UNSPACED}]+`, 'gv')
/** All but ASCII and the plain characters of Chinese and Japanese, which are what they are. */
const FOLDABLE = /[\u{80}-\u{3040}\u{3095}-\u{30a0}\u{30fb}-\u{4dff}\u{a000}-\u{10ffff}]/gu
/** Longer runs (keys, encoded pictures) become pieces that overlap: any part of up to half a piece stands in one of them. */
export const PIECE_CHARS = 64
const PART_CHARS = PIECE_CHARS / 2
const PLAIN = new RegExp(`^[a-z0-9]{1,${PIECE_CHARS}}$`)

/** `pairs` is of an unspaced script. */
type Run = { kind: 'word' | 'pairs'; text: string; from: number; to: number }

/**
 * What a text that holds the literal must have: `phrase`, tokens one after the other, of which the last may be the
 * beginning of one; `within`, a part of some token. A literal of punctuation alone asks for nothing.
 */
export type Demand = { phrase: string[]; lastIs: 'whole' | 'beginning'; within?: string }

export function tokensOf(text: string): string[] {
  if (/[\u0080-\uffff]/.test(text)) return runsOf(fold(text)).flatMap(tokensOfRun)
  const words: string[] = text.toLowerCase().match(/[a-z0-9]+/g) ?? []
  return words.some((word) => word.length > PIECE_CHARS) ? words.flatMap((word) => pieces([...word])) : words
}

/** Looks into one text for tokens. Most stand there plainly; all tokens are made only of a text in which one does not. */
export function tokenLook(text: string): (token: string, is: Demand['lastIs']) => boolean {
  const lower = text.toLowerCase()
  let made: { tokens: string[]; there: Set<string> } | undefined
  return (token, is) => {
    if (standsPlainly(lower, token)) return true
    if (!made) {
      const tokens = tokensOf(text)
      made = { tokens, there: new Set(tokens) }
    }
    return is === 'whole' ? made.there.has(token) : made.tokens.some((other) => other.startsWith(token))
  }
}

/** Between signs of ASCII, of which no token is made whatever else the text has: then it is a token for sure. */
function standsPlainly(lower: string, token: string): boolean {
  if (!PLAIN.test(token)) return false
  for (let at = lower.indexOf(token); at !== -1; at = lower.indexOf(token, at + 1))
    if (isSign(lower.charCodeAt(at - 1)) && isSign(lower.charCodeAt(at + token.length))) return true
  return false
}

/** Neither a letter nor a digit of ASCII, nor anything beyond it; also where the text ends. */
function isSign(code: number): boolean {
  if (Number.isNaN(code)) return true
  const isDigit = code >= 0x30 && code <= 0x39
  return code < 0x80 && !isDigit && !(code >= 0x61 && code <= 0x7a)
}

/** A word as somebody types it. One character of an unspaced script is the beginning of a pair more often than alone. */
export function demandOfWord(word: string): Demand {
  const runs = runsOf(fold(word))
  const last = runs.at(-1)
  const phrase = runs.flatMap(tokensOfRun)
  return { phrase, lastIs: last?.kind === 'pairs' && isSingle(last.text) ? 'beginning' : 'whole' }
}

export function demandOfLiteral(literal: string): Demand {
  // Half a character: what it is part of cannot be known.
  if (/\p{Cs}/u.test(literal)) return { phrase: [], lastIs: 'whole' }
  const folded = fold(literal)
  const runs = runsOf(folded)
  const [first] = runs
  const open = first !== undefined && first.from === 0 && (first.kind === 'word' || isSingle(first.text))
  // The text may go on to the left of it, so it is the end of a token, not a token.
  if (!first || !open) return demandOfRuns(runs, folded.length)
  const within = runs.length === 1 ? head(first.text) : tail(first.text)
  return { ...demandOfRuns(runs.slice(1), folded.length), within }
}

function demandOfRuns(runs: Run[], end: number): Demand {
  const last = runs.at(-1)
  const open = last !== undefined && last.to === end && (last.kind === 'word' || isSingle(last.text))
  if (!last || !open) return { phrase: runs.flatMap(tokensOfRun), lastIs: 'whole' }
  return { phrase: [...runs.slice(0, -1).flatMap(tokensOfRun), head(last.text)], lastIs: 'beginning' }
}

/** Letters without case, width and accents; a space for whatever is no letter and no digit. */
function fold(text: string): string {
  return text.replace(FOLDABLE, foldCharacter).toLowerCase()
}

function foldCharacter(character: string): string {
  return character
    .normalize('NFKD')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]+/g, '')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ')
    .normalize('NFC')
}

function runsOf(folded: string): Run[] {
  const runs: Run[] = []
  for (const { 0: text, 1: unspaced, index } of folded.matchAll(RUNS))
    runs.push({ kind: unspaced === undefined ? 'word' : 'pairs', text, from: index, to: index + text.length })
  return runs
}

function tokensOfRun({ kind, text }: Run): string[] {
  if (kind === 'word') return text.length <= PIECE_CHARS ? [text] : pieces([...text])
  const characters = [...text]
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`)
}

function pieces(characters: string[]): string[] {
  const count = Math.max(1, Math.ceil((characters.length - PIECE_CHARS) / PART_CHARS) + 1)
  return Array.from({ length: count }, (_, n) =>
    characters.slice(n * PART_CHARS, n * PART_CHARS + PIECE_CHARS).join(''),
  )
}

function head(text: string): string {
  return text.length <= PART_CHARS ? text : [...text].slice(0, PART_CHARS).join('')
}

function tail(text: string): string {
  return text.length <= PART_CHARS ? text : [...text].slice(-PART_CHARS).join('')
}

function isSingle(text: string): boolean {
  return [...text].length === 1
}
