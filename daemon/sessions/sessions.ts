/** Sessions as callers ask for them: which there are, their turns and messages, and which were used lately. */
import { MemoryError } from '../../schema/errors.ts'
import type { OneSession, Session, SessionList } from '../../schema/session.ts'
import type { Core } from '../core.ts'
import { type Db, preparedIn } from '../db/database.ts'
import { createLru } from '../platform/lru.ts'
import type { Projects } from '../projects/projects.ts'
import { present } from '../transcripts/formats/fields.ts'
import type { Source } from '../transcripts/formats/format.ts'
import type { Turn } from '../transcripts/read-back.ts'
import type { TranscriptReader } from '../transcripts/transcript-reader.ts'
import { createMessageTable, createNotices, createProgress, type SessionKey } from './message-table.ts'
import { createSearch } from './search.ts'

export type Sessions = ReturnType<typeof createSessions>

export function sessionName({ harness, sessionId }: SessionKey): string {
  return JSON.stringify([harness, sessionId])
}

type StoredSession = {
  row: number
  id: string
  harness: string
  forkOf: string | null
  cwd: string | null
  project: string | null
  startedAt: number | null
  lastAt: number | null
  turns: number
  /** Rows cannot tell: the conversation has branched, or an injected text may have begun a turn. */
  unsure: 0 | 1
  readBytes: number
  tokens: number
  gone: 0 | 1
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

const PAGE = 50
/** Longer ones are counted by their rows, which may be one or two off. */
const COUNTED_BYTES = 32_000_000
const MOST_COUNTED = 1_000

export function createSessions(core: Core, projects: Projects, reader: TranscriptReader) {
  const { db, clock } = core
  const statements = preparedIn(db.index, (db) => ({
    list: db.prepare(
      `SELECT ${COLUMNS} FROM sessions s
       WHERE s.project = @project AND (coalesce(s.last_at, 0), s.id) < (@lastAt, @row)
       ORDER BY coalesce(s.last_at, 0) DESC, s.id DESC LIMIT @limit`,
    ),
    named: db.prepare(`SELECT ${COLUMNS} FROM sessions s WHERE s.session = ? ORDER BY s.harness`),
    isKnown: db.prepare('SELECT 1 FROM sessions WHERE session = ?'),
    files: db.prepare(
      `SELECT harness, root, path FROM files f WHERE gone = 0
         AND id IN (SELECT file FROM messages m WHERE m.session = ? AND m.sub_agent = '') ORDER BY id`,
    ),
  }))
  const counted = createLru<number, { readBytes: number; turns: number }>(MOST_COUNTED)

  const turnsOf = ({ row }: StoredSession): Promise<Turn[]> => reader.turnsOf(statements().files.all(row) as Source[])

  /** Where rows cannot tell, the files are read once for as long as they are as they were. */
  const countTurns = async (row: StoredSession): Promise<number> => {
    const { readBytes } = row
    if (row.unsure === 0 || row.gone === 1 || readBytes > COUNTED_BYTES) return row.turns
    const before = counted.get(row.row)
    if (before?.readBytes === readBytes) return before.turns
    const read = await turnsOf(row).catch(() => undefined)
    if (!read) return row.turns
    counted.set(row.row, { readBytes, turns: read.length })
    return read.length
  }

  /** A folder may have become private after its sessions were read. */
  const isShown = ({ cwd }: StoredSession) => cwd === null || !projects.isPrivate(cwd)
  const find = (id: string, harness: string | undefined): StoredSession => {
    const all = statements().named.all(id) as StoredSession[]
    const named = all.filter((row) => isShown(row) && (harness === undefined || row.harness === harness))
    const [row, ...others] = named
    const hint = 'to find it by its words: memoryd search "a word of it"'
    if (!row) throw new MemoryError('NOT_FOUND', `no session ${id} is known`, { hint })
    if (others.length > 0)
      throw new MemoryError('CONFLICT', `several harnesses have a session ${id}`, {
        hint: `add ?harness= with one of: ${named.map((other) => other.harness).join(', ')}`,
      })
    return row
  }

  return {
    ...createMessageTable(db.index),
    search: createSearch(core, projects),
    notices: createNotices(db.history, clock),
    progress: createProgress(db.history),
    touched: createTouched(db.index),
    list: async ({ cwd, limit = PAGE, after }: ListQuery): Promise<SessionList> => {
      const place = { project: projects.rootOf(cwd), limit: limit + 1, ...placeOf(after) }
      const rows = statements().list.all(place) as StoredSession[]
      const page = rows.slice(0, limit)
      const last = page.at(-1)
      const items: Session[] = []
      for (const row of page.filter(isShown)) items.push({ ...answerOf(row), turns: await countTurns(row) })
      return last && rows.length > limit ? { items, next: `${last.lastAt ?? 0}.${last.row}` } : { items }
    },
    get: async (id: string, harness: string | undefined): Promise<OneSession> => {
      const row = find(id, harness)
      const turns = await turnsOf(row)
      // Of deleted files nothing can be read back; what was counted stays.
      const count = row.gone === 1 ? row.turns : turns.length
      return { ...answerOf(row), turns: count, turnList: turns.map(turnAnswer) }
    },
    known: (id: string, harness: string | undefined): SessionKey => {
      const row = find(id, harness)
      return { harness: row.harness, sessionId: row.id }
    },
    isKnown: (id: string): boolean => statements().isKnown.get(id) !== undefined,
  }
}

type ListQuery = { cwd: string; limit?: number | undefined; after?: string | undefined }

function placeOf(after: string | undefined) {
  if (after === undefined) return { lastAt: Number.MAX_SAFE_INTEGER, row: Number.MAX_SAFE_INTEGER }
  const [lastAt, row] = after.split('.')
  return { lastAt: Number(lastAt), row: Number(row) }
}

function answerOf({ id, harness, turns, tokens, ...row }: StoredSession): Session {
  return present<Session>({
    id,
    harness,
    cwd: row.cwd ?? undefined,
    project: row.project ?? undefined,
    startedAt: timeOf(row.startedAt),
    lastAt: timeOf(row.lastAt),
    turns,
    tokens,
    parentId: row.forkOf ?? undefined,
    gone: row.gone === 1,
  })
}

function turnAnswer({ startedAt, endedAt, end, prompt, startedBy, toolCalls }: Turn): OneSession['turnList'][number] {
  return present<OneSession['turnList'][number]>({
    startedAt: timeOf(startedAt),
    endedAt: timeOf(endedAt),
    end: end === 'settling' ? 'final' : end,
    prompt,
    startedBy: startedBy === 'person' ? 'person' : 'other',
    toolCalls: toolCalls.length,
  })
}

function timeOf(at: number | null | undefined): string | undefined {
  return at === null || at === undefined ? undefined : new Date(at).toISOString()
}

type TouchedQuery = { projects: readonly string[]; sinceMs: number; except?: SessionKey | undefined }

export type TouchedSession = { harness: string; id: string; lastAt: number; paths: string[] }

/** What only sub-agents said does not count: their session is still at the same turn. */
const WHERE = `
  s.project IN (SELECT value FROM json_each(@projects)) AND s.last_at > @since
  AND NOT (s.session = @session AND s.harness = @harness)
  AND EXISTS (SELECT 1 FROM messages m WHERE m.session = s.id AND m.sub_agent = '' AND m.gone = 0
    AND coalesce(m.at, s.last_at) > @since)`

export function createTouched(current: () => Db) {
  const statements = preparedIn(current, (db) => ({
    count: db.prepare(`SELECT count(*) FROM sessions s WHERE ${WHERE}`).pluck(),
    list: db.prepare(`
      SELECT s.harness, s.session AS id, s.last_at AS lastAt,
        (SELECT json_group_array(path) FROM (SELECT DISTINCT f.path FROM messages m JOIN files f ON f.id = m.file
           WHERE m.session = s.id AND m.sub_agent = '' AND f.gone = 0)) AS paths
      FROM sessions s WHERE ${WHERE} ORDER BY s.last_at DESC LIMIT @limit`),
  }))
  const given = ({ projects, sinceMs, except }: TouchedQuery) => ({
    projects: JSON.stringify(projects),
    since: sinceMs,
    harness: except?.harness ?? '',
    session: except?.sessionId ?? '',
  })
  return {
    count: (query: TouchedQuery) => statements().count.get(given(query)) as number,
    list: (query: TouchedQuery, limit: number): TouchedSession[] =>
      (statements().list.all({ ...given(query), limit }) as (TouchedSession & { paths: string })[]).map((row) => ({
        ...row,
        paths: JSON.parse(row.paths) as string[],
      })),
  }
}
