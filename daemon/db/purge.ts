/**
 * Takes purges to their end, in history.db and in every copy of it. Numbered so that a kill at any point is taken up at
 * the next start: until the last step the purge is on record, and every step may be taken again.
 */
import { MemoryError } from '../../schema/errors.ts'
import { rewriteCopy } from './backup.ts'
import { deleteDamagedWith, editableCopies } from './copies.ts'
import { type Db, hasTable, sweepFreePages } from './database.ts'
import type { Layout } from './layout.ts'
import { createPurges, type Purges } from './purges.ts'
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
