/** The messages of a session, and what `history.db` keeps of sessions: notices, and how far each was worked through. */
import type { NoticeList } from '../../schema/session.ts'
import { type Db, preparedIn, withoutWaiting } from '../db/database.ts'
import type { Clock } from '../platform/clock.ts'
import { messagesAt } from '../transcripts/digest.ts'
import { type Place as LinePlace, readBack } from '../transcripts/read-back.ts'

export type SessionKey = { harness: string; sessionId: string }

export type KnownSession = { row: number; cwd: string | null; interactive: 0 | 1 | null }

export type MessageRow = LinePlace & {
  id: number
  uid: string
  at: number | null
  by: string
  startsTurn: 0 | 1
  ends: string | null
  toolCalls: number
  /** What was in the context with this answer, where the harness says so. */
  tokens: number | null
}

export type MessageTable = ReturnType<typeof createMessageTable>

const COLUMNS = `m.id, m.uid, f.harness, f.path, m.offset, m.length, m.at, m.said_by AS by, m.starts_turn AS startsTurn, m.ends,
  m.tool_calls AS toolCalls, m.input_tokens + m.output_tokens + m.cache_read_tokens + m.cache_write_tokens AS tokens`
const MESSAGES = `SELECT ${COLUMNS} FROM messages m JOIN files f ON f.id = m.file`
const THERE = `m.sub_agent = '' AND m.rewound = 0 AND m.gone = 0 AND f.gone = 0`
const LIVE = `${THERE} AND m.copied = 0`
const BEFORE = 4
/** Loaded at once: a hundred thousand would hold the main thread. */
const MOST_LOADED = 2_000

type Place = { id: number; file: number | null; at: number | null }

/** Messages as their lines tell them, read back from the transcripts a few at a time. What is no longer there is left out. */
export async function* readMessages(messages: Iterable<MessageRow>, signal?: AbortSignal, linesAtOnce?: number) {
  const onTurn = () => signal?.throwIfAborted()
  onTurn()
  for await (const [message, inLine] of readBack(messages, messagesAt, { onTurn, linesAtOnce })) {
    const found = meantIn(inLine, message)
    if (found) yield [message, found] as const
  }
}

/** Which of those in a line is the one that is known: a transcript that was written anew may have something else there. */
function meantIn<M extends { by: string; id?: string }>(
  inLine: readonly M[] | undefined,
  { uid, by }: Pick<MessageRow, 'uid' | 'by'>,
): M | undefined {
  const theirs = inLine?.filter((each) => each.by === by)
  return theirs?.find(({ id }) => id === uid) ?? theirs?.[0]
}

export function createMessageTable(current: () => Db) {
  const statements = preparedIn(current, (db) => ({
    session: db.prepare('SELECT id AS row, cwd, interactive FROM sessions WHERE session = ? AND harness = ?'),
    place: db.prepare(`SELECT id, file, at FROM messages WHERE uid = ? AND session = ? AND sub_agent = ''`),
    after: db.prepare(afterSql(LIVE)),
    talkAfter: db.prepare(afterSql(THERE)),
    has: db.prepare(`${MESSAGES} WHERE m.uid = ? AND m.session = ? AND ${LIVE}`),
    oldest: db
      .prepare('SELECT id FROM messages WHERE session = ? AND id <= ? ORDER BY id DESC LIMIT 1 OFFSET ?')
      .pluck(),
    from: db.prepare(
      `${MESSAGES} WHERE m.session = @row AND m.id >= @id AND m.id <= @upTo AND ${LIVE}
         AND (m.file = @file OR @at IS NULL OR m.at IS NULL OR m.at >= @at)
       ORDER BY m.id LIMIT ${MOST_LOADED}`,
    ),
    before: db.prepare(`${MESSAGES} WHERE m.session = @row AND m.id < @id AND ${LIVE} ORDER BY m.id DESC LIMIT @limit`),
    agentBefore: db.prepare(
      `${MESSAGES} WHERE m.session = ? AND m.id < ? AND m.said_by = 'agent' AND ${LIVE} ORDER BY m.id DESC LIMIT ?`,
    ),
    newest: db.prepare(`${MESSAGES} WHERE m.session = ? AND ${LIVE} ORDER BY m.id DESC LIMIT ?`),
  }))
  const placeOf = (uid: string | undefined, row: number): Place => {
    const found = uid === undefined ? undefined : (statements().place.get(uid, row) as Place | undefined)
    return found ?? { id: 0, file: null, at: null }
  }
  const later = (what: 'after' | 'talkAfter', row: number, reached: Reached | undefined) => {
    const place = { row, ...placeOf(reached?.message, row), at: reached?.at ?? null }
    return endedPages((from) => statements()[what].all({ ...place, from }) as MessageRow[])
  }
  function* from(row: number, uid: string | undefined, upTo: number, most?: number): Generator<MessageRow> {
    const place = placeOf(uid, row)
    const oldest = most === undefined ? undefined : (statements().oldest.get(row, upTo, most) as number | undefined)
    for (let id = Math.max(place.id, oldest ?? 0); ; ) {
      const rows = statements().from.all({ row, upTo, ...place, id }) as MessageRow[]
      yield* rows
      if (rows.length < MOST_LOADED) return
      id = (rows.at(-1)?.id ?? 0) + 1
    }
  }
  return {
    session: (harness: string, id: string) => statements().session.get(id, harness) as KnownSession | undefined,
    /** What came later, without what was taken back, copied from another session, or is no longer there. */
    after: (row: number, reached: Reached | undefined) => later('after', row, reached),
    /** What came later, with what was copied: a fork goes on from it, and has it in its context. */
    talkAfter: (row: number, reached: Reached | undefined) => later('talkAfter', row, reached),
    /** From `uid` to the one with the id `upTo`, or the newest `most` of them; from the beginning where `uid` is not known. Loaded a page at a time. */
    from,
    has: (row: number, uid: string): boolean => statements().has.get(uid, row) !== undefined,
    /** The last ones before a message, newest first. */
    before: (row: number, uid: string, limit: number) =>
      statements().before.all({ row, id: placeOf(uid, row).id, limit }) as MessageRow[],
    /** The last that the agent said before a message, newest first: a few, for most of its lines have no words. */
    agentBefore: (row: number, id: number) => statements().agentBefore.all(row, id, BEFORE) as MessageRow[],
    newest: (row: number, limit: number) => statements().newest.all(row, limit) as MessageRow[],
  }
}

