/** All words as they were written, to guess what a word that nobody ever wrote was meant to be. Does no I/O. */
import { withinOneEdit } from './edits.ts'

export type Spellings = {
  add(word: string): void
  /** Words that differ from this one by one slip of the fingers. */
  alike(word: string): string[]
  /** Longer words that begin so; `most` and one more at the most. */
  beginning(part: string, most: number): string[]
}

const SHORTEST = 3

/** Words of memories that are gone stay known: they find nothing. */
export function createSpellings(): Spellings {
  const known = new Set<string>()
  /** By length, with the first or the last letter: a slip leaves one of both as it was. */
  const byEnd = new Map<string, string[]>()
  const byStart = new Map<string, string[]>()
  return {
    add: (word) => {
      if (known.has(word) || word.length < SHORTEST) return
      known.add(word)
      addTo(byEnd, `${word[0]} ${word.length}`, word)
      addTo(byEnd, `${word.length} ${word.at(-1)}`, word)
      addTo(byStart, word.slice(0, SHORTEST), word)
    },
    alike: (word) => {
      const found = new Set<string>()
      for (let length = word.length - 1; length <= word.length + 1; length++)
        for (const key of [`${word[0]} ${length}`, `${length} ${word.at(-1)}`])
          for (const other of byEnd.get(key) ?? []) if (withinOneEdit(word, other)) found.add(other)
      return [...found]
    },
    beginning: (part, most) => {
      const found: string[] = []
      for (const word of byStart.get(part.slice(0, SHORTEST)) ?? [])
        if (word.length > part.length && word.startsWith(part) && found.push(word) > most) break
      return found
    },
  }
}

function addTo(map: Map<string, string[]>, key: string, word: string): void {
  const words = map.get(key)
  if (words) words.push(word)
  else map.set(key, [word])
}
