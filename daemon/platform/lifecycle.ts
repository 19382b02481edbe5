/** The running parts of the daemon in start order. They are stopped backwards, each whatever the others did. */
import type { Clock } from './clock.ts'

type Stop = (signal: AbortSignal) => void | Promise<void>

export function createLifecycle(clock: Clock) {
  const parts: { name: string; stop: Stop }[] = []
  return {
    /** Returns the part. The signal that its stop gets aborts when the drain time is over. */
    add: <Part extends Stop | { stop: Stop }>(name: string, part: Part): Part => {
      parts.push({ name, stop: typeof part === 'function' ? part : (signal) => part.stop(signal) })
      return part
    },
    /** `onFailure` is called at once, while the log, which stops later, still works. */
    stop: async (drainMs: number, onFailure: (failure: { part: string; error: unknown }) => void) => {
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
