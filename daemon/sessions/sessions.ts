/** Sessions as they are asked for: which there are, how far they go, and the files they stand in. Only reads. */
import { type Db, preparedIn } from '../db/database.ts'

export type StoredSession = {
  row: number
  id: string
  harness: string
  forkOf: string | null
  cwd: string | null
  project: string | null
  startedAt: number | null
  lastAt: number | null
  /** Prompts that were not taken back. */
  turns: number
  /** Whether they are not all: what was said elsewhere in the tree, and turns that nobody began, only the files can tell. */
  unsure: 0 | 1
  /** How much was read of the files it stands in. */
  readBytes: number
  /** Of all answers, each counted once; without what was copied from another session. */
  tokens: number
  /** The harness deleted every file of it. */
  gone: 0 | 1
}

type Query = { project: string; limit: number; after: { lastAt: number; row: number } | undefined }

export type Sessions = {
  /** Of a project, the one that was used last first. */
  list(query: Query): StoredSession[]
  /** Several harnesses may have named a session alike. */
  named(id: string): StoredSession[]
  /** Whether any harness has one of this name. */
  isKnown(id: string): boolean
  /** The files that hold the conversation itself, in the order in which they were found. */
  files(row: number): { harness: string; root: string; path: string }[]
}

const COLUMNS = `
  s.id AS row, s.session AS id, s.harness, s.fork_of AS forkOf, s.cwd, s.project, s.started_at AS startedAt, s.last_at AS lastAt,
  (SELECT count(*) FROM messages m WHERE m.session = s.id AND m.sub_agent = '' AND m.starts_turn = 1
     AND m.said_by <> 'injected' AND m.rewound = 0 AND m.gone = 0) AS turns,
  (SELECT coalesce(sum(answer), 0) FROM (
     SELECT max(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens) AS answer FROM messages m
     WHERE m.session = s.id AND m.input_tokens IS NOT NULL AND m.copied = 0
     GROUP BY m.sub_agent, coalesce(m.answer, m.id))) AS tokens,
  EXISTS (SELECT 1 FROM files f WHERE f.id IN (SELECT m.file FROM messages m WHERE m.session = s.id AND m.sub_agent = '')
     AND f.known ->> '$.unsure' = 1) AS unsure,
  (SELECT coalesce(sum(f.cursor ->> '$.scanned'), 0) FROM files f
     WHERE f.id IN (SELECT m.file FROM messages m WHERE m.session = s.id AND m.sub_agent = '')) AS readBytes,
  NOT EXISTS (SELECT 1 FROM messages m JOIN files f ON f.id = m.file WHERE m.session = s.id AND f.gone = 0) AS gone`

export function createSessions(current: () => Db): Sessions {
  const statements = preparedIn(current, prepare)
  return {
    list: ({ project, limit, after }) =>
      statements().list.all({
        project,
        limit,
        lastAt: after?.lastAt ?? Number.MAX_SAFE_INTEGER,
        row: after?.row ?? Number.MAX_SAFE_INTEGER,
      }) as StoredSession[],
    named: (id) => statements().named.all(id) as StoredSession[],
    isKnown: (id) => statements().isKnown.get(id) !== undefined,
    files: (row) => statements().files.all(row) as ReturnType<Sessions['files']>,
  }
}

function prepare(db: Db) {
  return {
    list: db.prepare(
      `SELECT ${COLUMNS} FROM sessions s
       WHERE s.project = @project AND (coalesce(s.last_at, 0), s.id) < (@lastAt, @row)
       ORDER BY coalesce(s.last_at, 0) DESC, s.id DESC LIMIT @limit`,
    ),
    named: db.prepare(`SELECT ${COLUMNS} FROM sessions s WHERE s.session = ? ORDER BY s.harness`),
    isKnown: db.prepare('SELECT 1 FROM sessions WHERE session = ?'),
    files: db.prepare(
      `SELECT DISTINCT f.id, f.harness, f.root, f.path FROM messages m JOIN files f ON f.id = m.file
       WHERE m.session = ? AND m.sub_agent = '' AND f.gone = 0 ORDER BY f.id`,
    ),
  }
}

/** Sessions of projects that were used after a moment, by somebody other than whoever asks. Only reads. */

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
  const statements = preparedIn(current, prepareTouched)
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

function prepareTouched(db: Db) {
  return {
    count: db.prepare(`SELECT count(*) FROM sessions s WHERE ${WHERE}`).pluck(),
    list: db.prepare(`
      SELECT s.harness, s.session AS id, s.last_at AS lastAt,
        (SELECT json_group_array(path) FROM (SELECT DISTINCT f.path FROM messages m JOIN files f ON f.id = m.file
           WHERE m.session = s.id AND m.sub_agent = '' AND f.gone = 0)) AS paths
      FROM sessions s WHERE ${WHERE} ORDER BY s.last_at DESC LIMIT @limit`),
  }
}
