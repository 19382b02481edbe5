/** What was decided for each result of a tool, once: whether it stays in the context or is kept in a file, and what stands there then. */
import type { Db } from '../db/database.ts'

export type ResultKey = { harness: string; session: string; toolUse: string }

/** `shown`: what stands in the context in its place; nothing for one that stays as it is. */
export type FrozenResult = { chars: number; shown: string | undefined }

export type NewResult = FrozenResult & { toolUse: string; message: string | undefined }

export type ToolResults = {
  find(key: ResultKey): FrozenResult | undefined
  /** How many characters of one message stay in the context by what was decided so far, but for those named. */
  shownOf(session: Omit<ResultKey, 'toolUse'>, message: string, but: readonly string[]): number
  /** All of them or none; what was decided before stays. */
  freeze(session: Omit<ResultKey, 'toolUse'>, results: readonly NewResult[], at: number): void
  /** A session that is used again lives on. True where that was not known yet. */
  touch(session: Omit<ResultKey, 'toolUse'>, at: number): boolean
  /** Decisions of sessions that nobody used since. */
  expire(beforeMs: number): number
}

/** To write down each use would cost more than it is worth. */
const DAY_MS = 86_400_000

export function createToolResults(db: Db): ToolResults {
  const find = db.prepare('SELECT chars, shown FROM tool_results WHERE session = ? AND harness = ? AND tool_use = ?')
  const shownOf = db
    .prepare(
      `SELECT COALESCE(SUM(COALESCE(LENGTH(shown), chars)), 0) FROM tool_results
       WHERE session = @session AND harness = @harness AND message = @message
         AND tool_use NOT IN (SELECT value FROM json_each(@but))`,
    )
    .pluck()
  const insert = db.prepare(
    `INSERT INTO tool_results (harness, session, tool_use, message, chars, shown, at)
     VALUES (@harness, @session, @toolUse, @message, @chars, @shown, @at) ON CONFLICT DO NOTHING`,
  )
  const touch = db.prepare(
    'UPDATE tool_results SET at = @at WHERE session = @session AND harness = @harness AND at < @before',
  )
  const expire = db.prepare('DELETE FROM tool_results WHERE at < ?')
  return {
    find: ({ harness, session, toolUse }) => {
      const row = find.get(session, harness, toolUse) as { chars: number; shown: string | null } | undefined
      return row && { chars: row.chars, shown: row.shown ?? undefined }
    },
    shownOf: (session, message, but) => shownOf.get({ ...session, message, but: JSON.stringify(but) }) as number,
    freeze: db.transaction((session: Omit<ResultKey, 'toolUse'>, results: readonly NewResult[], at: number) => {
      for (const { toolUse, message = null, chars, shown = null } of results)
        insert.run({ ...session, toolUse, message, chars, shown, at })
    }),
    touch: (session, at) => touch.run({ ...session, at, before: at - DAY_MS }).changes > 0,
    expire: (beforeMs) => expire.run(beforeMs).changes,
  }
}
