/** What follows when a turn ends: the jobs that become due, and the news of it. Stores nothing. */
import type { Clock, Timer } from '../platform/clock.ts'
import type { TurnEnd } from './ingest.ts'
import type { Cursor } from './tail.ts'
import type { Slice, Step } from './transcript-table.ts'

/** Where the harness marks no end, it is one if nothing follows for a while. */
const SETTLING_MS = 5_000
const DAY_MS = 86_400_000
const LEFT_MS = DAY_MS

/** Sessions that were over more than `backlogDays` ago are left alone. */
export function dueAfter(steps: readonly Step[], cursor: Cursor, nowMs: number, backlogDays: number): Slice['due'] {
  // Not only the last: whatever a harness writes when it is left would hide the turn before.
  const end = steps.findLast((step) => step.kind === 'message' && step.ends !== undefined && step.subAgent === '')
  if (end?.kind !== 'message') return undefined
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
    // Notes are for going on: a session that was left gets them with its next turn.
    { kind: 'notes', within: LEFT_MS },
  ]
  const jobs = kinds.filter(({ within }) => ageMs <= within).map(({ kind }) => ({ kind, ...due }))
  return jobs.length > 0 ? { nowMs, jobs } : undefined
}

export type EndedTurn = Omit<TurnEnd, 'end' | 'at'> & { end: 'final' | 'aborted' }

/** Old transcripts that are read for the first time are no news. */
const NEWS_MS = 10 * 60_000

/** Calls `onTurn` at once where the harness marks the end, else when nothing follows for a while. */
export function createTurnEnds(clock: Clock, onTurn: (turn: EndedTurn) => void) {
  const settling = new Map<string, Timer>()
  return {
    /** Lines of a file were read; `ended`: they, and all before them, end a turn. */
    read: (path: string, ended: TurnEnd | undefined) => {
      settling.get(path)?.stop()
      settling.delete(path)
      if (!ended || (ended.at !== undefined && clock.now() - ended.at > NEWS_MS)) return
      const { end, at: _, ...turn } = ended
      if (end !== 'settling') return onTurn({ ...turn, end })
      const settle = () => {
        settling.delete(path)
        onTurn({ ...turn, end: 'final' })
      }
      settling.set(path, clock.after(SETTLING_MS, settle))
    },
    stop: () => {
      for (const timer of settling.values()) timer.stop()
    },
  }
}
