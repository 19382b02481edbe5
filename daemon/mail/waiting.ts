/** Those who wait for mail: woken when some comes to a box of theirs, by nothing else but their time, and when all must go. */
import type { Clock } from '../platform/clock.ts'

export type Waiting = {
  /** Resolves when something may be there, when the time is over, or when the signal aborts. */
  until(boxes: readonly string[], waitMs: number, signal: AbortSignal): Promise<void>
  /** Without boxes: everyone. */
  wake(boxes?: readonly string[]): void
  /** From now on nobody waits: a daemon that stops must not be held up by those who have nothing to read. */
  close(): void
  isOpen(): boolean
}

export function createWaiting(clock: Pick<Clock, 'after'>): Waiting {
  const waiters = new Set<{ boxes: ReadonlySet<string>; end: () => void }>()
  let open = true
  const wake: Waiting['wake'] = (boxes) => {
    for (const waiter of [...waiters])
      if (!boxes || boxes.some((box) => waiter.boxes.has(box))) {
        waiters.delete(waiter)
        waiter.end()
      }
  }
  return {
    until: (boxes, waitMs, signal) =>
      new Promise((resolve) => {
        if (!open || signal.aborted) return resolve()
        const end = () => {
          waiters.delete(waiter)
          timer.stop()
          signal.removeEventListener('abort', end)
          resolve()
        }
        const waiter = { boxes: new Set(boxes), end }
        const timer = clock.after(waitMs, end)
        signal.addEventListener('abort', end, { once: true })
        waiters.add(waiter)
      }),
    wake,
    close: () => {
      open = false
      wake()
    },
    isOpen: () => open,
  }
}
