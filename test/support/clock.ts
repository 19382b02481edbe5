/** Time that stands still until a test moves it. */
import { type Clock, createClock, type TimeSource } from '../../daemon/platform/clock.ts'

export type ManualTime = {
  clock: Clock
  /** Both clocks move on; due timers run in order. */
  pass(ms: number): void
  /** The machine sleeps: only the wall clock moves, timers are frozen, then it wakes. */
  sleep(ms: number): void
  /** The wall clock is set. */
  jump(ms: number): void
}

export function manualTime(startMs = Date.UTC(2026, 0, 1)): ManualTime {
  let wall = startMs
  let monotonic = 0
  let waits: { at: number; wake: () => void }[] = []
  const source: TimeSource = {
    wall: () => wall,
    monotonic: () => monotonic,
    wait: (ms, wake) => {
      const entry = { at: monotonic + ms, wake }
      waits.push(entry)
      return {
        stop: () => {
          waits = waits.filter((other) => other !== entry)
        },
      }
    },
  }
  const pass = (ms: number) => {
    const end = monotonic + ms
    for (;;) {
      const next = waits.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      if (!next) break
      waits = waits.filter((other) => other !== next)
      wall += next.at - monotonic
      monotonic = next.at
      next.wake()
    }
    wall += end - monotonic
    monotonic = end
  }
  return {
    clock: createClock(source),
    pass,
    sleep: (ms) => {
      wall += ms
    },
    jump: (ms) => {
      wall += ms
    },
  }
}
