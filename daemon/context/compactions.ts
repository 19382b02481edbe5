/** What became of the last compactions of each session, so that a restart forgets neither failures nor what was done just now. */
import type { Db } from '../db/database.ts'

/** `failures`: in a row. `summary`: SHA-256 of the last one. `answers`: how many stood beside it. */
export type CompactionState = { failures: number; summary: string | undefined; answers: number }

export type Compactions = {
  find(session: string): CompactionState | undefined
  put(session: string, state: CompactionState, at: number): void
  /** Of sessions that nobody compacted since. */
  expire(beforeMs: number): number
}

export function createCompactions(db: Db): Compactions {
  const find = db.prepare('SELECT failures, summary, answers FROM compactions WHERE session = ?')
  const put = db.prepare(
    `INSERT INTO compactions (session, failures, summary, answers, at) VALUES (@session, @failures, @summary, @answers, @at)
     ON CONFLICT (session) DO UPDATE
     SET failures = excluded.failures, summary = excluded.summary, answers = excluded.answers, at = excluded.at`,
  )
  const expire = db.prepare('DELETE FROM compactions WHERE at < ?')
  return {
    find: (session) => {
      const row = find.get(session) as { failures: number; summary: string | null; answers: number } | undefined
      return row && { ...row, summary: row.summary ?? undefined }
    },
    put: (session, { failures, summary = null, answers }, at) =>
      void put.run({ session, failures, summary, answers, at }),
    expire: (beforeMs) => expire.run(beforeMs).changes,
  }
}
