/** How a dream is told: while it runs, in its report, in the notice, and to its job. */
import type { DreamFacts, DreamLive, DreamOutcome, DreamReport, DreamTurn, Spent } from '../../schema/dream.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { NotDone } from '../agent/agent.ts'
import type { Core } from '../core.ts'
import type { Settled } from '../memory/consolidate.ts'
import { message } from '../platform/files.ts'
import type { Acquired } from './dream-lock.ts'
import type { DreamRecord } from './dream-table.ts'
import type { Trigger } from './gates.ts'
import { type Counts, MERGED_MARK } from './plan.ts'

type Journaled = {
  isInJournal: boolean
  undone: boolean
  files: readonly { file: string; op: 'create' | 'update' | 'delete'; reason: string; diff: string }[]
}

export function dreamReport(dream: DreamRecord, { isInJournal, undone, files }: Journaled): DreamReport {
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

/** `notDone`: for the job. `surprise`: thrown once everything is restored. */
export type Ended = { outcome: DreamOutcome; why?: string; isOnRecord?: true; notDone?: NotDone; surprise?: unknown }

const DEAR_USD = 0.1
const CHANGED = 'a memory was changed meanwhile'

/** Where the disk is the cause, the dream is tried again once there is room. */
export function endedBy(error: unknown, isDiskError: (error: unknown) => boolean): Ended {
  if (isDiskError(error)) return { outcome: 'failed', why: message(error), notDone: { postponed: message(error) } }
  if (!(error instanceof MemoryError))
    return { outcome: 'failed', why: 'something went wrong; the log has it', surprise: error }
  const { code } = error
  // Only the message of DEGRADED names no memory.
  const why = code === 'CONFLICT' ? CHANGED : code === 'DEGRADED' ? error.message : `${code}: it was refused`
  return { outcome: 'failed', why, notDone: code === 'CONFLICT' ? { failed: why } : { rejected: why } }
}

/** An expensive failure is not retried by the job: the gates decide when. */
export function notAtOnce(notDone: NotDone, { spent }: Partial<DreamFacts>): NotDone {
  return 'failed' in notDone && (spent?.usd ?? 0) >= DEAR_USD ? { rejected: notDone.failed } : notDone
}

export function whyNotAcquired(acquired: Exclude<Acquired, { lock: unknown }>): string {
  if ('refused' in acquired) return acquired.refused
  return acquired.heldBy === 'ours' ? 'another dream is at it' : `process ${acquired.heldBy.pid} holds the lock`
}

export function whyDenied(denials: number): string | undefined {
  return denials === 0 ? undefined : `the model asked ${denials} times for what it may not do`
}

/** Names nothing: a notice stays when a memory is purged. */
export function noticeOf(settled: Settled, counts: Counts, { usd, calls }: Spent): string {
  const { created, merged, updated, removed, index } = counts
  const numbers = Object.entries({ created, merged, updated, removed })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`)
  const what = numbers.length > 0 ? numbers.join(', ') : `the index has ${index.after.lines} lines now`
  const cost = calls === 0 ? '' : usd === undefined ? `, ${calls} calls of a model` : `, for $${usd.toFixed(4)}`
  if (settled.how === 'review') return `dreamed, and a person has to approve it: ${what}${cost}; memoryd review`
  return `dreamed: ${what}${cost}; memoryd dream --last shows it, and it can be undone`
}

const KEEP_TURNS = 30
const TEXT_CHARS = 2_000

export const NOTHING_SPENT: Spent = { calls: 0, input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }

export function createDreamProgress({ events, clock }: Core) {
  const dreams = new Map<string, DreamLive>()
  return {
    live: (dir: string) => dreams.get(dir),
    begin: (dir: string, { project, jobId }: { project: string; jobId: string }) => {
      let dream: DreamLive = {
        jobId,
        beganAt: new Date(clock.now()).toISOString(),
        state: 'running',
        phase: 'starting',
        sessions: 0,
        turns: [],
        turnCount: 0,
        files: [],
        spent: NOTHING_SPENT,
      }
      const change = (news: Partial<DreamLive>, turn?: DreamTurn) => {
        dream = { ...dream, ...news }
        dreams.set(dir, dream)
        const { state, phase, spent, why } = dream
        const more = { ...(turn && { turn }), ...(why !== undefined && { why }) }
        events.publish({ type: 'dream', project, jobId, state, phase, spent, ...more })
      }
      change({})
      return {
        sessions: (sessions: number) => change({ sessions }),
        turn: (told: DreamTurn, spent: Spent) => {
          const turn = { ...told, text: told.text.slice(0, TEXT_CHARS) }
          const isChange = turn.files.length > 0 || turn.tools.some((tool) => tool === 'Edit' || tool === 'Write')
          const phase = isChange ? 'updating' : dream.phase
          const turns = [...dream.turns, turn].slice(-KEEP_TURNS)
          change({ phase, spent, turns, turnCount: dream.turnCount + 1, files: turn.files }, turn)
        },
        updating: () => {
          if (dream.phase !== 'updating') change({ phase: 'updating' })
        },
        end: (state: Exclude<DreamLive['state'], 'running'>, why?: string) =>
          change({ state, ...(why !== undefined && { why }) }),
      }
    },
  }
}
