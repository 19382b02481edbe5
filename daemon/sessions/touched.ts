/** Sessions of projects that were used after a moment, by somebody other than whoever asks. Only reads. */
import { type Db, preparedIn } from '../db/database.ts'

export type TouchedQuery = {
  projects: readonly string[]
  sinceMs: number
  /** The session that asks. */
  except?: { harness: string; sessionId: string } | undefined
}

export type TouchedSession = { harness: string; id: string; lastAt: number; paths: string[] }

export type Touched = {
  count(query: TouchedQuery): number
  /** The one that was used last first, with the files of its conversation. */
  list(query: TouchedQuery, limit: number): TouchedSession[]
}

export function createTouched(current: () => Db): Touched {
  const statements = preparedIn(current, prepare)
  const given = ({ projects, sinceMs, except }: TouchedQuery) => ({
    projects: JSON.stringify(projects),
    since: sinceMs,
    harness: except?.harness ?? '',
    session: except?.sessionId ?? '',
  })
  return {
    count: (query) => statements().count.get(given(query)) as number,
    list: (query, limit) =>
      (statements().list.all({ ...given(query), limit }) as (TouchedSession & { paths: string })[]).map((row) => ({
        ...row,
        paths: JSON.parse(row.paths) as string[],
      })),
  }
}

/** What only sub-agents said does not count: their session is still at the same turn. */
const WHERE = `
  s.project IN (SELECT value FROM json_each(@projects)) AND s.last_at > @since
  AND NOT (s.session = @session AND s.harness = @harness)
  AND EXISTS (SELECT 1 FROM messages m WHERE m.session = s.id AND m.sub_agent = '' AND m.gone = 0
    AND coalesce(m.at, s.last_at) > @since)`

function prepare(db: Db) {
  return {
    count: db.prepare(`SELECT count(*) FROM sessions s WHERE ${WHERE}`).pluck(),
    list: db.prepare(`
      SELECT s.harness, s.session AS id, s.last_at AS lastAt,
        (SELECT json_group_array(path) FROM (SELECT DISTINCT f.path FROM messages m JOIN files f ON f.id = m.file
           WHERE m.session = s.id AND m.sub_agent = '' AND f.gone = 0)) AS paths
      FROM sessions s WHERE ${WHERE} ORDER BY s.last_at DESC LIMIT @limit`),
  }
}
