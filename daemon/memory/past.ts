/** Changes that were made elsewhere and come into the journal with the memories they are about. */
import type { Db } from '../db/database.ts'
import { dropOrphans, type Journal, type NewChange } from './journal.ts'

/** Runs that only took away what had been brought elsewhere: they are no history of a file. */
export const TAKEN_AWAY = 'moved-'

/** What came in at one time stands together. */
export type Span = { first: number; last: number }

export type Past = {
  /** Appends them as something that is done; for within the transaction of the run that brings the memories. */
  bring(changes: Iterable<NewChange>): Span | undefined
  /** Takes them out again, and every text that nothing else needs. */
  takeBack(span: Span): void
  /** Whether the journal has this very change already. */
  holds(change: NewChange): boolean
  /** Whether anything ever happened to a file. */
  knows(dir: string, file: string): boolean
  /** Every file that something was done to, or refused about. */
  filesEver(dir: string): string[]
  /** The id itself, or the first with a number after it that no change up to `upTo` has. */
  freeRun(runId: string, upTo: number): string
  lastId(): number
}

export function createPast(db: Db, journal: Journal): Past {
  const lastId = db.prepare('SELECT coalesce(max(id), 0) FROM changes').pluck()
  const remove = db.prepare('DELETE FROM changes WHERE id BETWEEN ? AND ?')
  const same = db.prepare(`SELECT 1 FROM changes WHERE dir = ? AND file = ? AND at = ? AND op = ? AND actor = ?
    AND before_hash IS ? AND after_hash IS ? AND part_of IS NULL LIMIT 1`)
  const known = db.prepare(`SELECT 1 FROM changes WHERE dir = ? AND file = ? AND op <> 'refused' LIMIT 1`)
  const ever = db
    .prepare(
      `SELECT DISTINCT file FROM changes WHERE dir = ? AND part_of IS NULL
       AND coalesce(run, '') NOT LIKE '${TAKEN_AWAY}%' ORDER BY file`,
    )
    .pluck()
  const ran = db.prepare('SELECT 1 FROM changes WHERE run = ? AND id <= ? LIMIT 1')
  const end = () => lastId.get() as number

  return {
    bring: (changes) => {
      const before = end()
      for (const change of changes) journal.append([change])
      const last = end()
      if (last === before) return undefined
      journal.settle()
      return { first: before + 1, last }
    },
    takeBack: ({ first, last }) => {
      remove.run(first, last)
      dropOrphans(db)
    },
    holds: ({ dir, file, at, op, actor, before, after }) =>
      same.get(dir, file, at, op, actor, before?.hash ?? null, after?.hash ?? null) !== undefined,
    knows: (dir, file) => known.get(dir, file) !== undefined,
    filesEver: (dir) => ever.all(dir) as string[],
    freeRun: (runId, upTo) => {
      const taken = (id: string) => ran.get(id, upTo) !== undefined
      let free = runId
      for (let n = 2; taken(free); n++) free = `${runId.slice(0, 120)}-${n}`
      return free
    },
    lastId: end,
  }
}
