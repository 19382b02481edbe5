/** Time for the daemon, with timers that survive suspend and clock jumps. No other file reads a clock or sets a timer. */

export type Clock = {
  /** Wall time in ms; may jump either way. For stamps, never for durations. */
  now(): number
  /** Elapsed ms; never jumps, but may stand still while the machine sleeps. For durations. */
  elapsed(): number
  /** Ms of the processor that this process has had, all of its threads together. */
  worked(): number
  /** Ms for which this thread has not waited for anything. */
  busy(): number
  /** Runs `task` each time `everyMs` have passed; once, not in a burst, after a sleep. Never overlaps itself. */
  every(everyMs: number, task: Task, onError: OnError): Timer
  /** Runs `task` once. When it fails, that is told by `onFailure`, and it is run again after a while until it is stopped. */
  after(delayMs: number, task: Task): Timer
  /** Takes the errors of `after`. Without it they end the process. */
  onFailure(handle: OnError): void
  /** A short wait that keeps the process alive, unlike the timers. */
  delay(ms: number): Promise<void>
}

type Task = () => unknown
type OnError = (error: unknown) => void

export type Timer = { stop(): void }

export type TimeSource = { wall(): number; monotonic(): number; wait(ms: number, wake: () => void): Timer }

/** A sleeping machine freezes Node's timers: after wake-up a task is at most this late. */
const LONGEST_WAIT_MS = 30_000
const RETRY_MS = 5_000

const systemTime: TimeSource = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  wait: (ms, wake) => {
    const handle = setTimeout(wake, ms)
    // What keeps the daemon alive is its socket, never a timer.
    handle.unref()
    return { stop: () => clearTimeout(handle) }
  },
}

export function createClock(source: TimeSource = systemTime): Clock {
  const moment = () => ({ wall: source.wall(), monotonic: source.monotonic() })

  const wait = (delayMs: number, task: () => void): Timer => {
    const start = moment()
    let pending: Timer
    const look = () => {
      const left = remainingMs(delayMs, start, moment())
      if (left <= 0) return task()
      pending = source.wait(Math.min(left, LONGEST_WAIT_MS), look)
    }
    pending = source.wait(Math.min(Math.max(delayMs, 0), LONGEST_WAIT_MS), look)
    return { stop: () => pending.stop() }
  }

  const run = (delayMs: number, task: Task, onError: OnError, nextMs: { well?: number; failed: number }): Timer => {
    let stopped = false
    let pending: Timer
    const again = (ms: number | undefined) => {
      if (!stopped && ms !== undefined) pending = wait(ms, attempt)
    }
    const fail = (error: unknown) => {
      onError(error)
      again(nextMs.failed)
    }
    const attempt = () => {
      try {
        const done = task()
        if (done instanceof Promise) void done.then(() => again(nextMs.well)).catch(fail)
        else again(nextMs.well)
      } catch (error) {
        fail(error)
      }
    }
    again(delayMs)
    return {
      stop: () => {
        stopped = true
        pending.stop()
      },
    }
  }

  let failed: OnError = (error) => {
    throw error
  }
  const after: Clock['after'] = (ms, task) => run(ms, task, (error) => failed(error), { failed: RETRY_MS })
  const every: Clock['every'] = (ms, task, onError) => run(ms, task, onError, { well: ms, failed: ms })
  const onFailure: Clock['onFailure'] = (handle) => {
    failed = handle
  }

  const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

  const worked = () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  }
  const busy = () => performance.eventLoopUtilization().active
  return { now: source.wall, elapsed: source.monotonic, worked, busy, every, after, delay, onFailure }
}

type Moment = { wall: number; monotonic: number }

/** The monotonic clock misses a suspend; a wall clock set forward makes a timer fire early, once. */
export function remainingMs(delayMs: number, start: Moment, now: Moment): number {
  return delayMs - Math.max(now.monotonic - start.monotonic, now.wall - start.wall)
}
