/**
 * Recalls that outlive their request: those begun ahead of time, collected once with a ticket, and selections of models that came too
 * late for their answer. Number and size of both are limited.
 */
import { randomUUID } from 'node:crypto'
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import type { Timer } from '../platform/clock.ts'
import { createLru } from '../platform/lru.ts'

const KEEP_MS = 300_000
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

/** A session that begins too many loses its own oldest first. */
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
    /** `chars`: how much memory the request takes. */
    begin: (session: string | undefined, size: number, work: (signal: AbortSignal) => Promise<Result>): string => {
      const ticket = randomUUID()
      const controller = new AbortController()
      const expiry = clock.after(KEEP_MS, () => cancel(ticket))
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
    /** Throws what went wrong. */
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
    /** False when there was nothing left to cancel. */
    cancel,
    stop: (): void => {
      for (const ticket of [...entries.keys()]) cancel(ticket)
    },
  }
}

export type Selection = { dir: string; files: string[] }

const MOST_SESSIONS = 1_000
/** How long a model may take for a selection that comes with the next question. */
export const LATEST_MS = 60_000

/**
 * At most one selection of a session goes on after its caller was answered. The session's next question ends it, or gets what it
 * selected. A selection that a caller still waits for is never ended by another question.
 */
export function createLateSelections({ clock, logged }: Core) {
  const selected = createLru<string, Selection>(MOST_SESSIONS)
  /** Their callers were answered. */
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
      /** Its caller was answered with what it brought. */
      const done = () => {
        tooLate.stop()
        all.delete(controller)
        if (session !== undefined && going.get(session) === controller) going.delete(session)
      }
      /** Its caller was answered without: what it selects comes with the session's next question. */
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
    /** What was selected for the session's last question, once. */
    take: (session: string | undefined, dir: string): string[] => {
      const kept = session === undefined ? undefined : selected.get(session)
      if (session === undefined || kept?.dir !== dir) return []
      selected.delete(session)
      return kept.files
    },
    /** The session was cleared or compacted. */
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
