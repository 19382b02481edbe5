/** Keeps answers that cost a look at many files, for as long as nothing that they were made from has stirred. */
import type { Clock } from '../platform/clock.ts'
import type { Vigil, Vigils, Watched } from '../platform/vigil.ts'

export type Made<T> = { answer: T; from: readonly Watched[] }

export type Answers = {
  /** `make` looks afresh; it runs unless the same was asked before and nothing has changed since. */
  answer<T extends object>(key: string, make: () => Made<T>): Promise<T>
  /** Something that no file tells has changed: a switch, a setting. */
  forgetAll(): void
}

type Kept = { from: readonly Watched[]; vigil?: Vigil; answer?: object; madeMs: number }

const MOST_KEPT = 64
/** What the kernel does not tell (a write through a memory map, a folder far above that was renamed) shows after this. */
const LONGEST_TRUST_MS = 1_000

export function createAnswers({ vigils, clock }: { vigils: Vigils; clock: Pick<Clock, 'elapsed'> }): Answers {
  const kept = new Map<string, Kept>()

  const drop = (key: string): void => {
    kept.get(key)?.vigil?.end()
    kept.delete(key)
  }
  const keep = (key: string, entry: Kept): void => {
    kept.set(key, entry)
    // The map is in order of use.
    if (kept.size > MOST_KEPT) drop(kept.keys().next().value as string)
  }

  return {
    answer: async <T extends object>(key: string, make: () => Made<T>): Promise<T> => {
      await vigils.settled()
      const known = kept.get(key)
      const nowMs = clock.elapsed()
      const still = known?.vigil?.quiet() ? known.vigil : undefined
      if (still && known?.answer && nowMs - known.madeMs < LONGEST_TRUST_MS) return known.answer as T
      // Who asks once needs no vigil. Who asks again gets one, begun before the look: nothing changes unseen in between.
      const vigil = still ?? (known && vigils.keep(known.from))
      if (known?.vigil !== vigil) known?.vigil?.end()
      kept.delete(key)
      try {
        const { answer, from } = make()
        if (vigil && known && samePlaces(from, known.from)) {
          keep(key, { from, vigil, answer: Object.freeze(answer), madeMs: nowMs })
          return answer
        }
        keep(key, { from, madeMs: nowMs })
        vigil?.end()
        return answer
      } catch (error) {
        vigil?.end()
        throw error
      }
    },
    forgetAll: () => {
      for (const key of [...kept.keys()]) drop(key)
    },
  }
}

function samePlaces(a: readonly Watched[], b: readonly Watched[]): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}
