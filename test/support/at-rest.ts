/** Every byte that stays on the disk below some folders, and which words are to be found in them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type FileAtRest = { path: string; bytes: Buffer }

/** A file may go while the others are read: what is gone is not at rest. */
export function filesAtRest(folder: string): FileAtRest[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const path = join(entry.parentPath, entry.name)
      try {
        return [{ path, bytes: readFileSync(path) }]
      } catch {
        return []
      }
    })
}

/** Eight hexadecimal characters of a key are to be found in a thousand hashes by chance; twelve are not. */
const WIDTH = 12

/** Of any `WIDTH` bytes in a row, `WORD` begin at a multiple of `STRIDE`: only where these fit are pieces compared. */
const WORD = 4
const STRIDE = WIDTH - WORD
const WORD_BITS = 22

export type Trace = { name: string; piece: string }

/**
 * Finds what is left of texts, by name. A database breaks long ones over its pages, and half a secret is one too: any
 * few characters in a row give it away. A text that is shorter is looked for as a whole.
 */
export function createTrace(texts: readonly { name: string; text: string }[]): (file: FileAtRest) => Trace[] {
  const owners = new Map<string, string>()
  const words = new Uint8Array(2 ** WORD_BITS)
  const short = texts.filter(({ text }) => Buffer.byteLength(text) < WIDTH)
  for (const { name, text } of texts) {
    const bytes = Buffer.from(text)
    for (let at = 0; at + WORD <= bytes.length; at++) words[wordAt(bytes, at)] = 1
    for (let at = 0; at + WIDTH <= bytes.length; at++) owners.set(bytes.toString('latin1', at, at + WIDTH), name)
  }
  return ({ path, bytes }) => {
    const found = new Map<string, Trace>()
    // A name is at rest as well.
    for (const text of [Buffer.from(path), bytes])
      for (let at = 0; at + WORD <= text.length; at += STRIDE) {
        if (!words[wordAt(text, at)]) continue
        for (let from = Math.max(0, at - STRIDE); from <= at && from + WIDTH <= text.length; from++) {
          const piece = text.toString('latin1', from, from + WIDTH)
          const name = owners.get(piece)
          if (name !== undefined && !found.has(name)) found.set(name, { name, piece })
        }
      }
    for (const { name, text } of short) if (bytes.includes(text)) found.set(name, { name, piece: text })
    return [...found.values()]
  }
}

function wordAt(bytes: Buffer, at: number): number {
  const byte = (n: number) => (bytes[at + n] as number) << (8 * n)
  return Math.imul(byte(0) | byte(1) | byte(2) | byte(3), 0x9e3779b1) >>> (32 - WORD_BITS)
}
