/**
 * What each session was given: counted in memory, written down right after, so that no answer waits for it and a crash repeats
 * one memory at worst. A session that was compacted begins anew.
 */
import type { GivenList } from '../../schema/recall.ts'
import { type Db, withoutWaiting } from '../db/database.ts'
import type { Clock, Timer } from '../platform/clock.ts'
import { safeId } from '../platform/text.ts'

export type SessionName = { sessionId: string; harness: string }

export type Handed = { file: string; bytes: number }

export type Given = {
  bytes(session: SessionName): number
  /** Tells of each file whether it was given until now; nothing while none was. */
  knower(session: SessionName, dir: string): ((file: string) => boolean) | undefined
  /** Takes it back when asked to: it did not reach the session. */
  add(session: SessionName, dir: string, mode: 'local' | 'model', handed: readonly Handed[]): () => void
  /** The session was cleared or compacted: it has nothing of it any more. */
  reset(session: SessionName): void
  list(sessionId: string, harness: string | undefined): GivenList
  /** Takes out what is known of a memory that is purged. */
  forget(memory: { dir: string; file: string }): void
  stop(): void
}

const MOST_SESSIONS = 1_000
/** While the disk fails; what is older is lost, and may be given again after a restart. */
const MOST_WAITING = 10_000

type State = { bytes: number; files: Set<string> }

type Deps = { rows: RecalledRows; clock: Pick<Clock, 'now' | 'after'>; onError: (error: unknown) => void }

export function createGiven({ rows, clock, onError }: Deps): Given {
  const sessions = new Map<string, State>()
  let waiting: NewRecalled[] = []
  let timer: Timer | undefined

  const stateOf = (name: SessionName): State => {
    const session = keyOf(name)
    const key = `${session.harness}\n${session.session}`
    const state = sessions.get(key) ?? load(session)
    // The map is in order of use.
    sessions.delete(key)
    sessions.set(key, state)
    if (sessions.size > MOST_SESSIONS) sessions.delete(sessions.keys().next().value as string)
    return state
  }

  const load = (session: SessionKey): State => {
    write()
    const state: State = { bytes: 0, files: new Set() }
    for (const { dir, file, bytes, live } of rows.list(session.session, session.harness)) {
      if (!live) continue
      state.bytes += bytes
      state.files.add(`${dir}\n${file}`)
    }
    return state
  }

  const write = (): void => {
    timer?.stop()
    timer = undefined
    if (waiting.length === 0) return
    const due = waiting
    waiting = []
    try {
      rows.add(due)
    } catch (error) {
      waiting = [...due, ...waiting].slice(-MOST_WAITING)
      onError(error)
    }
  }

  const takeBack = (state: State, added: readonly NewRecalled[]): void => {
    for (const { dir, file, bytes } of added) if (state.files.delete(`${dir}\n${file}`)) state.bytes -= bytes
    const written = added.filter((row) => !waiting.includes(row))
    waiting = waiting.filter((row) => !added.includes(row))
    try {
      if (written.length > 0) rows.remove(written)
    } catch (error) {
      onError(error)
    }
  }

  return {
    bytes: (session) => stateOf(session).bytes,
    knower: (session, dir) => {
      const { files } = stateOf(session)
      return files.size === 0 ? undefined : (file) => files.has(`${dir}\n${file}`)
    },
    add: (session, dir, mode, handed) => {
      const state = stateOf(session)
      const key = keyOf(session)
      // Never more than one answer of a session is not on record.
      if (waiting.some((row) => row.session === key.session)) write()
      const at = clock.now()
      const added = handed.map(({ file, bytes }) => {
        state.bytes += bytes
        state.files.add(`${dir}\n${file}`)
        return { ...key, at, dir, file, bytes, mode }
      })
      waiting.push(...added)
      // After the answers of this moment are on their way, all together.
      timer ??= clock.after(0, write)
      return () => takeBack(state, added)
    },
    reset: (session) => {
      const key = keyOf(session)
      write()
      rows.settle(key)
      sessions.delete(`${key.harness}\n${key.session}`)
    },
    list: (sessionId, harness) => {
      write()
      const found = rows.list(safeId(sessionId), harness === undefined ? undefined : safeId(harness))
      return {
        items: found.map(({ at, dir, file, bytes, mode, live, harness }) => ({
          at: new Date(at).toISOString(),
          harness,
          file,
          path: `${dir}/${file}`,
          bytes,
          mode,
          counts: live,
        })),
        sessionBytes: found.reduce((sum, { bytes, live }) => sum + (live ? bytes : 0), 0),
      }
    },
    forget: (memory) => {
      waiting = waiting.filter(({ dir, file }) => dir !== memory.dir || file !== memory.file)
      rows.forget(memory)
    },
    stop: write,
  }
}

