/** What a model finds worth keeping in a part of a session, saved as a whole. Puts the run together; `model/` decides about it. */
import type { Clock } from '../platform/clock.ts'
import { byHand } from './by-rules.ts'
import type { Along, Counts, Kept, NotDone, Slice } from './extraction.ts'
import type { Draft, Extracting, Ground, Told } from './model/extraction-run.ts'
import { localStamp, timesOf } from './session-words.ts'

type Applied = { saved: string[]; waiting: number; refused: number } | 'lost'

/** The memories of a project, for one run. */
export type Memories = Omit<Ground, 'log'> & {
  runId: string
  root: string
  logFile: (day: string) => string
  apply(drafts: readonly Draft[], at: { along: (files: string[]) => Along; mayWrite: () => boolean }): Promise<Applied>
}

type Deps = {
  memoriesAt: (cwd: string) => Memories
  /** What the jobs of a session share, up to a message. */
  tell: (slice: Slice) => Promise<{ prefix: unknown; names: ReadonlyMap<string, string>; messages: readonly Told[] }>
  fork: (
    task: Extracting & {
      prefix: unknown
      memories: Memories
      slice: Slice
      apply: (drafts: readonly Draft[]) => Promise<void>
    },
  ) => Promise<{ truncated: boolean } | { notDone: NotDone }>
  /** For what a model cannot be told. */
  byRules: (slice: Slice) => Promise<Kept>
  isLogging: () => boolean
  clock: Pick<Clock, 'now'>
}

export function createByModel({ memoriesAt, tell, fork, byRules, isLogging, clock }: Deps) {
  const attempt = async (slice: Slice): Promise<{ kept: Kept; was: 'told' | 'handed-over' }> => {
    const { key, cwd, part, along, mayWrite } = slice
    const { extracting } = await import('./model/extraction-run.ts')
    const { prefix, names, messages } = await tell(slice)
    if (isUntold(part, names, messages)) return { kept: byHand(await byRules(slice)), was: 'told' }
    const memories = memoriesAt(cwd)
    const nowMs = clock.now()
    const last = part.at(-1)
    const day = localStamp(last ? timesOf(part, nowMs)(last) : nowMs).slice(0, 10)
    const log = isLogging() ? memories.logFile(day) : undefined
    const run = extracting({ ...memories, log }, { sessionId: key.sessionId, messages, names, news: part, nowMs })
    let counts: Counts | 'lost' | undefined
    const apply = async (drafts: readonly Draft[]) => {
      const done = await memories.apply(await run.finish(drafts), { along, mayWrite })
      counts =
        done === 'lost' ? done : { saved: done.saved.length, waiting: done.waiting, known: 0, refused: done.refused }
    }
    const ended = await fork({ ...run, prefix, memories, slice, apply })
    const was = names.size === 0 ? 'handed-over' : 'told'
    if ('notDone' in ended) return { kept: ended, was }
    if (counts === 'lost') return { kept: { notDone: { retry: 'somebody else is at it' } }, was }
    if (!counts) return { kept: { skip: 'nothing to save' }, was }
    return { kept: { runId: memories.runId, counts, ...(ended.truncated && { truncated: true as const }) }, was }
  }

  return async (slice: Slice): Promise<Kept> => {
    if (!slice.part.some(({ by }) => by === 'person')) return { skip: 'nobody said anything in it' }
    if (await slice.wroteItself()) return { skip: 'the agent wrote memories itself' }
    const { kept, was } = await attempt(slice)
    // What a harness handed over is dropped where a server does not take it: then the session is told.
    const isDropped = was === 'handed-over' && 'notDone' in kept && 'refuse' in kept.notDone
    return isDropped && !slice.signal.aborted ? (await attempt(slice)).kept : kept
  }
}

/** Whether a person said something new that the model has not been told: it cannot be asked about that. */
function isUntold(part: Slice['part'], names: ReadonlyMap<string, string>, messages: readonly Told[]): boolean {
  if (names.size === 0 && messages.length > 0) return false
  const told = new Set(names.values())
  const silent = new Set(messages.filter(({ text }) => text.trim() === '').map(({ id }) => id))
  return part.some(({ by, uid }) => by === 'person' && !told.has(uid) && !silent.has(uid))
}
