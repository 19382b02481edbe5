/** Takes whole lines out of bytes, and sets aside those that are no text. Splits on the byte 0x0A only; opens no file. */
import { isUtf8 } from 'node:buffer'

/** `offset` and `length` in bytes: reading that part of the file again gives `text`. */
export type Line = { offset: number; length: number; text: string }

export type Skipped = { offset: number; length: number; reason: 'too-long' | 'not-utf8' | 'nul' }

/** `bytes`: of all lines taken so far, their ends included. */
export type Found = { lines: Line[]; skipped: Skipped[]; bytes: number }

export const LINE_CAP_BYTES = 64_000_000

export const LF = 0x0a
const CR = 0x0d

/** A byte order mark is no part of the first line. */
const MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** Adds the lines of `bytes`, which stand at `at` in the file, until there are `capBytes`. Returns the place after the last. */
export function takeLines(bytes: Buffer, at: number, found: Found, capBytes: number): number {
  const whole = bytes.subarray(0, bytes.lastIndexOf(LF) + 1)
  const all = kindOf(whole)
  let next = 0
  for (let from = 0; from < whole.length && found.bytes < capBytes; from = next) {
    next = whole.indexOf(LF, from) + 1
    found.bytes += next - from
    const begin = at + from === 0 ? markLength(whole) : from
    const end = next - 2 >= begin && whole[next - 2] === CR ? next - 2 : next - 1
    if (end > begin) takeLine(whole, begin, end, at, all, found)
  }
  return at + next
}

function takeLine(bytes: Buffer, begin: number, end: number, at: number, all: Kind, found: Found): void {
  const offset = at + begin
  const length = end - begin
  // One bad line says nothing about its neighbours.
  const kind = all === 'text' ? all : kindOf(bytes.subarray(begin, end))
  if (kind === 'text') found.lines.push({ offset, length, text: bytes.toString('utf8', begin, end) })
  else found.skipped.push({ offset, length, reason: kind })
}

function markLength(bytes: Buffer): number {
  return bytes.subarray(0, MARK.length).equals(MARK) ? MARK.length : 0
}

type Kind = 'text' | 'not-utf8' | 'nul'

function kindOf(bytes: Buffer): Kind {
  if (bytes.includes(0)) return 'nul'
  return isUtf8(bytes) ? 'text' : 'not-utf8'
}
