/**
 * How much is left to read of files that are not in the queue: those for which there was no room yet, and those that could
 * not be saved. Kept by numbers, not by names: after a long absence there may be a hundred thousand.
 */
import { createNumberMap } from '../platform/number-map.ts'
import { numberOf } from './sweep.ts'

export type Lag = {
  owe(path: string, bytes: number): void
  /** It is in the queue, read, or gone. */
  drop(path: string): void
  bytes(): number
  /** Everything is looked at from now on. */
  begin(): void
  /** Everything was looked at: what did not come again is not there any more. */
  end(): void
  clear(): void
}

/** After so many they are counted from the beginning: nothing outlives a round that came to its end. */
const ROUNDS = 16

export function createLag(): Lag {
  /** The bytes and the round in one number. */
  const owed = createNumberMap()
  let total = 0
  let round = 0
  const bytesIn = (entry: number) => Math.floor(entry / ROUNDS)
  const drop = (key: number) => {
    total -= bytesIn(owed.get(key) ?? 0)
    owed.delete(key)
  }
  return {
    owe: (path, bytes) => {
      const key = numberOf(path)
      drop(key)
      owed.set(key, bytes * ROUNDS + round)
      total += bytes
    },
    drop: (path) => drop(numberOf(path)),
    bytes: () => total,
    begin: () => {
      round = (round + 1) % ROUNDS
    },
    end: () => {
      owed.keep((entry) => {
        if (entry % ROUNDS === round) return true
        total -= bytesIn(entry)
        return false
      })
    },
    clear: () => {
      owed.clear()
      total = 0
    },
  }
}
