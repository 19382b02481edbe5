/** Recalls that were begun ahead of time: collected once, cancelled, or given up when nobody comes for them. */
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

type Entry<Chosen> = {
  request: RecallRequest
  controller: AbortController
  expiry: Timer
  done: { chosen: Chosen } | { error: unknown } | undefined
}

type Deps<Chosen> = {
  begin: (request: RecallRequest, caller: Caller, signal: AbortSignal) => Promise<Chosen>
  /** Only what is collected counts as given. */
  finish: (request: RecallRequest, chosen: Chosen) => Promise<RecallAnswer>
  clock: Pick<Clock, 'after'>
}

export function createTickets<Chosen>({ begin, finish, clock }: Deps<Chosen>): Tickets {
  const entries = new Map<string, Entry<Chosen>>()

  const drop = (ticket: string): Entry<Chosen> | undefined => {
    const entry = entries.get(ticket)
    entry?.expiry.stop()
    entries.delete(ticket)
    return entry
  }
  const giveUp = (ticket: string): boolean => {
    const entry = drop(ticket)
    entry?.controller.abort()
    return entry !== undefined
  }

  return {
    begin: (request, caller) => {
      const ticket = randomUUID()
      const controller = new AbortController()
      const expiry = clock.after(KEEP_MS, () => giveUp(ticket))
      const entry: Entry<Chosen> = { request, controller, expiry, done: undefined }
      entries.set(ticket, entry)
      if (entries.size > MOST_TICKETS) giveUp(entries.keys().next().value as string)
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
      return finish(entry.request, entry.done.chosen)
    },
    cancel: (ticket) => ({ cancelled: giveUp(ticket) }),
    stop: () => {
      for (const ticket of [...entries.keys()]) giveUp(ticket)
    },
  }
}
