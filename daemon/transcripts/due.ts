/** What becomes due when a turn ends: what was said is looked through for something to keep, and noted. Decides; stores nothing. */
import type { Clock } from '../platform/clock.ts'
import type { Cursor } from './cursor.ts'
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
