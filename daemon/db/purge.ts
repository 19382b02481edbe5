/**
 * Takes purges to their end, in history.db and in every copy of it. Numbered so that a kill at any point is taken up at
 * the next start: until the last step the purge is on record, and every step may be taken again.
 */
import { MemoryError } from '../../schema/errors.ts'
import { deleteDamagedWith, editableCopies, rewriteCopy } from './backup.ts'
import { type Db, hasTable, type Layout, openForReading, sweepFreePages } from './database.ts'
import { type Indexes, type Purge, phrasesToFind, scrub } from './scrub.ts'

/** What was done: texts taken out, copies rewritten, copies deleted because they could not be. */
export type Purged = { change: number; versions: number; backups: number; deleted: string[] }

/** Something else that keeps memories, and takes out what it has of one. It may be asked twice. */
export type Keeper = (purge: { dir: string; file: string }) => void | Promise<void>

type Deps = { db: Db; layout: Layout; indexes: Indexes; keepers: readonly Keeper[] }

export async function finishPurges(deps: Deps): Promise<Purged[]> {
  const { db } = deps
  const purges = createPurges(db)
  const done: Purged[] = []
  for (const purge of purges.pending()) {
    const { change, file } = purge
    done.push(file === '' ? { change, versions: 0, backups: 0, deleted: [] } : await clean(purge, purges, deps))

    // 4. What is left on record says nothing any more; the page on which it stood still does.
    if (sweepFreePages(db) === 'busy')
      throw new MemoryError('CONFLICT', 'another program is reading history.db: the purge has not come to its end', {
        hint: 'end that program; the purge goes on within the hour, or when memoryd is started again',
      })

    // 5. Done.
    purges.remove(purge.id)
  }
  return done
}

async function clean(purge: Purge, purges: Purges, { db, layout, indexes, keepers }: Deps): Promise<Purged> {
  const { id, dir, file, change } = purge
  // 1. While it is still known what to look for: copies in which nothing but bytes can be read.
  const deleted = deleteDamagedWith(layout, phrasesToFind(db, purge, indexes))

  // 2. Out of the journal, so that nothing can bring it back. Copies may know other files by the same contents.
  const { keys, versions } = db.transaction(() => {
    const scrubbed = scrub(db, purge, indexes)
    purges.keepKeys(id, scrubbed.keys)
    return scrubbed
  })()
  sweepFreePages(db)

  // 3. Out of everything else.
  const copies = editableCopies(layout)
  for (const copy of copies)
    await rewriteCopy(copy, (copied) => {
      scrub(copied, { ...purge, keys }, indexes)
      // A copy may have been made while this purge was on its way.
      if (hasTable(copied, 'purges')) copied.prepare('DELETE FROM purges WHERE dir = ? AND file = ?').run(dir, file)
    })
  for (const keeper of keepers) await keeper({ dir, file })
  purges.forgetWhat(id)
  return { change, versions, backups: copies.length, deleted }
}

/** Purges that are not at their end yet. The journal begins them, in one transaction with the deletion. */

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
