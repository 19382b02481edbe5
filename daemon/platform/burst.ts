/** Collects names until none has come for a moment, or for so long that waiting makes no sense any more. */
import type { Clock, Timer } from './clock.ts'

type Deps = {
  clock: Clock
  quietMs: number
  longestMs: number
  onOver: (names: ReadonlySet<string>) => void
}

export type Burst = { add(names: Iterable<string>): void; stop(): void }

export function createBurst({ clock, quietMs, longestMs, onOver }: Deps): Burst {
  let names = new Set<string>()
  let timer: Timer | undefined
  let firstMs = 0
  let lastMs = 0
  const look = () => {
    const leftMs = Math.min(lastMs + quietMs, firstMs + longestMs) - clock.elapsed()
    timer = leftMs > 0 ? clock.after(leftMs, look) : undefined
    if (timer) return
    const all = names
    names = new Set()
    onOver(all)
  }
  return {
    add: (some) => {
      for (const name of some) names.add(name)
      lastMs = clock.elapsed()
      if (timer) return
      firstMs = lastMs
      timer = clock.after(quietMs, look)
    },
    stop: () => timer?.stop(),
  }
}
