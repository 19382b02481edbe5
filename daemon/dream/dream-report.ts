/** What a dream did, as it is told to whoever asks. Pure. */
import type {
  DreamEvent,
  DreamFacts,
  DreamLive,
  DreamOutcome,
  DreamReport,
  DreamTurn,
  Spent,
} from '../../schema/dream.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Clock } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import type { Acquired, HeldLock } from './dream-lock.ts'
import type { Dream } from './dream-table.ts'
import type { Trigger } from './gates.ts'
import { type Counts, MERGED_MARK } from './plan.ts'

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

/** How a dream ended: whether it is tried again, and in which words it is told. Pure. */

export type NotDone =
  | { retry: string; afterMs?: number | undefined }
  | { wait: string; untilMs?: number | undefined }
  | { refuse: string }

/** What became of a plan. */
export type Settled = { how: 'applied' | 'nothing' } | { how: 'review'; why: string }

export type Ended = {
  outcome: DreamOutcome
  why?: string
  facts: Partial<DreamFacts>
  isOnRecord?: true
  not?: NotDone
  /** Thrown on, once everything is back in its place. */
  surprise?: unknown
}

const DEAR_USD = 0.1
const CHANGED = 'a memory was changed by somebody else meanwhile'

/** What went wrong is a reason too; what only the disk is to blame for is tried again when it can be. */
export function endedBy(error: unknown, blamesDisk: (error: unknown) => boolean): Ended {
  if (blamesDisk(error)) return { outcome: 'failed', why: message(error), facts: {}, not: { wait: message(error) } }
  if (!(error instanceof MemoryError))
    return { outcome: 'failed', why: 'something went wrong; the log has it', facts: {}, surprise: error }
  const { code } = error
  // Where the directory itself is the trouble, its words name nothing else.
  const why = code === 'CONFLICT' ? CHANGED : code === 'DEGRADED' ? error.message : `${code}: it was refused`
  return { outcome: 'failed', why, facts: {}, not: code === 'CONFLICT' ? { retry: why } : { refuse: why } }
}

/** What has cost that much is not paid for again within the minute: the gates know when. */
export function notAtOnce(not: NotDone, { spent }: Partial<DreamFacts>): NotDone {
  return 'retry' in not && (spent?.usd ?? 0) >= DEAR_USD ? { refuse: not.retry } : not
}

export function whyNotAcquired(acquired: Exclude<Acquired, { lock: HeldLock }>): string {
  if ('refused' in acquired) return acquired.refused
  return acquired.heldBy === 'ours' ? 'another dream is at it' : `process ${acquired.heldBy.pid} holds the lock`
}

/** What it was not allowed is a reason to look at it, whatever came of the rest. */
export function whyDenied(denials: number): string | undefined {
  return denials === 0 ? undefined : `the model asked ${denials} times for what it may not do`
}

/** Names nothing: a notice stays when a memory is purged. */
export function noticeOf(
  settled: Settled,
  { created, merged, updated, removed, index }: Counts,
  { usd, calls }: Spent,
): string {
  const numbers = Object.entries({ created, merged, updated, removed })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`)
  const what = numbers.length > 0 ? numbers.join(', ') : `the index has ${index.after.lines} lines now`
  const cost = calls === 0 ? '' : usd === undefined ? `, ${calls} calls of a model` : `, for $${usd.toFixed(4)}`
  if (settled.how === 'review') return `dreamed, and a person has to approve it: ${what}${cost}; memoryd review`
  return `dreamed: ${what}${cost}; memoryd dream --last shows it, and it can be undone`
}

/** Dreams as they go on, for whoever looks: in memory only, and told as they change. Keeps the last turns of each. */

const KEEP_TURNS = 30
/** Of what a model says in one turn. */
const TEXT_CHARS = 2_000

type Deps = { publish: (event: Omit<DreamEvent, 'at'>) => void; clock: Pick<Clock, 'now'> }

export type Watched = {
  /** How many sessions it is about. */
  about(sessions: number): void
  turn(turn: DreamTurn, spent: Spent): void
  /** The first change is made. */
  updating(): void
  end(state: Exclude<DreamLive['state'], 'running'>, why?: string): void
}

export type DreamProgress = {
  begin(dir: string, of: { project: string; jobId: string }): Watched
  /** The one that goes on, or the last one of this process. */
  live(dir: string): DreamLive | undefined
  running(dir: string): DreamLive | undefined
}

export const NOTHING_SPENT: Spent = { calls: 0, input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }

export function createDreamProgress({ publish, clock }: Deps): DreamProgress {
  const dreams = new Map<string, DreamLive>()
  const running = (dir: string) => {
    const live = dreams.get(dir)
    return live?.state === 'running' ? live : undefined
  }
  return {
    live: (dir) => dreams.get(dir),
    running,
    begin: (dir, { project, jobId }) => {
      let live: DreamLive = {
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
        live = { ...live, ...news }
        dreams.set(dir, live)
        const { state, phase, spent, why } = live
        const more = { ...(turn && { turn }), ...(why !== undefined && { why }) }
        publish({ type: 'dream', project, jobId, state, phase, spent, ...more })
      }
      change({})
      return {
        about: (sessions) => change({ sessions }),
        turn: (told, spent) => {
          const turn = { ...told, text: told.text.slice(0, TEXT_CHARS) }
          const changes = turn.files.length > 0 || turn.tools.some((tool) => tool === 'Edit' || tool === 'Write')
          const phase = changes ? 'updating' : live.phase
          const turns = [...live.turns, turn].slice(-KEEP_TURNS)
          change({ phase, spent, turns, turnCount: live.turnCount + 1, files: turn.files }, turn)
        },
        updating: () => {
          if (live.phase !== 'updating') change({ phase: 'updating' })
        },
        end: (state, why) => change({ state, ...(why !== undefined && { why }) }),
      }
    },
  }
}
