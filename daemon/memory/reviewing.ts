/** A person decides about a change that waits: approved it goes through the gate, rejected it does not come back. */
import type { Decided } from '../../schema/change.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Clock } from '../platform/clock.ts'
import type { Review, Reviews } from '../store/reviews.ts'
import type { Tombstones } from '../store/tombstones.ts'
import type { Gate } from './gate.ts'
import { rejectedValues } from './judge.ts'
import { shorten } from './one-line.ts'

type Deps = { reviews: Reviews; gate: Gate; tombstones: Tombstones; clock: Clock }

export type Reviewing = {
  approve(id: number): Promise<Decided>
  reject(id: number): Decided
}

export function createReviewing({ reviews, gate, tombstones, clock }: Deps): Reviewing {
  const need = (id: number): Review => {
    const review = reviews.get(id)
    if (!review) throw new MemoryError('NOT_FOUND', `there is no change ${id} that waits for review`)
    return review
  }
  return {
    approve: async (id) => {
      const { dir, file, after, baseHash, actor, reason, runId, evidence } = need(id)
      const by = { actor, reason: `${reason} (approved)`, runId, evidence }
      const [done] = await gate.apply(dir, [{ file, content: after ?? null, expect: baseHash ?? null }], by)
      reviews.remove(id)
      return { changeId: String(done?.id) }
    },
    reject: (id) => {
      const { dir, file, before = '', after } = need(id)
      reviews.remove(id)
      if (after === undefined) return {}
      // Only what the change would have brought in: what was there before it was never in question.
      const old = new Set(rejectedValues(file, before))
      const brought = rejectedValues(file, after).filter((value) => !old.has(value))
      if (brought.length === 0) return {}
      const excerpt = shorten(after.replace(/\s+/g, ' '), 200)
      return { tombstoneId: String(tombstones.add({ at: clock.now(), dir, file, excerpt }, brought)) }
    },
  }
}
