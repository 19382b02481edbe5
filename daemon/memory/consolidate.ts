/**
 * A run that puts a whole directory in order: what is there is read, a plan is made of it, and all of it is applied, or waits
 * for a person as a whole. Reading, planning and writing happen alone with the directory. What the run has to remember of
 * itself is in the same transaction.
 */
import { MemoryError } from '../../schema/errors.ts'
import type { Clock } from '../platform/clock.ts'
import { INDEX_FILE } from './file-names.ts'
import { inFolder, type Present, readPresent } from './folder.ts'
import { type Evidence, isDream, type Journal } from './journal.ts'
import type { Review, Reviews } from './review.ts'
import { isMemoryName, scanMemories } from './scan.ts'
import { isAgent, type Redact, withoutCredentials } from './write-checks.ts'
import type { Along, By, Gate, Write } from './writer.ts'

type Seen = {
  memories: { file: string; text: string; hash: string }[]
  index: { text: string; hash: string } | undefined
  exists(file: string): boolean
  /** Whether a person has taken back the last change of it. */
  wasPutBack(file: string): boolean
}

type Planned = {
  file: string
  content: string | null
  expect: string | null
  reason: string
  /** Files that go and whose words stand here now. */
  from: readonly string[]
}

export type Consolidation<Plan> = {
  dir: string
  runId: string
  /** `losses`: why a person has to decide. */
  plan(seen: Seen): Plan & { writes: readonly Planned[]; losses: readonly string[] }
  /** Kept with the run. */
  along(plan: Plan, ended: Settled): Along
  /** Asked right before anything is changed. */
  mayWrite(): boolean
}

export type Settled = { how: 'applied' | 'nothing' } | { how: 'review'; why: string }
export type Consolidated<Plan> = { plan: Plan; settled: Settled } | 'lost'

export type Consolidating = {
  read(dir: string): Seen
  /** Everything that would refuse it; `undefined` when nothing would. */
  refusalOf(dir: string, write: Write, runId: string): Promise<string | undefined>
  consolidate<Plan>(run: Consolidation<Plan>): Promise<Consolidated<Plan>>
}

type Deps = {
  gate: Gate
  journal: Pick<Journal, 'evidence' | 'latest'>
  reviews: Reviews
  redact: Redact
  clock: Pick<Clock, 'now'>
  reviewRequired: () => boolean
}

const MOST_MEMORIES = 5_000
/** Of one memory that takes over what others rested on. */
const MOST_EVIDENCE = 20

export function createConsolidating({ gate, journal, reviews, redact, clock, reviewRequired }: Deps): Consolidating {
  const byOf = (runId: string): By => ({ actor: `agent:${runId}`, reason: 'put in order', runId })

  const writeOf = (dir: string, { file, content, expect, reason, from }: Planned): Write => {
    const evidence = from.flatMap((gone) => journal.evidence(dir, gone)).slice(0, MOST_EVIDENCE)
    return { file, content, expect, because: { reason, evidence } }
  }

  const reviewOf = async (dir: string, write: Write, { actor, runId }: By): Promise<Omit<Review, 'id'>> => {
    const before = inFolder(dir, (folder) => readPresent(folder, write.file))
    const told = await withoutCredentials(
      { actor, ...(write.because as { reason: string; evidence: Evidence[] }) },
      redact,
    )
    const clean = async (text: string | undefined) => (text === undefined ? undefined : (await redact(text)).text)
    return {
      at: clock.now(),
      dir,
      file: write.file,
      op: write.content === null ? 'delete' : before ? 'update' : 'create',
      actor: told.actor,
      reason: told.reason,
      runId,
      baseHash: before?.hash,
      before: await clean(before?.text),
      after: await clean(write.content ?? undefined),
      evidence: told.evidence,
    }
  }

  /** An older one was made from what the directory was then: only the newest can be approved. */
  const forgetOlder = (dir: string) => {
    for (const { id, dir: of, runId } of reviews.list())
      if (of === dir && runId !== undefined && isDream(runId)) reviews.remove(id)
  }

  const read = (dir: string): Seen => ({
    ...readDirectory(dir),
    wasPutBack: (file) => {
      const latest = journal.latest(dir, file)
      return latest?.op === 'undo' && !isAgent(latest.actor)
    },
  })

  return {
    read,
    refusalOf: async (dir, write, runId) => {
      const elsewhere = foreignIn(write.file)
      if (elsewhere !== undefined) return elsewhere
      try {
        await gate.check(dir, write, byOf(runId))
        return undefined
      } catch (error) {
        if (error instanceof MemoryError && error.code !== 'DEGRADED') return error.message
        throw error
      }
    },
    consolidate: ({ dir, runId, plan, along, mayWrite }) =>
      gate.alone(dir, async (apply) => {
        const planned = plan(read(dir))
        const by = byOf(runId)
        const writes = planned.writes.map((write) => writeOf(dir, write))
        const why =
          planned.losses.length > 0
            ? planned.losses.join('; ')
            : reviewRequired() && writes.length > 0
              ? 'every change waits for a person: review is required'
              : undefined
        const held = why === undefined ? [] : await Promise.all(writes.map((write) => reviewOf(dir, write, by)))
        if (!mayWrite()) return 'lost'
        if (why !== undefined) {
          const settled: Settled = { how: 'review', why }
          reviews.addAll(held, () => {
            forgetOlder(dir)
            along(planned, settled).before()
          })
          return { plan: planned, settled }
        }
        const settled: Settled = { how: writes.length > 0 ? 'applied' : 'nothing' }
        if (writes.length > 0) await apply(writes, by, along(planned, settled))
        else reviews.addAll([], along(planned, settled).before)
        return { plan: planned, settled }
      }),
  }
}

/** What is not read here is not compared either: nobody would notice what a change of it loses. */
function foreignIn(file: string): string | undefined {
  if (file.startsWith('team/')) return `${file} is the team's, and not put in order here`
  if (!isMemoryName(file)) return `${file} is no memory; a log stays as it was written`
  return undefined
}

/** Memories of the team are not among them: they have an index and rules of their own. */
function readDirectory(dir: string): Omit<Seen, 'wasPutBack'> {
  const { items } = scanMemories(dir, { limit: MOST_MEMORIES })
  return inFolder(dir, (folder) => {
    const present = (file: string): Present | undefined => {
      try {
        return readPresent(folder, file)
      } catch {
        // A link, or what is larger than any memory: there, and not ours to touch.
        return undefined
      }
    }
    const memories = items.flatMap(({ file, hash }) => {
      const found = hash === undefined || file.startsWith('team/') ? undefined : present(file)
      return found?.exact ? [{ file, text: found.text, hash: found.hash }] : []
    })
    const index = present(INDEX_FILE)
    const names = new Set(items.map(({ file }) => file))
    return {
      memories,
      index: index?.exact ? { text: index.text, hash: index.hash } : undefined,
      exists: (file) => names.has(file) || isThere(dir, file),
    }
  })
}

function isThere(dir: string, file: string): boolean {
  try {
    return inFolder(dir, (folder) => readPresent(folder, file)) !== undefined
  } catch {
    return true
  }
}
