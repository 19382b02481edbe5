/** Purges that are not at their end yet. The journal begins them, in one transaction with the deletion. */
import { type Db, hasTable, openForReading } from './database.ts'
import type { Purge } from './scrub.ts'

export type Purges = {
  pending(): Purge[]
  /** Whether anything is kept of a memory, or still on its way out. */
  knows(dir: string, file: string): boolean
  keepKeys(id: number, keys: readonly string[]): void
  /** Every copy is clean: what is left of the purge does not say what it was about. */
  forgetWhat(id: number): void
  remove(id: number): void
}

export function createPurges(db: Db): Purges {
  const pending = db.prepare('SELECT id, at, dir, file, change, keys FROM purges ORDER BY id')
  const knows = ['changes', 'tombstones', 'reviews', 'purges'].map((table) =>
    db.prepare(`SELECT 1 FROM ${table} WHERE dir = ? AND file = ? LIMIT 1`),
  )
  const keepKeys = db.prepare('UPDATE purges SET keys = ? WHERE id = ?')
  const forgetWhat = db.prepare(`UPDATE purges SET file = '', keys = '[]' WHERE id = ?`)
  const remove = db.prepare('DELETE FROM purges WHERE id = ?')
  return {
    pending: () =>
      (pending.all() as (Purge & { keys: string })[]).map((row) => ({ ...row, keys: JSON.parse(row.keys) })),
    knows: (dir, file) => knows.some((statement) => statement.get(dir, file) !== undefined),
    keepKeys: (id, keys) => void keepKeys.run(JSON.stringify(keys), id),
    forgetWhat: (id) => void forgetWhat.run(id),
    remove: (id) => void remove.run(id),
  }
}

/** Whether a history that nobody has open waits for a purge to reach its copies. One that cannot be read does not. */
export function waitsForPurge(file: string): boolean {
  try {
    const db = openForReading(file)
    try {
      return hasTable(db, 'purges') && db.prepare('SELECT 1 FROM purges LIMIT 1').get() !== undefined
    } finally {
      db.close()
    }
  } catch {
    return false
  }
}
