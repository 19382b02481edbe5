/** What sessions are told: one notice for each run that saved something for them. Those of long ago go. */
import { type Db, withoutWaiting } from '../db/database.ts'

export type NewNotice = {
  at: number
  harness: string
  session: string
  kind: string
  files: readonly string[]
  text: string
}
export type Notice = NewNotice & { id: number }

export type Notices = {
  /** Plain SQL: part of the transaction that saves. */
  add(notice: NewNotice): number
  remove(id: number): void
  /** Oldest first, of one harness or of all that know a session of that name. */
  list(query: { session: string; harness: string | undefined; after: number; limit: number }): Notice[]
}

/** A session that did not ask for so long is over. */
const KEEP_MS = 30 * 86_400_000

export function createNotices(db: Db): Notices {
  const insert = db.prepare('INSERT INTO notices (at, harness, session, kind, files, text) VALUES (?, ?, ?, ?, ?, ?)')
  const expire = db.prepare('DELETE FROM notices WHERE at < ?')
  const remove = db.prepare('DELETE FROM notices WHERE id = ?')
  const list = db.prepare(
    `SELECT * FROM notices WHERE session = @session AND id > @after AND (@harness IS NULL OR harness = @harness)
     ORDER BY id LIMIT @limit`,
  )
  return {
    add: ({ at, harness, session, kind, files, text }) => {
      expire.run(at - KEEP_MS)
      return Number(insert.run(at, harness, session, kind, JSON.stringify(files), text).lastInsertRowid)
    },
    remove: (id) => void remove.run(id),
    list: ({ session, harness = null, after, limit }) =>
      (list.all({ session, harness, after, limit }) as (Notice & { files: string })[]).map((row) => ({
        ...row,
        files: JSON.parse(row.files) as string[],
      })),
  }
}

/** How far each session was worked through, in `history.db`: what was made of it once is not made again of a new index. */

export type ProgressKey = { harness: string; session: string; kind: string }

/** The last message that was worked through, and when it was said. */
export type Reached = { message: string; at: number }

export type ProgressTable = {
  find(key: ProgressKey): Reached | undefined
  /** Plain SQL: part of the transaction that keeps what was made of it. */
  put(key: ProgressKey, reached: Reached): void
  forget(key: ProgressKey): void
}

export function createProgress(db: Db): ProgressTable {
  const get = db.prepare('SELECT message, at FROM progress WHERE harness = ? AND session = ? AND kind = ?')
  const put = db.prepare(`INSERT INTO progress (harness, session, kind, message, at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (session, harness, kind) DO UPDATE SET message = excluded.message, at = excluded.at`)
  const forget = db.prepare('DELETE FROM progress WHERE harness = ? AND session = ? AND kind = ?')
  return {
    find: ({ harness, session, kind }) => get.get(harness, session, kind) as Reached | undefined,
    // Within a transaction it is waited for with it; by itself it says that there was nothing, which can be found out again.
    put: ({ harness, session, kind }, { message, at }) => {
      withoutWaiting(db, () => put.run(harness, session, kind, message, at))
    },
    forget: ({ harness, session, kind }) => void forget.run(harness, session, kind),
  }
}
