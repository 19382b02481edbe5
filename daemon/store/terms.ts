/**
 * All terms of messages, and which of them have a part in common. New ones are put down as they come and later taken, sorted
 * and many at once, to where they are found quickly; until then they are looked through one by one.
 */
import type { Db } from './database.ts'

/** Terms that have the part in them, `most` of them. */
export type TermsWith = (part: string, most: number) => string[]

export type Terms = {
  /** Part of the caller's transaction. The same one may be added again. */
  add(terms: readonly string[]): void
  termsWith: TermsWith
  unsettled(): number
  /** Takes a few of them, in a transaction of its own; tells how many are left of all that waited. */
  settle(): number
}

export const SHORTEST_PART = 3

/** In one transaction: so many take a few milliseconds. */
const AT_ONCE = 1_000

export function prepareTerms(db: Db): Terms {
  const add = db.prepare('INSERT INTO new_terms (term) VALUES (?)')
  // Asked for together, they would be looked for in every row.
  const range = db
    .prepare('SELECT (SELECT coalesce(min(id), 0) FROM new_terms), (SELECT coalesce(max(id), -1) FROM new_terms)')
    .raw()
  const sorted = db.prepare('SELECT DISTINCT term FROM new_terms WHERE id <= ? ORDER BY term').pluck()
  const drop = db.prepare('DELETE FROM new_terms WHERE id <= ?')
  const insert = db.prepare('INSERT OR IGNORE INTO terms (term) VALUES (?)')
  const insertParts = db.prepare('INSERT INTO term_parts (rowid, term) VALUES (?, ?)')
  const byParts = db
    .prepare('SELECT term FROM terms WHERE id IN (SELECT rowid FROM term_parts(?)) AND instr(term, ?) > 0 LIMIT ?')
    .pluck()
  const byScan = db.prepare('SELECT term FROM terms WHERE instr(term, ?) > 0 LIMIT ?').pluck()
  const newByScan = db.prepare('SELECT DISTINCT term FROM new_terms WHERE instr(term, ?) > 0 LIMIT ?').pluck()

  let settling: { terms: string[]; upTo: number; taken: number } | undefined
  const take = db.transaction((terms: readonly string[]) => {
    const added: [id: number | bigint, term: string][] = []
    for (const term of terms) {
      const { changes, lastInsertRowid } = insert.run(term)
      if (changes > 0) added.push([lastInsertRowid, term])
    }
    for (const one of added) insertParts.run(...one)
  })
  const unsettled = () => {
    const [first, last] = range.get() as [number, number]
    return last - first + 1
  }

  return {
    add: (terms) => {
      for (const term of terms) add.run(term)
    },
    unsettled,
    settle: () => {
      if (!settling) {
        const [, upTo] = range.get() as [number, number]
        settling = { terms: sorted.all(upTo) as string[], upTo, taken: 0 }
      }
      const { terms, upTo } = settling
      take.immediate(terms.slice(settling.taken, settling.taken + AT_ONCE))
      settling.taken += AT_ONCE
      if (settling.taken < terms.length) return terms.length - settling.taken
      drop.run(upTo)
      settling = undefined
      return unsettled()
    },
    termsWith: (part, most) => {
      const threes = threesOf(part)
      const settled = threes === undefined ? byScan.all(part, most) : byParts.all(threes, part, most)
      return [...new Set([...(settled as string[]), ...(newByScan.all(part, most) as string[])])].slice(0, most)
    },
  }
}

function threesOf(part: string): string | undefined {
  const characters = [...part]
  if (characters.length < SHORTEST_PART) return undefined
  // Side by side: those in between would only be more to look up. Terms are letters and digits, which end no quotes.
  const last = characters.length - SHORTEST_PART
  const starts = characters.map((_, at) => Math.min(at * SHORTEST_PART, last))
  const threes = starts.map((at) => `"${characters.slice(at, at + SHORTEST_PART).join('')}"`)
  return [...new Set(threes)].join(' AND ')
}
