/**
 * What sessions were shown, began ahead of time, or get late. Shown memories are counted in memory and written right after: no
 * answer waits for the disk, and a crash repeats one memory at worst.
 */
import { randomUUID } from 'node:crypto'
import { MemoryError } from '../../schema/errors.ts'
import type { GivenList } from '../../schema/recall.ts'
import type { Core } from '../core.ts'
import { type Db, withoutWaiting } from '../db/database.ts'
import type { Timer } from '../platform/clock.ts'
import { createLru } from '../platform/lru.ts'
import { safeId } from '../platform/text.ts'

export type SessionName = { sessionId: string; harness: string }

type SessionKey = { harness: string; session: string }
type NewRow = SessionKey & { at: number; dir: string; file: string; bytes: number; mode: 'local' | 'model' }
type Row = NewRow & { live: number }
type State = { bytes: number; files: Set<string> }

const MOST_SESSIONS = 1_000
/** While the disk fails; older ones are lost, and their memories may be shown again after a restart. */
const MOST_UNWRITTEN = 10_000

export function createShownMemories({ db, clock, logged }: Core) {
  const rows = createShownTable(db.history)
  const onError = logged('the memories that sessions were shown could not be written')
  const sessions = createLru<string, State>(MOST_SESSIONS)
  let unwritten: NewRow[] = []
  let timer: Timer | undefined

  const write = (): void => {
    timer?.stop()
    timer = undefined
    if (unwritten.length === 0) return
    try {
      rows.add(unwritten)
      unwritten = []
    } catch (error) {
      unwritten = unwritten.slice(-MOST_UNWRITTEN)
      onError(error)
    }
  }

  const load = ({ session, harness }: SessionKey): State => {
    write()
    const live = rows.list(session, harness).filter((row) => row.live === 1)
    return {
      bytes: live.reduce((sum, { bytes }) => sum + bytes, 0),
      files: new Set(live.map(({ dir, file }) => pathOf(dir, file))),
    }
  }
  const stateOf = (name: SessionName): State => {
    const id = idOf(name)
    const state = sessions.get(id) ?? load(keyOf(name))
    sessions.set(id, state)
    return state
  }

  const takeBack = (state: State, added: readonly NewRow[]): void => {
    for (const { dir, file, bytes } of added) if (state.files.delete(pathOf(dir, file))) state.bytes -= bytes
    const written = added.filter((row) => !unwritten.includes(row))
    unwritten = unwritten.filter((row) => !added.includes(row))
    try {
      if (written.length > 0) rows.remove(written)
    } catch (error) {
      onError(error)
    }
  }

  return {
    bytes: (session: SessionName): number => stateOf(session).bytes,
    has: (session: SessionName, dir: string, file: string): boolean => stateOf(session).files.has(pathOf(dir, file)),
    /** Returns how to take it back: it did not reach the session. */
    add: (
      session: SessionName,
      dir: string,
      mode: 'local' | 'model',
      shown: readonly { file: string; bytes: number }[],
    ) => {
      const state = stateOf(session)
      const key = keyOf(session)
      // At most one answer of a session stays unwritten.
      if (unwritten.some((row) => row.session === key.session)) write()
      const added = shown.map(({ file, bytes }) => {
        state.bytes += bytes
        state.files.add(pathOf(dir, file))
        return { ...key, at: clock.now(), dir, file, bytes, mode }
      })
      unwritten.push(...added)
      timer ??= clock.after(0, write)
      return () => takeBack(state, added)
    },
    reset: (session: SessionName): void => {
      write()
      rows.settle(keyOf(session))
      sessions.delete(idOf(session))
    },
    list: (sessionId: string, harness: string | undefined): GivenList => {
      write()
      const found = rows.list(safeId(sessionId), harness === undefined ? undefined : safeId(harness))
      return {
        items: found.map(({ at, dir, file, bytes, mode, live, harness }) => ({
          ...{ at: new Date(at).toISOString(), harness, file, path: `${dir}/${file}` },
          ...{ bytes, mode, counts: live === 1 },
        })),
        sessionBytes: found.reduce((sum, { bytes, live }) => sum + bytes * live, 0),
      }
    },
    lastDirs: rows.lastDirs,
    forget: (memory: { dir: string; file: string }): void => {
      unwritten = unwritten.filter(({ dir, file }) => dir !== memory.dir || file !== memory.file)
      for (const { files } of sessions.values()) files.delete(pathOf(memory.dir, memory.file))
      rows.forget(memory)
    },
    stop: write,
  }
}

