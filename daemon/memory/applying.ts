/**
 * The writes of a run of our own: what is refused is left out and recorded, the rest is applied as a whole, or waits for
 * review as a whole. What the run has to remember of itself is in the same transaction.
 */
import type { Clock } from '../platform/clock.ts'
import { inFolder, readPresent } from './folder.ts'
import type { Along, Apply, Gate } from './gate.ts'
import { type Redact, withoutCredentials } from './judge.ts'
import { isRefusal } from './refusal.ts'
import type { Reviews } from './reviews.ts'
import type { By, Write } from './write.ts'

export type RunWrite = Write & { because: NonNullable<Write['because']> }

export type Applied = { saved: string[]; waiting: number } | 'lost'

type Deps = { gate: Gate; reviews: Reviews; redact: Redact; clock: Clock; reviewRequired: () => boolean }

export type Applying = {
  /** One that is refused, for it was rejected say, keeps the others from nothing. */
  admitted(dir: string, write: RunWrite, by: By): Promise<boolean>
  /** For whoever is alone with the directory. */
  applyAll(
    dir: string,
    writes: readonly RunWrite[],
    by: By,
    at: { apply: Apply; along: (files: string[]) => Along; mayWrite: () => boolean },
  ): Promise<Applied>
}

export function createApplying({ gate, reviews, redact, clock, reviewRequired }: Deps): Applying {
  const review = async (dir: string, { file, content, expect, because }: RunWrite, { actor, runId }: By) => {
    const told = await withoutCredentials({ actor, ...because }, redact)
    const before = typeof expect === 'string' ? inFolder(dir, (folder) => readPresent(folder, file)) : undefined
    return {
      at: clock.now(),
      dir,
      file,
      op: content === null ? ('delete' as const) : before ? ('update' as const) : ('create' as const),
      actor: told.actor,
      reason: told.reason,
      runId,
      baseHash: before?.hash,
      before: before && (await redact(before.text)).text,
      after: content === null ? undefined : (await redact(content)).text,
      evidence: told.evidence ?? [],
    }
  }

  return {
    admitted: async (dir, write, by) => {
      try {
        await gate.admit(dir, write, by)
        return true
      } catch (error) {
        if (isRefusal(error)) return false
        throw error
      }
    },
    applyAll: async (dir, writes, by, { apply, along, mayWrite }) => {
      const held = reviewRequired() ? await Promise.all(writes.map((write) => review(dir, write, by))) : []
      if (!mayWrite()) return 'lost'
      if (writes.length === 0 || held.length > 0) reviews.addAll(held, along([]).before)
      const saved = held.length > 0 ? [] : writes.map(({ file }) => file)
      if (saved.length > 0) await apply(writes, by, along(saved))
      return { saved, waiting: held.length }
    },
  }
}
