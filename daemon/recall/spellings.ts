/**
 * All words of the memories there are, as they were written: knows them without their endings, and guesses what a word that nobody
 * ever wrote was meant to be. Does no I/O.
 */
import { copied } from '../platform/characters.ts'
import { stem } from './words.ts'

export type Spelling = {
  word: string
  stem: string
  /** How many memories have it. */
  holders: number
  /** The memory that was counted last: each has a word once, however often it says it. */
  last: number
}

export type Spellings = {
  /** To take down the words of one more memory: they are `held` until they are released. */
  hold(): { stemOf(word: string): string; held: Spelling[] }
  /** The memory that held them is gone. */
  release(held: readonly Spelling[]): void
  /** A word without its ending; nothing for one that is not known. */
  stemOf(word: string): string | undefined
  /** Words that differ from this one by one slip of the fingers, in no order. */
  alike(word: string): string[]
  /** Longer words that begin so, in no order; `most` and one more at the most. */
  beginning(part: string, most: number): string[]
}

const SHORTEST = 3
/** Words that nobody has any more are passed over, for they often come again; with as many of them as of others they are forgotten. */
const FEWEST_GONE = 1_000

export function createSpellings(): Spellings {
  const known = new Map<string, Spelling>()
  /** By length, with the first or the last letter: a slip leaves one of both as it was. */
  const byEnd = new Map<string, Spelling[]>()
  const byStart = new Map<string, Spelling[]>()
  let gone = 0
  let memories = 0

  const learn = (met: string): Spelling => {
    const word = copied(met)
    const spelling = { word, stem: stem(word), holders: 0, last: 0 }
    // Until it is held, which is right after this.
    gone++
    known.set(word, spelling)
    file(spelling)
    return spelling
  }
  const file = (spelling: Spelling): void => {
    const { word } = spelling
    if (word.length < SHORTEST) return
    addTo(byEnd, `${word[0]} ${word.length}`, spelling)
    addTo(byEnd, `${word.length} ${word.at(-1)}`, spelling)
    addTo(byStart, word.slice(0, SHORTEST), spelling)
  }
  const forgetGone = (): void => {
    byEnd.clear()
    byStart.clear()
    for (const [word, spelling] of known)
      if (spelling.holders === 0) known.delete(word)
      else file(spelling)
    gone = 0
  }

  return {
    hold: () => {
      const memory = ++memories
      const held: Spelling[] = []
      const stemOf = (word: string): string => {
        const spelling = known.get(word) ?? learn(word)
        if (spelling.last === memory) return spelling.stem
        spelling.last = memory
        if (spelling.holders++ === 0) gone--
        held.push(spelling)
        return spelling.stem
      }
      return { stemOf, held }
    },
    release: (held) => {
      for (const spelling of held) if (--spelling.holders === 0) gone++
      if (gone > Math.max(known.size - gone, FEWEST_GONE)) forgetGone()
    },
    stemOf: (word) => known.get(word)?.stem,
    alike: (word) => {
      const found = new Set<string>()
      for (let length = word.length - 1; length <= word.length + 1; length++)
        for (const key of [`${word[0]} ${length}`, `${length} ${word.at(-1)}`])
          for (const other of byEnd.get(key) ?? [])
            if (other.holders > 0 && withinOneEdit(word, other.word)) found.add(other.word)
      return [...found]
    },
    beginning: (part, most) => {
      const found: string[] = []
      for (const { word, holders } of byStart.get(part.slice(0, SHORTEST)) ?? [])
        if (holders > 0 && word.length > part.length && word.startsWith(part) && found.push(word) > most) break
      return found
    },
  }
}

function addTo(map: Map<string, Spelling[]>, key: string, spelling: Spelling): void {
  const spellings = map.get(key)
  if (spellings) spellings.push(spelling)
  else map.set(key, [spelling])
}

/** Whether two words differ by one slip of the fingers: a letter too many, too few, another one, or two swapped. Pure. */
export function withinOneEdit(a: string, b: string): boolean {
  if (a === b) return true
  const [short, long] = a.length <= b.length ? [a, b] : [b, a]
  if (long.length - short.length > 1) return false
  let at = 0
  while (at < short.length && short[at] === long[at]) at++
  if (short.length < long.length) return short.slice(at) === long.slice(at + 1)
  if (short.slice(at + 1) === long.slice(at + 1)) return true
  return short[at] === long[at + 1] && short[at + 1] === long[at] && short.slice(at + 2) === long.slice(at + 2)
}
