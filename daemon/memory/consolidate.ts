/** Puts a whole directory in order: a plan is made of it and written, or waits for review, as a whole; no other change comes between. */
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import { INDEX_FILE } from './file-names.ts'
import { inFolder, type MemoryFile, readMemoryFile } from './folder.ts'
import { isDream, type Journal } from './journal.ts'
import type { Reviews } from './review.ts'
import { isMemoryName, scanMemories } from './scan.ts'
import { type Author, isAgent, type Write } from './write-checks.ts'
import type { Writer } from './writer.ts'

type Directory = {
  memories: { file: string; text: string; hash: string }[]
  index: { text: string; hash: string } | undefined
  /** Also of files that are too large or no text, which are not among the memories. */
  exists(file: string): boolean
}

/** `wasPutBack`: whether a person has taken back the last change of a file. */
export type SeenDirectory = Directory & { wasPutBack(file: string): boolean }

export type PlannedWrite = {
  file: string
  content: string | null
  expect: string | null
  reason: string
  /** Deleted files whose text is in this one now. */
  from: readonly string[]
}

export type Consolidation<Plan> = {
  dir: string
  runId: string
  /** `losses`: why a person has to decide. */
  plan(seen: SeenDirectory): Plan & { writes: readonly PlannedWrite[]; losses: readonly string[] }
  inTransaction(plan: Plan, ended: Settled): () => void
  mayWrite(): boolean
}

export type Settled = { how: 'applied' | 'nothing' } | { how: 'review'; why: string }
export type Consolidated<Plan> = { plan: Plan; settled: Settled } | 'lost'

const MOST_MEMORIES = 5_000
/** Of one memory that takes over the evidence of others. */
const MOST_EVIDENCE = 20

export function createConsolidation(core: Core, writer: Writer, journal: Journal, reviews: Reviews) {
  const authorOf = (runId: string): Author => ({ actor: `agent:${runId}`, reason: 'put in order', runId })

  const writeOf = (dir: string, { file, content, expect, reason, from }: PlannedWrite): Write => {
    const evidence = from.flatMap((gone) => journal.evidence(dir, gone)).slice(0, MOST_EVIDENCE)
    return { file, content, expect, because: { reason, evidence } }
  }

  /** An older dream was planned for an older state: only the newest can be approved. */
  const forgetOlder = (dir: string) => {
    for (const { id, runId } of reviews.list(dir)) if (runId !== undefined && isDream(runId)) reviews.remove(id)
  }

  const whyReview = (losses: readonly string[]): string | undefined => {
    if (losses.length > 0) return losses.join('; ')
    const { review } = core.settings.current()
    return review === 'required' ? 'every change waits for a person: review is required' : undefined
  }

  const read = (dir: string): SeenDirectory => ({
    ...readDirectory(dir),
    wasPutBack: (file) => {
      const latest = journal.latest(dir, file)
      return latest?.op === 'undo' && !isAgent(latest.actor)
    },
  })

  return {
    read,
    refusalOf: async (dir: string, write: Write, runId: string): Promise<string | undefined> => {
      const elsewhere = foreignIn(write.file)
      if (elsewhere !== undefined) return elsewhere
      try {
        await writer.check(dir, write, authorOf(runId))
        return undefined
      } catch (error) {
        if (error instanceof MemoryError && error.code !== 'DEGRADED') return error.message
        throw error
      }
    },
    consolidate: <Plan>(work: Consolidation<Plan>): Promise<Consolidated<Plan>> => {
      const { dir, runId, inTransaction } = work
      return writer.change<Consolidated<Plan>>(dir, authorOf(runId), async (batch) => {
        const planned = work.plan(read(dir))
        for (const write of planned.writes) await batch.addRecorded(writeOf(dir, write))
        const isEmpty = planned.writes.length === 0
        const why = isEmpty && planned.losses.length === 0 ? undefined : whyReview(planned.losses)
        if (!work.mayWrite()) return 'lost'
        const settled: Settled = why !== undefined ? { how: 'review', why } : { how: isEmpty ? 'nothing' : 'applied' }
        if (settled.how === 'applied') await batch.commit(() => inTransaction(planned, settled))
        else
          batch.hold(() => {
            if (settled.how === 'review') forgetOlder(dir)
            inTransaction(planned, settled)
          })
        return { plan: planned, settled }
      })
    },
  }
}

/** A dream does not read these files, and so would not notice what a change of them loses. */
function foreignIn(file: string): string | undefined {
  if (file.startsWith('team/')) return `${file} is the team's, and not put in order here`
  if (!isMemoryName(file)) return `${file} is no memory; a log stays as it was written`
  return undefined
}

/** Without the memories of the team, which have an index and rules of their own. */
export function readDirectory(dir: string): Directory {
  const { items } = scanMemories(dir, { limit: MOST_MEMORIES })
  return inFolder(dir, (folder) => {
    const present = (file: string): MemoryFile | undefined => {
      try {
        return folder.read(file)
      } catch {
        // A link, or a file larger than any memory, is left alone.
        return undefined
      }
    }
    const memories = items.flatMap(({ file, hash }) => {
      const found = hash === undefined || file.startsWith('team/') ? undefined : present(file)
      return found?.isText ? [{ file, text: found.text, hash: found.hash }] : []
    })
    const index = present(INDEX_FILE)
    const names = new Set(items.map(({ file }) => file))
    return {
      memories,
      index: index?.isText ? { text: index.text, hash: index.hash } : undefined,
      exists: (file) => names.has(file) || isThere(dir, file),
    }
  })
}

function isThere(dir: string, file: string): boolean {
  try {
    return readMemoryFile(dir, file) !== undefined
  } catch {
    return true
  }
}
