/** How much is read before it is written: as much as is written in the time that others may have to wait. Pure. */

export type Pace = {
  batchBytes(): number
  /** How long the last transaction took, how much of that was work, and of how much. */
  took(ms: number, workedMs: number, bytes: number): void
}

const LEAST_BYTES = 64_000
const MOST_BYTES = 1_024_000
const START_BYTES = 256_000
/** Nobody else may have to wait longer than 20 ms for the lock; the fewer transactions, the less each message costs. */
const AIM_MS = 15
/** What others on a busy machine or disk add would be there for less as well: so much of the time may be theirs. */
const OTHERS = 3 / 4
/** For the same reason the quickest of the last few counts. */
const LAST = 8

export function createPace(): Pace {
  const rates: number[] = []
  let bytes = START_BYTES
  return {
    batchBytes: () => bytes,
    took: (ms, workedMs, written) => {
      if (written < LEAST_BYTES / 2) return
      rates.push(Math.max(Math.min(workedMs, ms), ms * (1 - OTHERS)) / written)
      if (rates.length > LAST) rates.shift()
      const aim = AIM_MS / Math.min(...rates)
      bytes = Math.round(Math.min(MOST_BYTES, Math.max(LEAST_BYTES, aim), bytes * 1.5))
    },
  }
}
