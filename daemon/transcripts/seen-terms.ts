/**
 * Which terms were met lately, by two hashes of 32 bits each and without their letters: to make a string of every word of
 * every message costs more than all the rest that is done with it. Pure but for what it remembers, which can be handed on
 * from one thread to the next.
 */
import { randomInt } from 'node:crypto'

export type SeenTerms = {
  /**
   * Adds the terms of a text to `fresh` that were not seen before. Only of a plain one: ASCII, and no term too long to be
   * kept whole; of any other it says so, and has added what it met until then.
   */
  ofPlain(text: string, fresh: string[]): 'plain' | 'other'
  /** The same for a term that is made already. */
  add(term: string, fresh: string[]): void
  forget(): void
}

/** Two megabytes; when half full, what came once goes, and what came again stays: else every block of terms would have it. */
const SLOTS = 1 << 18
const MOST = SLOTS / 2
/** In the second hash: the slot is taken, and its term came again since it was cleared up last. */
const TAKEN = 1
const AGAIN = 2
/** Those that were met last, where the processor finds them quicker than among all. */
const LATEST = 1 << 12
const LONGEST_TEXT_BYTES = 65_536
/** As much as the longest character: else a text that does not fit might seem to have as many bytes as characters. */
const SPARE_BYTES = 4

const WORD_BYTES = Uint32Array.BYTES_PER_ELEMENT
export const SEEN_TERMS_BYTES = WORD_BYTES * (2 * SLOTS + 2 * LATEST + 2)

/** The code of a letter or digit without case, and nothing for what parts terms. */
const LETTERS = Uint8Array.from({ length: 256 }, (_, code) =>
  /[A-Za-z0-9]/.test(String.fromCharCode(code)) ? String.fromCharCode(code).toLowerCase().charCodeAt(0) : 0,
)

type Deps = {
  longest: number
  /** Of `SEEN_TERMS_BYTES`: empty, or what another remembered that is over. */
  memory: ArrayBufferLike
}

export function createSeenTerms({ longest, memory }: Deps): SeenTerms {
  const hashes = new Uint32Array(memory, 0, 2 * SLOTS)
  const latest = new Uint32Array(memory, WORD_BYTES * 2 * SLOTS, 2 * LATEST)
  const count = new Uint32Array(memory, WORD_BYTES * (2 * SLOTS + 2 * LATEST), 2)
  // Goes along with the rest: who does not know it cannot make two terms that are taken for one.
  count[1] ||= randomInt(1, 2 ** 32 - 1)
  const seed = count[1] as number
  const scratch = Buffer.alloc(LONGEST_TEXT_BYTES + SPARE_BYTES)

  const forget = () => {
    hashes.fill(0)
    latest.fill(0)
    count[0] = 0
  }

  /** Who came again stays, but has to come once more before the next time. Where more than half did, nobody stays. */
  const clearUp = () => {
    let again = 0
    for (let slot = 0; slot < SLOTS; slot++) if (((hashes[2 * slot + 1] as number) & AGAIN) !== 0) again++
    if (again > MOST / 2) return forget()
    const kept = hashes.slice()
    hashes.fill(0)
    count[0] = 0
    for (let slot = 0; slot < SLOTS; slot++) {
      const low = kept[2 * slot + 1] as number
      if ((low & AGAIN) !== 0) take(kept[2 * slot] as number, (low & ~AGAIN) >>> 0)
    }
  }

  const isFresh = (one: number, two: number): boolean => {
    const high = one >>> 0
    const low = ((two & ~AGAIN) | TAKEN) >>> 0
    const near = 2 * ((high ^ (high >>> 12)) & (LATEST - 1))
    if (latest[near] === high && latest[near + 1] === low) return false
    if ((count[0] as number) >= MOST) clearUp()
    latest[near] = high
    latest[near + 1] = low
    return take(high, low)
  }

  /** Whether it was not there yet. */
  const take = (high: number, low: number): boolean => {
    for (let slot = (high ^ (high >>> 15)) & (SLOTS - 1); ; slot = (slot + 1) & (SLOTS - 1)) {
      const known = hashes[2 * slot + 1] as number
      if ((known & ~AGAIN) >>> 0 === low && hashes[2 * slot] === high) {
        hashes[2 * slot + 1] = (low | AGAIN) >>> 0
        return false
      }
      if (known !== 0) continue
      hashes[2 * slot] = high
      hashes[2 * slot + 1] = low
      count[0] = (count[0] as number) + 1
      return true
    }
  }

  const ofBytes = (text: string, bytes: Uint8Array, length: number, fresh: string[]): 'plain' | 'other' => {
    let high = seed
    let low = 0
    let from = 0
    for (let at = 0; at < length; at++) {
      const code = bytes[at] as number
      const letter = LETTERS[code] as number
      if (letter !== 0) {
        high = Math.imul(high ^ letter, 0x9e3779b1)
        low = ((low << 5) - low + letter) | 0
        continue
      }
      // SQLite takes a NUL for the end of a text.
      if (code === 0) return 'other'
      if (at > from) {
        if (at - from > longest) return 'other'
        if (isFresh(high, low)) fresh.push(text.slice(from, at).toLowerCase())
        high = seed
        low = 0
      }
      from = at + 1
    }
    return 'plain'
  }

  return {
    forget,
    ofPlain: (text, fresh) => {
      if (text.length >= LONGEST_TEXT_BYTES) return 'other'
      // As bytes, which are looked through several times quicker than the characters of a string.
      const length = scratch.write(text, 'utf8')
      if (length !== text.length) return 'other'
      scratch[length] = 32
      return ofBytes(text, scratch, length + 1, fresh)
    },
    add: (term, fresh) => {
      let high = seed
      let low = 0
      for (let at = 0; at < term.length; at++) {
        const code = term.charCodeAt(at)
        high = Math.imul(high ^ code, 0x9e3779b1)
        low = ((low << 5) - low + code) | 0
      }
      if (isFresh(high, low)) fresh.push(term)
    },
  }
}
