/**
 * Tells in one pass over a text which of many short pieces stand in it, whatever their case: so it is known which rules have
 * nothing to find there. Looking for each piece by itself would take as long as the rules. Knows nothing of credentials.
 */

/** A piece that begins with `^` counts only where no letter and no digit stands before it. A space is any white space. */
export type Hints = (text: string) => Seen

/** Where the pieces of traced lists begin; not sorted. */
export type Seen = { bits: number; places: Place[] }
type Place = { bit: Bit; at: number }

/** What the pieces of a list set; each is a power of two. */
export type Bit = number

/** Runs of so many letters and digits set `LONG_RUN`: keys and hashes, hardly ever a name. */
const RUN_CHARS = 32
export const LONG_RUN: Bit = 1 << 30

const LONGEST_BYTES = 65_536
const ALPHANUMERIC = /[A-Za-z0-9]/
/** All that `\s` matches. */
const WHITE_SPACE = [
  ...[0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff],
  ...Array.from({ length: 11 }, (_, n) => 0x2000 + n),
]
/** The class of all characters that stand in no piece. */
const NOTHING = 0

type Hit = { length: number; bit: Bit; atStart: boolean }

export function createHints(lists: readonly (readonly [Bit, readonly string[]])[], traced: Bit): Hints {
  const classes = new Uint8Array(65_536)
  const runs = new Uint8Array(65_536)
  const count = classify(lists, classes, runs)
  const { next, hits, ends } = automaton(lists, classes, count)
  const scratch = Buffer.alloc(LONGEST_BYTES)
  const inBytes = (bytes: Uint8Array, length: number): Seen => {
    const places: Place[] = []
    let found = 0
    let state = 0
    let run = 0
    for (let at = 0; at < length; at++) {
      const code = bytes[at] as number
      run = runs[code] === 1 ? run + 1 : 0
      if (run === RUN_CHARS) found |= LONG_RUN
      state = next[state * count + (classes[code] as number)] as number
      if (ends[state] === 0) continue
      for (const { length, bit, atStart } of hits[state] as Hit[])
        if (!atStart || at < length || runs[bytes[at - length] as number] === 0) {
          found |= bit
          if ((bit & traced) !== 0) places.push({ bit, at: at - length + 1 })
        }
    }
    return { bits: found, places }
  }
  const inCharacters = (text: string): Seen => {
    const places: Place[] = []
    let found = 0
    let state = 0
    let run = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      run = runs[code] === 1 ? run + 1 : 0
      if (run === RUN_CHARS) found |= LONG_RUN
      state = next[state * count + (classes[code] as number)] as number
      if (ends[state] === 0) continue
      for (const { length, bit, atStart } of hits[state] as Hit[])
        if (!atStart || at < length || runs[text.charCodeAt(at - length)] === 0) {
          found |= bit
          if ((bit & traced) !== 0) places.push({ bit, at: at - length + 1 })
        }
    }
    return { bits: found, places }
  }
  return (text) => {
    // Bytes are looked through several times quicker than the characters of a string; of ASCII they are the same.
    const length = text.length < LONGEST_BYTES ? scratch.write(text, 'utf8') : 0
    return length === text.length ? inBytes(scratch, length) : inCharacters(text)
  }
}

/** Every character that stands in a piece gets a number of its own, the same for both cases. */
function classify(
  lists: readonly (readonly [Bit, readonly string[]])[],
  classes: Uint8Array,
  runs: Uint8Array,
): number {
  let count = NOTHING + 1
  for (const [, pieces] of lists)
    for (const piece of pieces)
      for (const character of piece.replace(/^\^/, '')) {
        const code = character.charCodeAt(0)
        if (classes[code] !== NOTHING) continue
        classes[code] = count
        const upper = character.toUpperCase()
        if (upper.length === 1) classes[upper.charCodeAt(0)] = count
        count++
      }
  for (const code of WHITE_SPACE) classes[code] = classes[0x20] as number
  for (let code = 0; code < 128; code++) if (ALPHANUMERIC.test(String.fromCharCode(code))) runs[code] = 1
  return count
}

/** Aho and Corasick's: from every state, every character leads to the longest beginning of a piece that was just read. */
function automaton(lists: readonly (readonly [Bit, readonly string[]])[], classes: Uint8Array, count: number) {
  const children: Map<number, number>[] = [new Map()]
  const hits: Hit[][] = [[]]
  for (const [bit, pieces] of lists)
    for (const piece of pieces) {
      const letters = piece.replace(/^\^/, '')
      let state = 0
      for (const character of letters) {
        const of = classes[character.charCodeAt(0)] as number
        const child = children[state]?.get(of) ?? children.length
        if (child === children.length) {
          children[state]?.set(of, child)
          children.push(new Map())
          hits.push([])
        }
        state = child
      }
      hits[state]?.push({ length: letters.length, bit, atStart: piece.startsWith('^') })
    }
  const next = new Uint16Array(children.length * count)
  const fallback = new Uint16Array(children.length)
  const queue: number[] = [0]
  for (let state = queue.shift(); state !== undefined; state = queue.shift()) {
    for (let of = 0; of < count; of++) {
      const shorter = state === 0 ? 0 : (next[(fallback[state] as number) * count + of] as number)
      const child = children[state]?.get(of)
      next[state * count + of] = child ?? shorter
      if (child === undefined) continue
      fallback[child] = shorter
      hits[child]?.push(...(hits[shorter] ?? []))
      queue.push(child)
    }
  }
  return { next, hits, ends: Uint8Array.from(hits, (list) => (list.length > 0 ? 1 : 0)) }
}
