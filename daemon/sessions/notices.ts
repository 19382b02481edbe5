/** What is kept of sessions in `history.db`: notices of runs that changed something for them, and how far each was worked through. */
import type { NoticeList } from '../../schema/session.ts'
import { type Db, withoutWaiting } from '../db/database.ts'
import type { Clock } from '../platform/clock.ts'
import type { SessionKey } from './message-table.ts'

type Row = { id: number; at: number; kind: Kind; files: string; text: string }
type Kind = NoticeList['items'][number]['kind']

const PAGE = 100
/** A session that did not ask for so long is over. */
const KEEP_MS = 30 * 86_400_000

export function createNotices(db: Db, clock: Clock) {
  const insert = db.prepare('INSERT INTO notices (at, harness, session, kind, files, text) VALUES (?, ?, ?, ?, ?, ?)')
  const expire = db.prepare('DELETE FROM notices WHERE at < ?')
  const remove = db.prepare('DELETE FROM notices WHERE id = ?')
  const list = db.prepare(
    `SELECT * FROM notices WHERE session = @session AND id > @after AND (@harness IS NULL OR harness = @harness)
     ORDER BY id LIMIT @limit`,
  )
  /** Within the transaction that saves. What it returns takes the notice back. */
  const add = (
    { harness, sessionId }: SessionKey,
    kind: Kind,
    files: readonly string[],
    text: string,
  ): (() => void) => {
    const at = clock.now()
    expire.run(at - KEEP_MS)
    const id = insert.run(at, harness, sessionId, kind, JSON.stringify(files), text).lastInsertRowid
    return () => void remove.run(id)
  }
  return {
    saved: (session: SessionKey, files: readonly string[]) =>
      add(session, 'saved', files, `saved: ${files.join(', ')}`),
    dreamed: (session: SessionKey, text: string) => add(session, 'dream', [], text),
    /** Oldest first, of one harness or of all that know a session of that name. */
    list: (
      sessionId: string,
      { harness = null, after = 0 }: { harness?: string | null | undefined; after?: number | undefined },
    ): NoticeList => ({
      items: (list.all({ session: sessionId, harness, after, limit: PAGE }) as Row[]).map((row) => ({
        id: String(row.id),
        at: new Date(row.at).toISOString(),
        kind: row.kind,
        files: JSON.parse(row.files) as string[],
        text: row.text,
      })),
    }),
  }
}

/** How far each session was worked through, in `history.db`: what was made of it once is not made again of a new index. */
type ProgressKey = { harness: string; session: string; kind: string }

export type Reached = { message: string; at: number }

export function createProgress(db: Db) {
  const get = db.prepare('SELECT message, at FROM progress WHERE harness = ? AND session = ? AND kind = ?')
  const put = db.prepare(`INSERT INTO progress (harness, session, kind, message, at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (session, harness, kind) DO UPDATE SET message = excluded.message, at = excluded.at`)
  const forget = db.prepare('DELETE FROM progress WHERE harness = ? AND session = ? AND kind = ?')
  return {
    find: ({ harness, session, kind }: ProgressKey) => get.get(harness, session, kind) as Reached | undefined,
    // Part of the transaction that keeps what was made of it; by itself it says that there was nothing, which can be found out again.
    put: ({ harness, session, kind }: ProgressKey, { message, at }: Reached) => {
      withoutWaiting(db, () => put.run(harness, session, kind, message, at))
    },
    forget: ({ harness, session, kind }: ProgressKey) => void forget.run(harness, session, kind),
  }
}
