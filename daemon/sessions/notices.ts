/** What sessions are told: one notice for each run that saved something for them. Those of long ago go. */
import type { Db } from '../db/database.ts'

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
