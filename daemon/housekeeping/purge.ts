/**
 * Forgets a memory without a trace: file, index line, journal, backups. Only a person may, and it cannot be undone. A purge
 * is on record from its deletion to its end, and every step may be taken again: after a kill the next start finishes it.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Forgotten } from '../../schema/memory.ts'
import type { Core } from '../core.ts'
import { listCopies } from '../db/backup.ts'
import { closing, type Db, hasTable, numberIn, openForReading, removeDatabase, sweepFreePages } from '../db/database.ts'
import { readMemoryFile } from '../memory/folder.ts'
import type { Memory } from '../memory/memory.ts'
import { rejectedValues } from '../memory/tombstones.ts'
import { noMemory, onlyForPersons } from '../memory/write-checks.ts'
import type { NotesFile } from '../notes/notes-file.ts'
import { findTraces, mayHold, type Purge, scrub } from './scrub.ts'

/** `versions`: texts that were taken out; `deleted`: copies of the history. */
type Purged = { change: number; versions: number; deleted: string[] }
type How = { reject: boolean; ifHash: string | undefined }
/** Each is a few milliseconds where an index has thousands of lines. */
const SHORTENED_AT_ONCE = 2
type OnPurge = (purged: { dir: string; file: string }) => void

export type Purges = ReturnType<typeof createPurges>

export function createPurges(core: Core, memory: Memory, notes: NotesFile) {
  const { clock, db: databases, layout } = core
  const db = databases.history
  const { journal, tombstones, writer } = memory
  const table = createPurgeTable(db)
  const listeners: OnPurge[] = []

  /** What was written only in part is deleted first: the journal tells how. */
  const unfinished = () => table.pending().filter(({ change }) => !journal.isOpen(change))

  /** Only while `alone`: a backup that is made meanwhile would hold what goes. */
  const finishAll = (): Purged[] =>
    unfinished().map((purge) => {
      const { change, file } = purge
      const done = file === '' ? { change, versions: 0, deleted: [] } : takeOut(purge)

      // 4. What is left on record says nothing any more; the page on which it stood still does.
      if (sweepFreePages(db) === 'busy')
        throw new MemoryError('CONFLICT', 'another program is reading history.db: the purge has not come to its end', {
          hint: 'end that program; the purge goes on within the hour, or when memoryd is started again',
        })

      // 5. Done.
      table.remove(purge.id)
      return done
    })

  const takeOut = (purge: Purge): Purged => {
    const { id, dir, file, change } = purge
    // 1. Copies of the history first, while the history still tells what to look for.
    const traces = findTraces(db, purge)
    const deleted = listCopies(layout).filter((copy) => mayHold(copy, traces))
    for (const copy of deleted) removeDatabase(copy)

    // 2. Out of the journal, so that nothing can bring it back.
    const versions = scrub(db, purge, traces)
    sweepFreePages(db)

    // 3. Out of everything else.
    memory.wipeIndex()
    notes.emptyAll()
    for (const listener of listeners) listener({ dir, file })
    table.forgetWhat(id)
    return { change, versions, deleted }
  }

  /** Before anything is gone: afterwards the values to reject are unknown. */
  const reject = (dir: string, file: string, present: string | undefined): number | undefined => {
    const latest = journal.latest(dir, file)
    const values = rejectedValues(file, present ?? latest?.after?.text ?? latest?.before?.text ?? '')
    return values.length === 0 ? undefined : tombstones.add({ at: clock.now(), dir, file, excerpt: 'purged' }, values)
  }

  const purgeAlone = async (dir: string, actor: string, file: string, how: How): Promise<Forgotten> => {
    const present = readMemoryFile(dir, file)
    if (!present && !table.knows(dir, file)) throw noMemory(file)
    // A file that was renamed just now is known by its old name, and what goes is found by what it says.
    if (present) await memory.look(dir)
    let tombstone: number | undefined
    const write = { file, content: null, expect: how.ifHash, leaves: 'nothing' } as const
    const [done] = await writer.write(dir, [write], { actor, reason: 'purged' }, () => {
      const id = how.reject ? reject(dir, file, present?.text) : undefined
      tombstone = id
      return id === undefined ? undefined : () => void tombstones.lift(id)
    })
    const { versions = 0, deleted = [] } = finishAll().find(({ change }) => change === done?.id) ?? {}
    return {
      changeId: String(done?.id),
      ...(tombstone !== undefined && { tombstoneId: String(tombstone) }),
      purged: { versions, backups: deleted.length, deleted },
    }
  }

  return {
    purge: async (dir: string, { actor }: Caller, file: string, how: How): Promise<Forgotten> => {
      if (actor !== 'user') throw onlyForPersons('only a person may purge')
      const done = await databases.alone(() => purgeAlone(dir, actor, file, how))
      // In place of the one that was deleted; if it cannot be made now, housekeeping makes it.
      await databases.backUpDaily(clock.now()).catch(core.logged('no backup was made after a purge'))
      return done
    },
    /** Finishes what a kill or a full disk interrupted, and gives back what index texts of an earlier version take. */
    finish: () =>
      databases.alone(async () => {
        const done = finishAll()
        while (journal.shorten(SHORTENED_AT_ONCE)) await turn()
        if (numberIn(db, 'freelist_count') * 2 > numberIn(db, 'page_count')) sweepFreePages(db)
        return done
      }),
    /** Called for each memory that goes, perhaps twice. */
    onPurge: (listener: OnPurge) => void listeners.push(listener),
  }
}

/** The journal adds a row in one transaction with the deletion. */
function createPurgeTable(db: Db) {
  const pending = db.prepare('SELECT id, at, dir, file, change FROM purges ORDER BY id')
  const knows = ['changes', 'tombstones', 'reviews', 'purges'].map((name) =>
    db.prepare(`SELECT 1 FROM ${name} WHERE dir = ? AND file = ? LIMIT 1`),
  )
  const forgetWhat = db.prepare(`UPDATE purges SET file = '' WHERE id = ?`)
  const remove = db.prepare('DELETE FROM purges WHERE id = ?')
  return {
    pending: () => pending.all() as Purge[],
    knows: (dir: string, file: string) => knows.some((statement) => statement.get(dir, file) !== undefined),
    forgetWhat: (id: number) => void forgetWhat.run(id),
    remove: (id: number) => void remove.run(id),
  }
}

/** Whether a history that no process has open holds an unfinished purge. One that cannot be read does not. */
export function waitsForPurge(file: string): boolean {
  const holdsOne = (db: Db) => hasTable(db, 'purges') && db.prepare('SELECT 1 FROM purges').get() !== undefined
  try {
    return closing(openForReading(file), holdsOne)
  } catch {
    return false
  }
}
