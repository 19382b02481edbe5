/** Who works when: one after the other on the same thing, in small steps, and after requests. */
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

/** A fraction of a millisecond, even where every rule looks at every one. */
const MOST_CHARS = 2_000

/** For much work in small steps: lets other callbacks run after so many characters of it. */
export function createTurns(): (chars: number) => Promise<void> {
  let since = 0
  return async (chars) => {
    since += chars
    if (since < MOST_CHARS) return
    since = 0
    await turn()
  }
}

/** So that of a hundred requests in a row about one finds the thread at work: a good part of a run is waiting. */
const REST_PER_WORK = 50
/** While a run waits for a model, the thread works for requests: not all of the busy time was the run's. */
const LONGEST_REST_MS = 300

/**
 * Background work gives way to requests: when one has come since the piece of work before, a piece is followed by a rest,
 * many times as long as the thread was busy with it. Without requests there is no rest.
 */
export function createGivingWay({ busy }: Clock) {
  let isAsked = false
  return {
    /** A request came in. */
    asked: () => {
      isAsked = true
    },
    /** To be called before a piece of work; what it returns, after it, for how many ms to rest. */
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
