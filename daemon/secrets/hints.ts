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
/** With dashes and underscores among them, fewer set `DASHED_RUN`. */
const DASHED_CHARS = 24
export const FIRST_RUN_BIT = 29
export const DASHED_RUN: Bit = 1 << FIRST_RUN_BIT

const SHORT_CHARS = 65_536
/** As much as the longest character: else a text that does not fit might seem to have as many bytes as characters. */
const SPARE_BYTES = 4
const ALPHANUMERIC = /[A-Za-z0-9]/
/** What stands in a run: a dash, or a letter or digit. */
const DASH = 1
const LETTER = 2
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
  const { next, hits } = automaton(lists, classes, count)

  // One for bytes and one for characters: what V8 has made for the one would be slow for the other.
  const scanner =
    () =>
    (codes: Codes, length: number): Seen => {
      const places: Place[] = []
      let bits = runsIn(codes, length, runs)
      let state = 0
      for (let at = 0; at < length; at++) {
        state = next[state + (classes[codes[at] as number] as number)] as number
        if (state >= 0) continue
        state = ~state
        for (const { length, bit, atStart } of hits[state / count] as Hit[]) {
          if (atStart && at >= length && runs[codes[at - length] as number] === LETTER) continue
          bits |= bit
          if ((bit & traced) !== 0) places.push({ bit, at: at - length + 1 })
        }
      }
      return { bits, places }
    }
  const inBytes = scanner()
  const inCharacters = scanner()

  const bytes = Buffer.alloc(SHORT_CHARS + SPARE_BYTES)
  const characters = new Uint16Array(SHORT_CHARS)
  return (text) => {
    const { length } = text
    if (length < SHORT_CHARS && bytes.write(text, 'utf8') === length) return inBytes(bytes, length)
    const codes = length < SHORT_CHARS ? characters : new Uint16Array(length)
    for (let at = 0; at < length; at++) codes[at] = text.charCodeAt(at)
    return inCharacters(codes, length)
  }
}

type Codes = Uint8Array | Uint16Array

/**
 * Looks backwards from where a run that begins at `from` would be long enough: what ends it there tells where the next may begin,
 * so that most characters are never looked at.
 */
function runsIn(codes: Codes, length: number, runs: Uint8Array): number {
  let bits = 0
  for (let from = 0; from + DASHED_CHARS <= length; ) {
    let at = from + DASHED_CHARS - 1
    while (at >= from && runs[codes[at] as number] !== 0) at--
    if (at < from) {
      bits |= DASHED_RUN
      at = from
      for (let letters = 0; at < length && runs[codes[at] as number] !== 0; at++) {
        letters = runs[codes[at] as number] === LETTER ? letters + 1 : 0
        if (letters === RUN_CHARS) bits |= LONG_RUN
      }
    }
    from = at + 1
  }
  return bits
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
  for (let code = 0; code < 128; code++) if (ALPHANUMERIC.test(String.fromCharCode(code))) runs[code] = LETTER
  for (const character of '-_') runs[character.charCodeAt(0)] = DASH
  return count
}

/**
 * Aho and Corasick's: from every state, every character leads to the longest beginning of a piece that was just read. States
 * are told by where their row begins, and those at which a piece ends by the complement of that.
 */
function automaton(lists: readonly (readonly [Bit, readonly string[]])[], classes: Uint8Array, count: number) {
  const all = lists.flatMap(([bit, pieces]) => pieces.map((piece) => ({ bit, piece })))
  const most = all.reduce((sum, { piece }) => sum + piece.length, 1)
  const children = new Int32Array(most * count)
  const hits: Hit[][] = [[]]
  for (const { bit, piece } of all) {
    const letters = piece.replace(/^\^/, '')
    let state = 0
    for (let n = 0; n < letters.length; n++) {
      const edge = state * count + (classes[letters.charCodeAt(n)] as number)
      if (children[edge] === 0) children[edge] = hits.push([]) - 1
      state = children[edge] as number
    }
    hits[state]?.push({ length: letters.length, bit, atStart: piece.startsWith('^') })
  }
  const next = children.slice(0, hits.length * count)
  const fallback = new Int32Array(hits.length)
  const queue = [0]
  for (let n = 0; n < queue.length; n++) {
    const state = queue[n] as number
    for (let of = 0; of < count; of++) {
      const edge = state * count + of
      const shorter = state === 0 ? 0 : (next[(fallback[state] as number) * count + of] as number)
      const child = next[edge] as number
      if (child === 0) next[edge] = shorter
      else {
        fallback[child] = shorter
        hits[child]?.push(...(hits[shorter] as Hit[]))
        queue.push(child)
      }
    }
  }
  for (let edge = 0; edge < next.length; edge++) {
    const state = next[edge] as number
    next[edge] = hits[state]?.length === 0 ? state * count : ~(state * count)
  }
  return { next, hits }
}