export type ShownMemories = ReturnType<typeof createShownMemories>

function keyOf({ sessionId, harness }: SessionName): SessionKey {
  return { harness: safeId(harness), session: safeId(sessionId) }
}

export function idOf({ sessionId, harness }: SessionName): string {
  return `${safeId(harness)}\n${safeId(sessionId)}`
}

function pathOf(dir: string, file: string): string {
  return `${dir}\n${file}`
}

const KEEP_MS = 30 * 86_400_000
const MOST_LISTED = 10_000

function createShownTable(db: Db) {
  const insert = db.prepare(
    `INSERT INTO recalled (at, harness, session, dir, file, bytes, mode)
     VALUES (@at, @harness, @session, @dir, @file, @bytes, @mode)`,
  )
  const expire = db.prepare('DELETE FROM recalled WHERE at < ?')
  const list = db.prepare(
    `SELECT * FROM recalled WHERE session = @session AND (@harness IS NULL OR harness = @harness)
     ORDER BY id LIMIT ${MOST_LISTED}`,
  )
  const lastDirs = db.prepare('SELECT dir FROM recalled GROUP BY dir ORDER BY max(id) DESC LIMIT ?').pluck()
  const settle = db.prepare('UPDATE recalled SET live = 0 WHERE session = ? AND harness = ?')
  const forget = db.prepare('DELETE FROM recalled WHERE dir = ? AND file = ?')
  const remove = db.prepare(
    'DELETE FROM recalled WHERE session = @session AND harness = @harness AND dir = @dir AND file = @file AND at = @at',
  )
  const add = db.transaction((rows: readonly NewRow[]) => {
    for (const row of rows) insert.run(row)
    expire.run((rows.at(-1)?.at ?? 0) - KEEP_MS)
  })
  const removeAll = db.transaction((rows: readonly NewRow[]) => {
    for (const { bytes: _bytes, mode: _mode, ...row } of rows) remove.run(row)
  })
  return {
    // The rows survive the process, and a power cut repeats a memory.
    add: (rows: readonly NewRow[]) => withoutWaiting(db, () => add(rows)),
    remove: (rows: readonly NewRow[]) => withoutWaiting(db, () => removeAll(rows)),
    list: (session: string, harness: string | undefined) => list.all({ session, harness: harness ?? null }) as Row[],
    lastDirs: (most: number) => lastDirs.all(most) as string[],
    settle: ({ session, harness }: SessionKey) => void settle.run(session, harness),
    forget: ({ dir, file }: { dir: string; file: string }) => void forget.run(dir, file),
  }
}

const TICKETS_KEEP_MS = 300_000
const MOST_TICKETS = 200
const MOST_OF_SESSION = 20
const MOST_CHARS = 4_000_000

type Begun<Result> = {
  session: string | undefined
  chars: number
  controller: AbortController
  expiry: Timer
  done: { result: Result } | { error: unknown } | undefined
}

