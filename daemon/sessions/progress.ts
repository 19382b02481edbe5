/** How far each session was worked through, in `history.db`: what was made of it once is not made again of a new index. */
import { type Db, withoutWaiting } from '../db/database.ts'

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
