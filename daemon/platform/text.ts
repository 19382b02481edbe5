/** Pure functions that cut, count and show texts, numbers and names. */
import { createHash } from 'node:crypto'
import { parseJson, shapeOf } from './json.ts'

/** Half of a surrogate pair cannot be written as UTF-8, and no server takes it. */
export function isWithinCharacter(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, at - 1), at + 1))
}

/** V8 keeps the whole text in memory for a slice of it, not for a copy. */
export function copied(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}

/** So many UTF-16 units of its beginning, or one more. */
export function headOf(text: string, units: number): string {
  return text.slice(0, isWithinCharacter(text, units) ? units + 1 : units)
}

export function tailOf(text: string, units: number): string {
  const from = Math.max(0, text.length - units)
  return text.slice(isWithinCharacter(text, from) ? from - 1 : from)
}

export function headOfBytes(text: string, bytes: number): string {
  const all = Buffer.from(text)
  if (all.length <= bytes) return text
  return all
    .subarray(0, bytes)
    .toString('utf8')
    .replace(/\ufffd+$/, '')
}

/** With commas between thousands. `toLocaleString` loads all locales, which takes a tenth of a start. */
export function grouped(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** Scripts written without spaces, for the brackets of an expression with `u`: a whole sentence would be one word. */
export const UNSPACED_SCRIPT = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}'

export function pairsOf(run: string): string[] {
  const characters = [...run]
  if (characters.length < 2) return characters
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`)
}

/** An estimate of tokens, too high for most languages. */
export const BYTES_PER_TOKEN = 4

export function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

export const JSON_BYTES_PER_TOKEN = 2
/** A text with more than this is not parsed: it counts as JSON. */
const CAP_VALUES = 200_000
const CAP_DEPTH = 500

export function textTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / (isJson(text) ? JSON_BYTES_PER_TOKEN : BYTES_PER_TOKEN))
}

function isJson(text: string): boolean {
  const first = /^[\t\n\r ]*([[{])/.exec(text.slice(0, 1_000))?.[1]
  const last = /([\]}])[\t\n\r ]*$/.exec(text.slice(-1_000))?.[1]
  if (`${first}${last}` !== '{}' && `${first}${last}` !== '[]') return false
  const { depth, values } = shapeOf(text)
  return depth > CAP_DEPTH || values > CAP_VALUES || parseJson(text) !== undefined
}

/** An estimate from bytes alone, with a third more for safety. */
export function padded(tokens: number): number {
  return Math.ceil((tokens * 4) / 3)
}

/** ISO 8601 with the zone: the day in it is the day it was there. */
export function stampAt(ms: number, minutesEast: number): string {
  const wall = new Date(ms + minutesEast * 60_000).toISOString().slice(0, -1)
  const two = (count: number) => String(count).padStart(2, '0')
  const [hours, minutes] = [Math.trunc(Math.abs(minutesEast) / 60), Math.abs(minutesEast) % 60]
  return `${wall}${minutesEast < 0 ? '-' : '+'}${two(hours)}:${two(minutes)}`
}

const SAFE = /^[A-Za-z0-9._-]{1,128}$/
const DOTS_ONLY = /^\.+$/

/** An id from outside (session, tool use, agent type) as a file name: itself where it can be one, else its SHA-256 in hex. */
export function safeId(id: string): string {
  return SAFE.test(id) && !DOTS_ONLY.test(id) ? id : createHash('sha256').update(id).digest('hex')
}

/** A path as one word of a command that is pasted into a shell. */
export function shellWord(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`
}

/** A name for a sentence: quoted, cut, without invisible characters. */
export function shown(name: string): string {
  const cut = name.length > 80 ? `${[...name.slice(0, 160)].slice(0, 80).join('')}…` : name
  return JSON.stringify(cut).replace(
    /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
