/** What a model finds worth keeping in a part of a session, saved as a whole. Puts the run together; `model/` decides about it. */
import type { Clock } from '../platform/clock.ts'
import { localStamp } from './local-time.ts'
import type { Draft, Extracting, Ground, Told } from './model/run.ts'
import type { Along, Counts, Kept, NotDone, Slice } from './way.ts'

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
  isLogging: () => boolean
  clock: Pick<Clock, 'now'>
}

export function createByModel({ memoriesAt, tell, fork, isLogging, clock }: Deps) {
  return async (slice: Slice): Promise<Kept> => {
    const { key, cwd, part, along, stillOurs, wroteItself } = slice
    if (!part.some(({ by }) => by === 'person')) return { skip: 'nobody said anything in it' }
    if (await wroteItself()) return { skip: 'the agent wrote memories itself' }
    const { extracting } = await import('./model/run.ts')
    const memories = memoriesAt(cwd)
    const { prefix, names, messages } = await tell(slice)
    const day = localStamp(part.at(-1)?.at ?? clock.now()).slice(0, 10)
    const log = isLogging() ? memories.logFile(day) : undefined
    const run = extracting({ ...memories, log }, { sessionId: key.sessionId, messages, names, news: part })
    let counts: Counts | 'lost' | undefined
    const apply = async (drafts: readonly Draft[]) => {
      const done = await memories.apply(run.finish(drafts), { along, mayWrite: stillOurs })
      counts =
        done === 'lost' ? done : { saved: done.saved.length, waiting: done.waiting, known: 0, refused: done.refused }
    }
    const ended = await fork({ ...run, prefix, memories, slice, apply })
    if ('notDone' in ended) return ended
    if (counts === 'lost') return { notDone: { retry: 'somebody else is at it' } }
    if (!counts) return { skip: 'nothing to save' }
    return { runId: memories.runId, counts, ...(ended.truncated && { truncated: true as const }) }
  }
}