/** A new index may have read the files of a session in another order: in other files only the time tells. */
function afterSql(which: string): string {
  return `${MESSAGES} WHERE m.session = @row AND m.id > max(@id, @from) AND ${which}
      AND (m.file = @file OR @at IS NULL OR m.at IS NULL OR m.at > @at)
    ORDER BY m.id LIMIT ${MOST_LOADED}`
}

/** Turns that are over, about as many as are loaded at once. `more`: others may follow, even if there is none yet. */
function* endedPages(load: (from: number) => MessageRow[]) {
  let rows: MessageRow[] = []
  for (let more = true, from = 0; more; ) {
    const loaded = load(from)
    from = loaded.at(-1)?.id ?? from
    more = loaded.length === MOST_LOADED
    rows = [...rows, ...loaded]
    // Only with the next turn it is certain that the agent does not go on.
    const sure = more ? rows.findLastIndex(({ startsTurn }) => startsTurn === 1) : rows.length
    const part = endedPart(rows.slice(0, Math.max(0, sure)))
    rows = rows.slice(part.length)
    yield { part, more }
  }
}

type Spoken = { by: string; startsTurn: 0 | 1; ends: string | null }

/** Up to the last end. As in a list of turns, an end is taken back when the agent goes on, and not when a turn begins. */
export function endedPart<M extends Spoken>(messages: readonly M[]): M[] {
  let sure = 0
  let seeming = 0
  for (const [index, { by, startsTurn, ends }] of messages.entries()) {
    if (ends !== null) seeming = index + 1
    else if (startsTurn === 1) sure = seeming
    else if (by === 'agent' || by === 'tool') seeming = sure
  }
  return messages.slice(0, seeming)
}

type Row = { id: number; at: number; kind: Kind; files: string; text: string }
type Kind = NoticeList['items'][number]['kind']
type NoticePage = { harness?: string | null | undefined; after?: number | undefined }

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
  const add = ({ harness, sessionId }: SessionKey, kind: Kind, files: readonly string[], text: string) => {
    const at = clock.now()
    expire.run(at - KEEP_MS)
    const id = insert.run(at, harness, sessionId, kind, JSON.stringify(files), text).lastInsertRowid
    return () => void remove.run(id)
  }
  return {
    saved: (session: SessionKey, files: readonly string[]) =>
      add(session, 'saved', files, `saved: ${files.join(', ')}`),
    dreamed: (session: SessionKey, text: string) => add(session, 'dream', [], text),
    list: (sessionId: string, { harness = null, after = 0 }: NoticePage): NoticeList => ({
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

/** How far each session was worked through. In `history.db`: a new index must not repeat it. */
type ProgressKey = { harness: string; session: string; kind: string }

export type Reached = { message: string; at: number }

export function createProgress(db: Db) {
  const get = db.prepare('SELECT message, at FROM progress WHERE harness = ? AND session = ? AND kind = ?')
  const put = db.prepare(`INSERT INTO progress (harness, session, kind, message, at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (session, harness, kind) DO UPDATE SET message = excluded.message, at = excluded.at`)
  const forget = db.prepare('DELETE FROM progress WHERE harness = ? AND session = ? AND kind = ?')
  return {
    find: ({ harness, session, kind }: ProgressKey) => get.get(harness, session, kind) as Reached | undefined,
    // Outside of a transaction it says that there was nothing to keep, which can be found out again.
    put: ({ harness, session, kind }: ProgressKey, { message, at }: Reached) => {
      withoutWaiting(db, () => put.run(harness, session, kind, message, at))
    },
    forget: ({ harness, session, kind }: ProgressKey) => void forget.run(harness, session, kind),
  }
}
