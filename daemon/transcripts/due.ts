/** What becomes due when a turn ends: what was said is looked through for something to keep, and noted. Decides; stores nothing. */
import type { Clock, Timer } from '../platform/clock.ts'
import type { TurnEnd } from './ingest.ts'
import type { Cursor } from './tail.ts'
import type { Slice, Step } from './transcript-table.ts'

type Deps = {
  clock: Pick<Clock, 'now'>
  /** Sessions that were over longer ago are left alone. */
  backlogDays: number
}

export type DueAfter = (steps: readonly Step[], cursor: Cursor) => Slice['due']

/** Where the harness marks no end, it is one if nothing follows for a while. */
const SETTLING_MS = 5_000
const DAY_MS = 86_400_000
const LEFT_MS = DAY_MS

export function createDueAfter({ clock, backlogDays }: Deps): DueAfter {
  return (steps, cursor) => {
    // Not only the last: whatever a harness writes when it is left would hide the turn before.
    const end = steps.findLast((step) => step.kind === 'message' && step.ends !== undefined && step.subAgent === '')
    if (end?.kind !== 'message') return undefined
    const nowMs = clock.now()
    const { harness, id } = end.session
    const due = {
      key: `${harness} ${id}`,
      watermark: `${cursor.device}:${cursor.inode}:${cursor.generation}:${cursor.offset}`,
      input: { harness, sessionId: id, at: end.at ?? nowMs },
      ...(end.ends === 'settling' && { notBeforeMs: nowMs + SETTLING_MS }),
    }
    const ageMs = end.at === undefined ? 0 : nowMs - end.at
    const kinds = [
      { kind: 'extract', within: backlogDays * DAY_MS },
      // Notes are for whoever goes on: a session that was left gets them when somebody does.
      { kind: 'notes', within: LEFT_MS },
    ]
    const jobs = kinds.filter(({ within }) => ageMs <= within).map(({ kind }) => ({ kind, ...due }))
    return jobs.length > 0 ? { nowMs, jobs } : undefined
  }
}

/** Tells of turns that have ended: at once where the harness marks the end, else when nothing follows for a while. */

export type EndedTurn = Omit<TurnEnd, 'end' | 'at'> & { end: 'final' | 'aborted' }

type TurnEndsDeps = { clock: Clock; onTurn: (turn: EndedTurn) => void }

export type TurnEnds = {
  /** Lines of a file were read; `ended`: they, and all before them, end a turn. */
  read(path: string, ended: TurnEnd | undefined): void
  stop(): void
}

const TURN_ENDS_SETTLING_MS = 5_000
/** Old transcripts that are read for the first time are no news. */
const NEWS_MS = 10 * 60_000

export function createTurnEnds({ clock, onTurn }: TurnEndsDeps): TurnEnds {
  const settling = new Map<string, Timer>()
  return {
    read: (path, ended) => {
      settling.get(path)?.stop()
      settling.delete(path)
      if (!ended || (ended.at !== undefined && clock.now() - ended.at > NEWS_MS)) return
      const { end, at: _, ...turn } = ended
      if (end !== 'settling') return onTurn({ ...turn, end })
      const settle = () => {
        settling.delete(path)
        onTurn({ ...turn, end: 'final' })
      }
      settling.set(path, clock.after(TURN_ENDS_SETTLING_MS, settle))
    },
    stop: () => {
      for (const timer of settling.values()) timer.stop()
    },
  }
}
