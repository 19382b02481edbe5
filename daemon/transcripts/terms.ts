/**
 * All terms of messages, and which of them have a part in common. They stand one under the other in blocks, in the order in
 * which they came and some of them more than once; of each block it is known which threes of characters may stand in it.
 */
import type { Db } from '../db/database.ts'
import { createHeldThrees } from './held-threes.ts'

/** Terms that have the part in them, `most` of them. */
export type TermsWith = (part: string, most: number) => string[]

export type Terms = {
  /** Part of the caller's transaction. The same one may be added again. */
  add(terms: readonly string[]): void
  termsWith: TermsWith
}

export const SHORTEST_PART = 3

/** The last block grows up to this: whoever adds a word or two writes all of it again. */
const BLOCK_CHARS = 32_000
/** A power of two: with a full block about a third of the bits are set. */
const THREES_BITS = 32_768
/** Stands in no term. */
const BETWEEN = '\n'
const BETWEEN_CODE = BETWEEN.charCodeAt(0)

/** Of so many blocks the threes are held, eight megabytes: to read them takes longer than all the rest of a search. */
const MOST_HELD = 2_048

type Threes = [id: number, bits: Uint8Array]
type Block = { id: number; threes: Uint8Array; terms: string }

export function prepareTerms(db: Db): Terms {
  const last = db.prepare('SELECT id, threes, terms FROM term_blocks ORDER BY id DESC LIMIT 1')
  const begin = db.prepare('INSERT INTO term_blocks (threes, terms) VALUES (?, ?)')
  const grow = db.prepare('UPDATE term_blocks SET threes = ?, terms = ? WHERE id = ?')
  const threesAfter = db.prepare('SELECT id, threes FROM term_blocks WHERE id > ? ORDER BY id').raw()
  const termsOf = db.prepare('SELECT terms FROM term_blocks WHERE id = ?').pluck()
  const held = createHeldThrees(THREES_BITS)
  /** Blocks that may have all of the threes. */
  const blocksWith = (wanted: readonly number[]): number[] => {
    const others = threesAfter.all(held.last()) as Threes[]
    // All but the last are as they will be for ever.
    for (const [id, bits] of others.splice(0, Math.min(others.length - 1, MOST_HELD - held.count()))) held.add(id, bits)
    const last = others.filter(([, bits]) => bits.length === 0 || wanted.every((bit) => has(bits, bit)))
    return [...held.withAll(wanted), ...last.map(([id]) => id)]
  }

  return {
    add: (terms) => {
      if (terms.length === 0) return
      const block = terms.join(BETWEEN)
      const open = last.get() as Block | undefined
      // One of an older version has no threes, and gets none.
      if (!open || open.threes.length === 0 || open.terms.length + block.length > BLOCK_CHARS)
        return void begin.run(withThrees(new Uint8Array(THREES_BITS / 8), block), block)
      grow.run(withThrees(open.threes, block), `${open.terms}${BETWEEN}${block}`, open.id)
    },
    termsWith: (part, most) => {
      const found = new Set<string>()
      for (const id of blocksWith(threesOf(part))) {
        collect(termsOf.get(id) as string, part, found, most)
        if (found.size >= most) break
      }
      return [...found]
    },
  }
}

function collect(terms: string, part: string, found: Set<string>, most: number): void {
  for (let at = terms.indexOf(part); at !== -1 && found.size < most; ) {
    const end = terms.indexOf(BETWEEN, at)
    const to = end === -1 ? terms.length : end
    found.add(terms.slice(terms.lastIndexOf(BETWEEN, at) + 1, to))
    at = terms.indexOf(part, to)
  }
}

/** A bit for each three of the part; none for one that is shorter. */
function threesOf(part: string): number[] {
  const bits: number[] = []
  for (let at = 2; at < part.length; at++)
    bits.push(bitOf(part.charCodeAt(at - 2), part.charCodeAt(at - 1), part.charCodeAt(at)))
  return bits
}

function withThrees(bits: Uint8Array, terms: string): Uint8Array {
  let one = BETWEEN_CODE
  let two = BETWEEN_CODE
  for (let at = 0; at < terms.length; at++) {
    const three = terms.charCodeAt(at)
    if (one !== BETWEEN_CODE && two !== BETWEEN_CODE && three !== BETWEEN_CODE) {
      const bit = bitOf(one, two, three)
      bits[bit >> 3] = (bits[bit >> 3] as number) | (1 << (bit & 7))
    }
    one = two
    two = three
  }
  return bits
}

function has(bits: Uint8Array, bit: number): boolean {
  return ((bits[bit >> 3] as number) & (1 << (bit & 7))) !== 0
}

/** Different threes may share one: then a block is looked through for nothing. */
function bitOf(one: number, two: number, three: number): number {
  return (Math.imul((one << 14) ^ (two << 7) ^ three, 0x9e3779b1) >>> 17) & (THREES_BITS - 1)
}
