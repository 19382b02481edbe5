/** The running parts of the daemon in start order, and how they stop: backwards, each whatever the others did. */
import type { Clock } from './clock.ts'

export type Parts = {
  add(name: string, stop: (signal: AbortSignal) => void | Promise<void>): void
  /**
   * Stops everything; what a part throws is told at once, while those that stop after it (the log) still work.
   * The signal given to each part aborts when the drain time is over.
   */
  stop(drainMs: number, onFailure: (failure: PartFailure) => void): Promise<{ outcome: 'clean' | 'unclean' }>
}

export type PartFailure = { part: string; error: unknown }

export function createParts(clock: Clock): Parts {
  const parts: { name: string; stop: (signal: AbortSignal) => void | Promise<void> }[] = []
  return {
    add: (name, stop) => void parts.push({ name, stop }),
    stop: async (drainMs, onFailure) => {
      let outcome: 'clean' | 'unclean' = 'clean'
      const drain = new AbortController()
      const timer = clock.after(drainMs, () => drain.abort())
      for (const { name, stop } of parts.splice(0).reverse()) {
        try {
          await stop(drain.signal)
        } catch (error) {
          outcome = 'unclean'
          onFailure({ part: name, error })
        }
      }
      timer.stop()
      return { outcome }
    },
  }
}
