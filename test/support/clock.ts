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

export type RunningTime = {
  clock: Clock
  /** So much more time has passed for all that waits. Stamps go on as they were: those of files are the kernel's. */
  pass(ms: number): void
  /** The wall clock is set. */
  jump(ms: number): void
}

/** Real time, of which a test can let some pass at once. */
export function runningTime(): RunningTime {
  let passedMs = 0
  let aheadMs = 0
  const waits = new Set<{ at: number; end: () => void }>()
  const monotonic = () => performance.now() + passedMs
  const source: TimeSource = {
    wall: () => Date.now() + aheadMs,
    monotonic,
    wait: (ms, wake) => {
      const stop = () => {
        clearTimeout(handle)
        waits.delete(entry)
      }
      const end = () => {
        stop()
        wake()
      }
      const entry = { at: monotonic() + ms, end }
      const handle = setTimeout(end, ms)
      handle.unref()
      waits.add(entry)
      return { stop }
    },
  }
  return {
    // The thread is the test's too: most of what it is at is no work of the daemon's.
    clock: { ...createClock(source), busy: () => 0 },
    pass: (ms) => {
      passedMs += ms
      const due = [...waits].filter(({ at }) => at <= monotonic()).sort((a, b) => a.at - b.at)
      for (const wait of due) if (waits.has(wait)) wait.end()
    },
    jump: (ms) => {
      aheadMs += ms
    },
  }
}
