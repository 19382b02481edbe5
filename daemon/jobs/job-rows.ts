/** One job as the database holds it and as the program sees it. Prepares nothing, decides nothing. */
import type { JobState } from '../../schema/job.ts'

/**
 * What became due. `key`: what must not overlap (a session, a memory directory). `dir`: the memory directory it may change.
 * `watermark`: how far its input goes; only ever compared for being the same, the one that arrives later is the newer.
 */
export type Due = {
  kind: string
  key: string
  dir?: string | undefined
  watermark: string
  input: unknown
  notBeforeMs?: number | undefined
}

export type Job = {
  id: string
  kind: string
  key: string
  dir: string | undefined
  state: JobState
  watermark: string
  input: unknown
  createdMs: number
  startedMs: number | undefined
  endedMs: number | undefined
  /** When it may run, if it is still to run; infinite when it waits for something that has no time. */
  readyMs: number
  attempts: number
  failures: number
  error: string | undefined
  result: unknown
  runId: string | undefined
  truncated: boolean
  /** More became due while it ran: another run follows. */
  trailing: boolean
  followedBy: string | undefined
}

/** For waiting without an end: the last moment a date can name. */
export const NEVER_MS = 8_640_000_000_000_000

export type JobRow = {
  seq: number
  id: string
  kind: string
  key: string
  dir: string | null
  state: JobState
  watermark: string
  input: string
  created_at: number
  started_at: number | null
  ended_at: number | null
  not_before: number
  retry_at: number
  attempts: number
  failures: number
  losses: number
  owner: string | null
  error: string | null
  result: string | null
  run: string | null
  truncated: number
  trailing: string | null
  followed_by: string | null
}

export function jobOf(row: JobRow): Job {
  const ready = Math.max(row.not_before, row.retry_at)
  return {
    id: row.id,
    kind: row.kind,
    key: row.key,
    dir: row.dir ?? undefined,
    state: row.state,
    watermark: row.watermark,
    input: JSON.parse(row.input),
    createdMs: row.created_at,
    startedMs: row.started_at ?? undefined,
    endedMs: row.ended_at ?? undefined,
    readyMs: ready >= NEVER_MS ? Number.POSITIVE_INFINITY : ready,
    attempts: row.attempts,
    failures: row.failures,
    error: row.error ?? undefined,
    result: row.result === null ? undefined : JSON.parse(row.result),
    runId: row.run ?? undefined,
    truncated: row.truncated === 1,
    trailing: row.trailing !== null,
    followedBy: row.followed_by ?? undefined,
  }
}

export function dueOf(trailing: string): Due {
  return JSON.parse(trailing) as Due
}