/** Recalls begun ahead of time, collected once with a ticket. A session that begins too many loses its own oldest first. */
export function createTickets<Result>({ clock }: Core) {
  const entries = new Map<string, Begun<Result>>()
  let chars = 0

  const remove = (ticket: string): Begun<Result> | undefined => {
    const entry = entries.get(ticket)
    if (!entry) return undefined
    entry.expiry.stop()
    entries.delete(ticket)
    chars -= entry.chars
    return entry
  }
  const cancel = (ticket: string): boolean => {
    const entry = remove(ticket)
    entry?.controller.abort()
    return entry !== undefined
  }
  const makeRoom = (last: string, session: string | undefined): void => {
    for (;;) {
      const own = [...entries].flatMap(([ticket, entry]) => (entry.session === session ? [ticket] : []))
      const isCrowded = entries.size > MOST_TICKETS || chars > MOST_CHARS
      if (!isCrowded && (session === undefined || own.length <= MOST_OF_SESSION)) return
      const [oldest] = own[0] === last ? entries.keys() : own
      if (oldest === undefined || oldest === last) return
      cancel(oldest)
    }
  }

  return {
    begin: (session: string | undefined, size: number, work: (signal: AbortSignal) => Promise<Result>): string => {
      const ticket = randomUUID()
      const controller = new AbortController()
      const expiry = clock.after(TICKETS_KEEP_MS, () => cancel(ticket))
      const entry: Begun<Result> = { session, controller, expiry, chars: size, done: undefined }
      entries.set(ticket, entry)
      chars += size
      makeRoom(ticket, session)
      work(controller.signal).then(
        (result) => {
          entry.done = { result }
        },
        (error: unknown) => {
          entry.done = { error }
        },
      )
      return ticket
    },
    collect: (ticket: string): { result: Result } | 'pending' => {
      const entry = entries.get(ticket)
      if (!entry)
        throw new MemoryError('NOT_FOUND', 'there is no such ticket: it was collected or cancelled, or has expired', {
          hint: 'recall again',
        })
      if (!entry.done) return 'pending'
      remove(ticket)
      if ('error' in entry.done) throw entry.done.error
      return entry.done
    },
    cancel,
    stop: (): void => {
      for (const ticket of [...entries.keys()]) cancel(ticket)
    },
  }
}

export type Selection = { dir: string; files: string[] }

/** How long a model may take for a selection that comes with the next question. */
export const LATEST_MS = 60_000

/** One of a session may go on after its caller was answered: the next question ends it, or gets what it selected. */
export function createLateSelections({ clock, logged }: Core) {
  const selected = createLru<string, Selection>(MOST_SESSIONS)
  const going = createLru<string, AbortController>(MOST_SESSIONS)
  const all = new Set<AbortController>()
  /** How often a session was forgotten: what began before that is of no use after it. */
  const forgotten = createLru<string, number>(MOST_SESSIONS)

  const end = (session: string): void => {
    going.get(session)?.abort()
    going.delete(session)
  }

  return {
    begin: (session: string | undefined) => {
      if (session !== undefined) end(session)
      const controller = new AbortController()
      const tooLate = clock.after(LATEST_MS, () => controller.abort())
      const timesForgotten = session === undefined ? 0 : forgotten.get(session)
      all.add(controller)
      const done = () => {
        tooLate.stop()
        all.delete(controller)
        if (session !== undefined && going.get(session) === controller) going.delete(session)
      }
      const goOn = (selecting: Promise<Selection>): void => {
        const isOver = () => session === undefined || forgotten.get(session) !== timesForgotten
        if (session === undefined || isOver()) controller.abort()
        else {
          end(session)
          going.set(session, controller)
        }
        selecting
          .then((selection) => {
            if (session !== undefined && selection.files.length > 0 && !isOver()) selected.set(session, selection)
          })
          .catch(logged('a model could not select memories'))
          .finally(done)
      }
      return { signal: controller.signal, goOn, done }
    },
    take: (session: string | undefined, dir: string): string[] => {
      const kept = session === undefined ? undefined : selected.get(session)
      if (session === undefined || kept?.dir !== dir) return []
      selected.delete(session)
      return kept.files
    },
    forget: (session: string): void => {
      end(session)
      selected.delete(session)
      forgotten.set(session, (forgotten.get(session) ?? 0) + 1)
    },
    stop: (): void => {
      for (const controller of all) controller.abort()
    },
  }
}

/** The undo of what an answer recorded travels with the answer: its sender runs it when the client does not receive it. */
const UNDO = Symbol('undo')

type Undoable = { [UNDO]?: () => void }

export function withUndo<T extends object>(answer: T, undo: () => void): T {
  return Object.defineProperty(answer, UNDO, { value: undo, enumerable: false })
}

export function undoOf(answer: unknown): (() => void) | undefined {
  return typeof answer === 'object' && answer !== null ? (answer as Undoable)[UNDO] : undefined
}
