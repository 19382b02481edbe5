/**
 * Files that hold messages which stand in another one. A message has one place; when the file of that place goes, those who
 * hold it too have to be read again, or nobody would find it any more.
 */
import type { Db } from '../db/database.ts'

export type Holder = { harness: string; root: string; path: string }

export type OtherHolders = {
  /** A message of this file was left where it stands, in another one. */
  add(stands: number, holder: number): void
  /** What stood in this file may stand there no more. Gives those that are there and hold some of it. */
  left(stands: number): Holder[]
  /** The transaction is over, or was rolled back. */
  forget(): void
}

export function createOtherHolders(db: Db): OtherHolders {
  const add = db.prepare('INSERT OR IGNORE INTO other_holders (stands, holder) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM other_holders WHERE stands = ?')
  const mark = db.prepare(
    'UPDATE files SET again = 1 WHERE id IN (SELECT holder FROM other_holders WHERE stands = ?) RETURNING id',
  )
  const there = db.prepare('SELECT harness, root, path FROM files WHERE id = ? AND gone = 0')
  /** Line after line of a copy tells the same. */
  const told = new Set<string>()
  return {
    add: (stands, holder) => {
      const pair = `${stands} ${holder}`
      if (told.has(pair)) return
      told.add(pair)
      add.run(stands, holder)
    },
    left: (stands) => {
      const marked = mark.pluck().all(stands) as number[]
      remove.run(stands)
      // They take over what it held. It may come back as it was, and when they go after that, it is its turn.
      for (const id of marked) add.run(id, stands)
      told.clear()
      return marked.flatMap((id) => (there.get(id) as Holder | undefined) ?? [])
    },
    forget: () => told.clear(),
  }
}
