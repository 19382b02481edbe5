/** Lets others run while one call works through a lot, and ends it when nobody waits for it or it has had its time. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import type { Failed } from './denied.ts'

/** Asked between any two steps; an answer is the end of the call. */
export type Pace = () => Promise<Failed | undefined>

const LIMIT_MS = 5_000
const SLICE_MS = 15

type Deps = { clock: Pick<Clock, 'elapsed'>; signal: AbortSignal; limitMs?: number }

export function createPace({ clock, signal, limitMs = LIMIT_MS }: Deps): Pace {
  const startMs = clock.elapsed()
  let sliceMs = startMs
  return async () => {
    const nowMs = clock.elapsed()
    if (nowMs - startMs > limitMs)
      return { failed: 'it took too long; look in a smaller place or for something simpler' }
    if (nowMs - sliceMs > SLICE_MS) {
      await turn()
      sliceMs = clock.elapsed()
    }
    return signal.aborted ? { failed: 'it was stopped' } : undefined
  }
}
