/**
 * What nobody waits for gives way to those who ask: where anybody has asked since the piece of work before it, one is followed by
 * a rest, many times as long as the thread was at work meanwhile. While nobody asks, there is none.
 */
import type { Clock } from './clock.ts'

export type GivingWay = {
  /** Somebody asked for something. */
  asked(): void
  /** To be called before a piece of work; what it returns, after it, for how many ms to rest. */
  begin(): () => number
}

/** So that of a hundred who ask in a row about one finds the thread at work: a good part of it is waiting. */
const REST_PER_WORK = 50
/** While a run waits for a model, the thread works for those who ask: not all of it was the run's. */
const LONGEST_REST_MS = 300

export function createGivingWay({ busy }: Pick<Clock, 'busy'>): GivingWay {
  let isAsked = false
  return {
    asked: () => {
      isAsked = true
    },
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
