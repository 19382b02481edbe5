/** Which memories sessions were given. Rows of long ago go. */
import { type Db, withoutWaiting } from '../db/database.ts'

export type SessionKey = { harness: string; session: string }
export type NewRecalled = SessionKey & { at: number; dir: string; file: string; bytes: number; mode: 'local' | 'model' }
export type Recalled = NewRecalled & { live: boolean }

export type RecalledRows = {
  /** All in one transaction. Nobody waits for the disk: it survives the process, and a power cut repeats a memory. */
  add(rows: readonly NewRecalled[]): void
  /** Those that were added and did not reach anybody. */
  remove(rows: readonly NewRecalled[]): void
  /** Oldest first, of one harness or of all that know a session of that name. */
  list(session: string, harness: string | undefined): Recalled[]
  /** The session was compacted: what it was given counts no more. */
  settle(session: SessionKey): void
  /** A memory is gone for good. */
  forget(memory: { dir: string; file: string }): void
}

/** A session that was given nothing for so long is over. */
const KEEP_MS = 30 * 86_400_000
const MOST_LISTED = 10_000

export function createRecalledRows(db: Db): RecalledRows {
  const insert = db.prepare(
    'INSERT INTO recalled (at, harness, session, dir, file, bytes, mode) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  const expire = db.prepare('DELETE FROM recalled WHERE at < ?')
  const list = db.prepare(
    `SELECT * FROM recalled WHERE session = @session AND (@harness IS NULL OR harness = @harness)
     ORDER BY id LIMIT ${MOST_LISTED}`,
  )
  const settle = db.prepare('UPDATE recalled SET live = 0 WHERE session = ? AND harness = ?')
  const forget = db.prepare('DELETE FROM recalled WHERE dir = ? AND file = ?')
  const remove = db.prepare(
    'DELETE FROM recalled WHERE session = ? AND harness = ? AND dir = ? AND file = ? AND at = ?',
  )
  const addAll = db.transaction((rows: readonly NewRecalled[]) => {
    for (const { at, harness, session, dir, file, bytes, mode } of rows)
      insert.run(at, harness, session, dir, file, bytes, mode)
    const last = rows.at(-1)
    if (last) expire.run(last.at - KEEP_MS)
  })
  const removeAll = db.transaction((rows: readonly NewRecalled[]) => {
    for (const { session, harness, dir, file, at } of rows) remove.run(session, harness, dir, file, at)
  })
  return {
    add: (rows) => withoutWaiting(db, () => addAll(rows)),
    remove: (rows) => withoutWaiting(db, () => removeAll(rows)),
    list: (session, harness = undefined) =>
      (list.all({ session, harness: harness ?? null }) as (NewRecalled & { live: number })[]).map((row) => ({
        ...row,
        live: row.live === 1,
      })),
    settle: ({ session, harness }) => void settle.run(session, harness),
    forget: ({ dir, file }) => void forget.run(dir, file),
  }
}
