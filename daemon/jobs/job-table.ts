/**
 * What is due, in index.db: taking it in, so that nothing is queued twice, and telling of it. Enqueueing is plain SQL on the
 * connection it is given, to be part of whatever transaction found that something is due. Who runs it: `job-claims.ts`.
 */
import { randomBytes } from 'node:crypto'
import type { JobCounts } from '../../schema/job.ts'
import { type Db, preparedIn } from '../db/database.ts'
import { type Due, type Job, type JobRow, jobOf } from './job-rows.ts'

/** What became of a trigger: a job of its own, part of one that waits, a second run after the one under way, or nothing new. */
export type Enqueued = { id: string; as: 'new' | 'merged' | 'trailing' | 'known' }

export type JobFilter = { state?: string | undefined; limit: number; after?: number | undefined }

export type JobTable = {
  enqueue(due: Due, nowMs: number): Enqueued
  get(id: string): Job | undefined
  /** Newest first; `next` is for `after`. */
  list(filter: JobFilter): { jobs: Job[]; next: number | undefined }
  /** Of one key: those that are not over, and those that came up since then. */
  ofKey(kinds: readonly string[], key: string, sinceMs: number): string[]
  /** A failed job that was followed by another of its key has no longer failed. */
  counts(): JobCounts
  /** Forgets what ended before that. */
  expire(endedBeforeMs: number): number
}

export function createJobTable(current: () => Db): JobTable {
  const statements = preparedIn(current, prepare)
  return {
    enqueue: (due, nowMs) => statements().enqueue(due, nowMs),
    get: (id) => {
      const row = statements().get.get(id) as JobRow | undefined
      return row && jobOf(row)
    },
    list: ({ state, limit, after }) => {
      const { list, listState } = statements()
      const page = { limit: limit + 1, after: after ?? Number.MAX_SAFE_INTEGER }
      const rows = (state === undefined ? list.all(page) : listState.all({ ...page, state })) as JobRow[]
      const shown = rows.slice(0, limit)
      return { jobs: shown.map(jobOf), next: rows.length > limit ? shown.at(-1)?.seq : undefined }
    },
    ofKey: (kinds, key, sinceMs) => statements().ofKey.all(JSON.stringify(kinds), key, sinceMs) as string[],
    counts: () => statements().counts.get() as JobCounts,
    expire: (endedBeforeMs) => statements().expire.run(endedBeforeMs).changes,
  }
}

/** A new job in a transaction of somebody else's. */
export function jobInsertion(db: Db): (due: Due, nowMs: number, retryAtMs?: number) => string {
  const insert = db.prepare(`
    INSERT INTO jobs (id, kind, key, dir, state, watermark, input, created_at, not_before, retry_at, since)
    VALUES (@id, @kind, @key, @dir, 'queued', @watermark, @input, @now, @notBefore, @retryAt, @now)`)
  return (due, nowMs, retryAtMs = 0) => {
    const id = `${due.kind}-${randomBytes(6).toString('hex')}`
    insert.run({ id, ...contentOf(due), now: nowMs, notBefore: due.notBeforeMs ?? 0, retryAt: retryAtMs })
    return id
  }
}

export function contentOf({ kind, key, dir, watermark, input }: Due) {
  return { kind, key, dir: dir ?? null, watermark, input: JSON.stringify(input ?? null) }
}

function prepare(db: Db) {
  const insert = jobInsertion(db)
  const active = db.prepare(
    `SELECT * FROM jobs WHERE kind = ? AND key = ? AND state IN ('queued', 'waiting', 'running')`,
  )
  const last = db.prepare('SELECT id, watermark FROM jobs WHERE kind = ? AND key = ? ORDER BY seq DESC LIMIT 1')
  const follow = db.prepare('UPDATE jobs SET trailing = @due WHERE id = @id')
  // The earliest time of both: who is triggered again and again would never run by the latest.
  const merge = db.prepare(`
    UPDATE jobs SET watermark = @watermark, input = @input, dir = @dir, not_before = min(not_before, @notBefore)
    WHERE id = @id`)

  const enqueue = (due: Due, nowMs: number): Enqueued => {
    const there = active.get(due.kind, due.key) as JobRow | undefined
    if (!there) {
      // A watermark that has ended, well or not, is not begun again by a trigger: only by a person.
      const ended = last.get(due.kind, due.key) as { id: string; watermark: string } | undefined
      if (ended?.watermark === due.watermark) return { id: ended.id, as: 'known' }
      return { id: insert(due, nowMs), as: 'new' }
    }
    const { id } = there
    if (there.state !== 'running') {
      merge.run({ id, ...contentOf(due), notBefore: due.notBeforeMs ?? 0 })
      return { id, as: 'merged' }
    }
    if (there.watermark === due.watermark) return { id, as: 'known' }
    follow.run({ id, due: JSON.stringify(due) })
    return { id, as: 'trailing' }
  }

  return {
    // Immediate: a connection that has begun to read may not write once another has.
    enqueue: (due: Due, nowMs: number) =>
      db.inTransaction ? enqueue(due, nowMs) : db.transaction(enqueue).immediate(due, nowMs),
    get: db.prepare('SELECT * FROM jobs WHERE id = ?'),
    list: db.prepare('SELECT * FROM jobs WHERE seq < @after ORDER BY seq DESC LIMIT @limit'),
    listState: db.prepare('SELECT * FROM jobs WHERE state = @state AND seq < @after ORDER BY seq DESC LIMIT @limit'),
    ofKey: db
      .prepare(
        `SELECT id FROM jobs WHERE kind IN (SELECT value FROM json_each(?)) AND key = ?
           AND (ended_at IS NULL OR created_at >= ?) ORDER BY seq`,
      )
      .pluck(),
    counts: db.prepare(`
      SELECT count(*) FILTER (WHERE state = 'queued') AS queued, count(*) FILTER (WHERE state = 'waiting') AS waiting,
             count(*) FILTER (WHERE state = 'running') AS running,
             count(*) FILTER (WHERE state = 'failed' AND NOT EXISTS
               (SELECT 1 FROM jobs later WHERE later.kind = jobs.kind AND later.key = jobs.key AND later.seq > jobs.seq))
               AS failed
      FROM jobs WHERE state IN ('queued', 'waiting', 'running', 'failed')`),
    expire: db.prepare(
      `DELETE FROM jobs WHERE ended_at < ? AND owner IS NULL AND state IN ('done', 'failed', 'killed')`,
    ),
  }
}
