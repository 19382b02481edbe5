/** Watches over one call: hangs up when nothing moves any more, when it takes too long, and when told to. */
import type { Clock } from '../platform/clock.ts'

/** However alive a stream looks, no answer takes longer. */
export const LONGEST_MS = 15 * 60_000

export type Ending = 'aborted' | 'idle' | 'cut'

export type Watch = {
  controller: AbortController
  signal: AbortSignal
  alive(): void
  /** Why we hung up; undefined when we did not. */
  why(): Ending | undefined
  stop(): void
}

export function createWatch(clock: Clock, idleMs: number, signal: AbortSignal): Watch {
  const controller = new AbortController()
  let why: Ending | undefined
  const hangUp = (reason: Ending) => {
    why ??= reason
    controller.abort()
  }
  const onAbort = () => hangUp('aborted')
  signal.addEventListener('abort', onAbort, { once: true })
  const longest = clock.after(LONGEST_MS, () => hangUp('idle'))
  let idle = clock.after(idleMs, () => hangUp('idle'))
  return {
    controller,
    signal: controller.signal,
    alive: () => {
      idle.stop()
      idle = clock.after(idleMs, () => hangUp('idle'))
    },
    why: () => why,
    stop: () => {
      signal.removeEventListener('abort', onAbort)
      longest.stop()
      idle.stop()
    },
  }
}
