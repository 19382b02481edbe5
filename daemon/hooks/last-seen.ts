/** When a hook of each harness was last seen: known at once, written down soon, so that no hook waits for the disk. */
import type { Clock, Timer } from '../platform/clock.ts'
import type { HooksSeen } from './hooks-seen.ts'

type Deps = { rows: HooksSeen; clock: Pick<Clock, 'now' | 'after'>; onError: (error: unknown) => void }

const WRITE_MS = 2_000

export function createLastSeen({ rows, clock, onError }: Deps) {
  const known = new Map(rows.list().map(({ harness, at }) => [harness, at]))
  const unwritten = new Set<string>()
  let timer: Timer | undefined
  const write = (): void => {
    timer?.stop()
    timer = undefined
    try {
      for (const harness of unwritten) rows.put(harness, known.get(harness) ?? 0)
      unwritten.clear()
    } catch (error) {
      // They stay for the next time.
      onError(error)
    }
  }
  return {
    seen: (harness: string): void => {
      known.set(harness, clock.now())
      unwritten.add(harness)
      timer ??= clock.after(WRITE_MS, write)
    },
    at: (harness: string): number | undefined => known.get(harness),
    stop: write,
  }
}
