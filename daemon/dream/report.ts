/** What a dream did, as it is told to whoever asks. Pure. */
import type { DreamReport } from '../../schema/dream.ts'
import type { Dream } from './dream-table.ts'
import type { Trigger } from './gates.ts'
import { MERGED_MARK } from './plan.ts'

/** What the journal has of its run. */
type Journaled = {
  isInJournal: boolean
  undone: boolean
  files: readonly { file: string; op: 'create' | 'update' | 'delete'; reason: string; diff: string }[]
}

export function dreamReport(dream: Dream, { isInJournal, undone, files }: Journaled): DreamReport {
  const { runId, trigger, beganMs, endedMs, outcome, why, facts } = dream
  const isApproved = outcome === 'review' && isInJournal
  return {
    ...facts,
    runId,
    trigger: trigger as Trigger,
    beganAt: new Date(beganMs).toISOString(),
    endedAt: new Date(endedMs).toISOString(),
    outcome: isApproved ? 'applied' : outcome,
    ...(why !== undefined && { why }),
    files: files.map(({ file, op, reason, diff }) => ({
      file,
      op: op === 'delete' && reason.includes(MERGED_MARK) ? 'merge' : op,
      diff,
    })),
    undone,
  }
}
