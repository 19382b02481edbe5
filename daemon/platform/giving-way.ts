/**
 * What nobody waits for gives way to those who ask: while anybody does, a piece of work is followed by a rest several times as
 * long, so that most of the time belongs to them. While nobody does, there is no rest.
 */
import type { Clock } from './clock.ts'

export type GivingWay = {
  /** Somebody asked for something. */
  asked(): void
  /** To be called before a piece of work; what it returns, after it, for how many ms to rest. */
  begin(): () => number
}

/** One in a hundred may find the thread at work, and a run works in many pieces. */
const REST_PER_WORK = 50
/** While a run waits for a model, the thread works for those who ask: not all of it was the run's. */
const LONGEST_REST_MS = 300

export function createGivingWay({ busy }: Pick<Clock, 'busy'>): GivingWay {
  let count = 0
  return {
    asked: () => {
      count++
    },
    begin: () => {
      const before = { count, busyMs: busy() }
      return () => {
        if (count === before.count) return 0
        return Math.min(LONGEST_REST_MS, REST_PER_WORK * (busy() - before.busyMs))
      }
    },
  }
}
