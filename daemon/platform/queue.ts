/** Scheduling helpers: one task at a time per key, pauses in long work, and rest for requests. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { MemoryError } from '../../schema/errors.ts'
import type { Clock, Timer } from './clock.ts'

export type InTurn = <T>(what: string, work: () => Promise<T>) => Promise<T>

/** Work on the same thing goes one after the other, on different things side by side. What fails holds up nothing. */
export function createInTurn(): InTurn {
  const lasts = new Map<string, Promise<unknown>>()
  return (what, work) => {
    const mine = (lasts.get(what) ?? Promise.resolve()).then(work)
    const settled = mine.catch(() => {})
    lasts.set(what, settled)
    void settled.then(() => {
      if (lasts.get(what) === settled) lasts.delete(what)
    })
    return mine
  }
}

/** Redaction of so many takes a fraction of a millisecond. */
const MOST_CHARS = 2_000

export function createTurns(): (chars: number) => Promise<void> {
  let since = 0
  return async (chars) => {
    since += chars
    if (since < MOST_CHARS) return
    since = 0
    await nextTurn()
  }
}

/** About one of a hundred requests in a row then finds the thread busy: a good part of a run is waiting. */
const REST_PER_WORK = 50
/** While a run waits for a model, the thread works for requests: not all of the busy time was the run's. */
const LONGEST_REST_MS = 300

/** Other requests that may wait for hooks and recalls: each of them is kept in memory. */
const MOST_WAITING = 256
/** A recall that waits for a model precedes others no longer than this. */
const URGENT_MS = 250
/** While hooks keep coming, the rest goes on once the first of it has waited this long, one in each turn of the event loop. */
const LONGEST_WAIT_MS = 100
const LOOK_MS = 10

type Waiting = { sinceMs: number; go: () => void }

/**
 * Hooks and recalls come first, since people wait for them; then other requests; then background work. Where a request has come since
 * the piece of background work before, a piece is followed by a rest.
 */
export function createGivingWay({ busy, elapsed, after }: Clock) {
  const urgent = new Set<{ sinceMs: number }>()
  const requests: Waiting[] = []
  const pieces: Waiting[] = []
  let isAsked = false
  let isLooking = false
  let timer: Timer | undefined

  const isUrgent = () => [...urgent].some(({ sinceMs }) => elapsed() - sinceMs < URGENT_MS)

  const look = (): void => {
    timer?.stop()
    timer = undefined
    const queues = [requests, pieces].filter(({ length }) => length > 0)
    const waitedMs = ([first]: Waiting[]) => elapsed() - (first?.sinceMs ?? 0)
    const overdue = queues.filter((queue) => waitedMs(queue) >= LONGEST_WAIT_MS)
    const next = overdue.sort((a, b) => waitedMs(b) - waitedMs(a))[0] ?? (isUrgent() ? undefined : queues[0])
    next?.shift()?.go()
    if (next) lookSoon()
    else if (queues.length > 0) timer = after(LOOK_MS, look)
  }
  /** In the next turn: what is urgent and has come in this one is known by then. */
  const lookSoon = (): void => {
    if (isLooking || requests.length + pieces.length === 0) return
    isLooking = true
    void nextTurn().then(() => {
      isLooking = false
      look()
    })
  }
  const wait = (queue: Waiting[]) =>
    new Promise<void>((go) => {
      queue.push({ sinceMs: elapsed(), go })
      lookSoon()
    })

  return {
    asked: () => {
      isAsked = true
    },
    /** For a hook or a recall; what it returns is called when it is answered. */
    beginUrgent: (): (() => void) => {
      const mine = { sinceMs: elapsed() }
      urgent.add(mine)
      return () => {
        urgent.delete(mine)
        if (urgent.size === 0) lookSoon()
      }
    },
    /** Until any other request has its turn: at once, unless a hook or a recall is being answered. */
    admit: async (): Promise<void> => {
      if (requests.length === 0 && !isUrgent()) return
      if (requests.length >= MOST_WAITING)
        throw new MemoryError('DEGRADED', `${MOST_WAITING} requests wait for hooks and recalls to be answered`, {
          hint: 'ask again in a moment, and fewer at once',
        })
      await wait(requests)
    },
    /** Until the next piece of background work has its turn. */
    turn: (): Promise<void> => wait(pieces),
    /** Call it before a piece of work, and what it returns after it: for how many ms to rest. */
    begin: () => {
      const begunMs = busy()
      return () => {
        const mayRest = isAsked
        isAsked = false
        return mayRest ? Math.min(LONGEST_REST_MS, REST_PER_WORK * (busy() - begunMs)) : 0
      }
    },
  }
}
