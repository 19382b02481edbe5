/**
 * Recalls that were begun ahead of time: collected once, cancelled, or given up when nobody comes for them. Their number
 * and their size have limits; whoever begins too many loses their own first.
 */
import { randomUUID } from 'node:crypto'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Collected, RecallAnswer, RecallRequest } from '../../schema/recall.ts'
import type { Clock, Timer } from '../platform/clock.ts'

export type Tickets = {
  begin(request: RecallRequest, caller: Caller): { ticket: string }
  /** `pending` while it is not known; throws what went wrong. The answer is given once. */
  collect(ticket: string): Promise<Collected>
  cancel(ticket: string): { cancelled: boolean }
  stop(): void
}

const KEEP_MS = 300_000
const MOST_TICKETS = 200
const MOST_OF_SESSION = 20
const MOST_CHARS = 4_000_000
/** Nobody looks at more of a question: its beginning and its end. */
const QUERY_CHARS = 32_000

type Entry<Chosen> = {
  request: RecallRequest
  caller: Caller
  session: string | undefined
  chars: number
  controller: AbortController
  expiry: Timer
  done: { chosen: Chosen } | { error: unknown } | undefined
}

type Deps<Chosen> = {
  begin: (request: RecallRequest, caller: Caller, signal: AbortSignal) => Promise<Chosen>
  /** Only what is collected counts as given. */
  finish: (request: RecallRequest, chosen: Chosen, caller: Caller) => Promise<RecallAnswer>
  sessionOf: (request: RecallRequest) => string | undefined
  clock: Pick<Clock, 'after'>
}

export function createTickets<Chosen>({ begin, finish, sessionOf, clock }: Deps<Chosen>): Tickets {
  const entries = new Map<string, Entry<Chosen>>()
  let chars = 0

  const drop = (ticket: string): Entry<Chosen> | undefined => {
    const entry = entries.get(ticket)
    if (!entry) return undefined
    entry.expiry.stop()
    entries.delete(ticket)
    chars -= entry.chars
    return entry
  }
  const giveUp = (ticket: string): boolean => {
    const entry = drop(ticket)
    entry?.controller.abort()
    return entry !== undefined
  }

  /** Of the one who began the last ticket the oldest; of nobody else's, as long as there is one. */
  const makeRoom = (last: string, session: string | undefined): void => {
    for (;;) {
      const own = [...entries].flatMap(([ticket, entry]) => (entry.session === session ? [ticket] : []))
      const isCrowded = entries.size > MOST_TICKETS || chars > MOST_CHARS
      if (!isCrowded && (session === undefined || own.length <= MOST_OF_SESSION)) return
      const [oldest] = own[0] === last ? entries.keys() : own
      if (oldest === undefined || oldest === last) return
      giveUp(oldest)
    }
  }

  return {
    begin: (asked, caller) => {
      const ticket = randomUUID()
      const controller = new AbortController()
      const expiry = clock.after(KEEP_MS, () => giveUp(ticket))
      const request = { ...asked, query: shortened(asked.query) }
      const session = sessionOf(request)
      const entry: Entry<Chosen> = {
        request,
        caller,
        session,
        controller,
        expiry,
        chars: charsOf(request),
        done: undefined,
      }
      entries.set(ticket, entry)
      chars += entry.chars
      makeRoom(ticket, session)
      begin(request, caller, controller.signal).then(
        (chosen) => {
          entry.done = { chosen }
        },
        (error: unknown) => {
          entry.done = { error }
        },
      )
      return { ticket }
    },
    collect: async (ticket) => {
      const entry = entries.get(ticket)
      if (!entry)
        throw new MemoryError(
          'NOT_FOUND',
          'there is no such ticket: it was collected, cancelled, or nobody came for it',
          {
            hint: 'recall again',
          },
        )
      if (!entry.done) return { pending: true }
      drop(ticket)
      if ('error' in entry.done) throw entry.done.error
      return finish(entry.request, entry.done.chosen, entry.caller)
    },
    cancel: (ticket) => ({ cancelled: giveUp(ticket) }),
    stop: () => {
      for (const ticket of [...entries.keys()]) giveUp(ticket)
    },
  }
}

/** As a text of its own: a part of a long one would keep all of it. */
function shortened(query: string): string {
  if (query.length <= QUERY_CHARS) return query
  return Buffer.from(`${query.slice(0, QUERY_CHARS / 2)}\n${query.slice(-QUERY_CHARS / 2)}`).toString()
}

function charsOf({ query, readFiles = [], recentTools = [] }: RecallRequest): number {
  return [query, ...readFiles, ...recentTools].reduce((sum, { length }) => sum + length, 0)
}