function keyOf({ sessionId, harness }: SessionName): SessionKey {
  return { harness: safeId(harness), session: safeId(sessionId) }
}

/** Which memories sessions were given. Rows of long ago go. */

export type SessionKey = { harness: string; session: string }
export type NewRecalled = SessionKey & { at: number; dir: string; file: string; bytes: number; mode: 'local' | 'model' }
export type Recalled = NewRecalled & { live: boolean }

export type RecalledRows = {
  /** All in one transaction. Nobody waits for the disk: it survives the process, and a power cut repeats a memory. */
  add(rows: readonly NewRecalled[]): void
  /** Those that were added and did not reach anybody. */
  remove(rows: readonly NewRecalled[]): void
  /** Oldest first, of one harness or of all that know a session of that name. */
  list(session: string, harness: string | undefined): Recalled[]
  /** The session was compacted: what it was given counts no more. */
  settle(session: SessionKey): void
  /** A memory is gone for good. */
  forget(memory: { dir: string; file: string }): void
}

/** A session that was given nothing for so long is over. */
const KEEP_MS = 30 * 86_400_000
const MOST_LISTED = 10_000

export function createRecalledRows(db: Db): RecalledRows {
  const insert = db.prepare(
    'INSERT INTO recalled (at, harness, session, dir, file, bytes, mode) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  const expire = db.prepare('DELETE FROM recalled WHERE at < ?')
  const list = db.prepare(
    `SELECT * FROM recalled WHERE session = @session AND (@harness IS NULL OR harness = @harness)
     ORDER BY id LIMIT ${MOST_LISTED}`,
  )
  const settle = db.prepare('UPDATE recalled SET live = 0 WHERE session = ? AND harness = ?')
  const forget = db.prepare('DELETE FROM recalled WHERE dir = ? AND file = ?')
  const remove = db.prepare(
    'DELETE FROM recalled WHERE session = ? AND harness = ? AND dir = ? AND file = ? AND at = ?',
  )
  const addAll = db.transaction((rows: readonly NewRecalled[]) => {
    for (const { at, harness, session, dir, file, bytes, mode } of rows)
      insert.run(at, harness, session, dir, file, bytes, mode)
    const last = rows.at(-1)
    if (last) expire.run(last.at - KEEP_MS)
  })
  const removeAll = db.transaction((rows: readonly NewRecalled[]) => {
    for (const { session, harness, dir, file, at } of rows) remove.run(session, harness, dir, file, at)
  })
  return {
    add: (rows) => withoutWaiting(db, () => addAll(rows)),
    remove: (rows) => withoutWaiting(db, () => removeAll(rows)),
    list: (session, harness = undefined) =>
      (list.all({ session, harness: harness ?? null }) as (NewRecalled & { live: number })[]).map((row) => ({
        ...row,
        live: row.live === 1,
      })),
    settle: ({ session, harness }) => void settle.run(session, harness),
    forget: ({ dir, file }) => void forget.run(dir, file),
  }
}
