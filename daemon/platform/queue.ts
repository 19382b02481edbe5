/** Scheduling helpers: one task at a time per key, pauses in long work, and rest for requests. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from './clock.ts'

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
    await turn()
  }
}

/** About one of a hundred requests in a row then finds the thread busy: a good part of a run is waiting. */
const REST_PER_WORK = 50
/** While a run waits for a model, the thread works for requests: not all of the busy time was the run's. */
const LONGEST_REST_MS = 300

/** Where a request has come since the piece of background work before, a piece is followed by a rest. */
export function createGivingWay({ busy }: Clock) {
  let isAsked = false
  return {
    asked: () => {
      isAsked = true
    },
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
