/** The running parts of the daemon in start order, and how they stop: backwards, each whatever the others did. */
import type { Clock } from './clock.ts'

export type Parts = {
  add(name: string, stop: (signal: AbortSignal) => void | Promise<void>): void
  /** Stops everything. The signal given to each part aborts when the drain time is over. Never rejects. */
  stop(drainMs: number): Promise<PartFailure[]>
}

export type PartFailure = { part: string; error: unknown }

export function createParts(clock: Clock): Parts {
  const parts: { name: string; stop: (signal: AbortSignal) => void | Promise<void> }[] = []
  return {
    add: (name, stop) => void parts.push({ name, stop }),
    stop: async (drainMs) => {
      const failures: PartFailure[] = []
      const drain = new AbortController()
      const timer = clock.after(drainMs, () => drain.abort())
      for (const { name, stop } of parts.splice(0).reverse()) {
        try {
          await stop(drain.signal)
        } catch (error) {
          failures.push({ part: name, error })
        }
      }
      timer.stop()
      return failures
    },
  }
}
