/**
 * Jobs in index.db: queued once, claimed with a lease, ended only by the owner of the lease. Enqueueing runs on the connection it is
 * given, to be part of the transaction that found what is due.
 */
import { randomBytes } from 'node:crypto'
import type { JobState } from '../../schema/job.ts'
import type { JobCounts } from '../../schema/process.ts'
import { type Db, preparedIn, withoutWaiting } from '../db/database.ts'
import type { Due } from './job.ts'

/** What became of a trigger: a job of its own, part of one that waits, a second run after the one under way, or nothing new. */
export type Enqueued = { id: string; as: 'new' | 'merged' | 'trailing' | 'known' }

export type JobFilter = { state?: string | undefined; limit: number; after?: number | undefined }

export type JobTable = ReturnType<typeof createJobTable>

export function createJobTable(current: () => Db) {
  const statements = preparedIn(current, prepare)
  return {
    enqueue: (due: Due, nowMs: number): Enqueued => statements().enqueue(due, nowMs),
    get: (id: string): Job | undefined => {
      const row = statements().get.get(id) as JobRow | undefined
      return row && jobOf(row)
    },
    list: ({ state, limit, after }: JobFilter): { jobs: Job[]; next: number | undefined } => {
      const { list, listState } = statements()
      const page = { limit: limit + 1, after: after ?? Number.MAX_SAFE_INTEGER }
      const rows = (state === undefined ? list.all(page) : listState.all({ ...page, state })) as JobRow[]
      const shown = rows.slice(0, limit)
      return { jobs: shown.map(jobOf), next: rows.length > limit ? shown.at(-1)?.seq : undefined }
    },
    ofKey: (kinds: readonly string[], key: string, sinceMs: number) =>
      statements().ofKey.all(JSON.stringify(kinds), key, sinceMs) as string[],
    /** A failed job that was followed by another of its key has no longer failed. */
    counts: () => statements().counts.get() as JobCounts,
    expire: (endedBeforeMs: number): number => statements().expire.run(endedBeforeMs).changes,
  }
}

function jobInsertion(db: Db): (due: Due, nowMs: number, retryAtMs?: number) => string {
  const insert = db.prepare(`
    INSERT INTO jobs (id, kind, key, dir, state, watermark, input, created_at, not_before, retry_at, since)
    VALUES (@id, @kind, @key, @dir, 'queued', @watermark, @input, @now, @notBefore, @retryAt, @now)`)
  return (due, nowMs, retryAtMs = 0) => {
    const id = `${due.kind}-${randomBytes(6).toString('hex')}`
    insert.run({ id, ...contentOf(due), now: nowMs, notBefore: due.notBeforeMs ?? 0, retryAt: retryAtMs })
    return id
  }
}

function contentOf({ kind, key, dir, watermark, input }: Due) {
  return { kind, key, dir: dir ?? null, watermark, input: JSON.stringify(input ?? null) }
}

function prepare(db: Db) {
  const insert = jobInsertion(db)
  const active = db.prepare(
    `SELECT * FROM jobs WHERE kind = ? AND key = ? AND state IN ('queued', 'waiting', 'running')`,
  )
  const last = db.prepare('SELECT id, watermark FROM jobs WHERE kind = ? AND key = ? ORDER BY seq DESC LIMIT 1')
  const follow = db.prepare('UPDATE jobs SET trailing = @due WHERE id = @id')
  // The earliest time of both: by the latest, a job that is triggered again and again would never run.
  const merge = db.prepare(`
    UPDATE jobs SET watermark = @watermark, input = @input, dir = @dir, not_before = min(not_before, @notBefore)
    WHERE id = @id`)

  const enqueue = (due: Due, nowMs: number): Enqueued => {
    const there = active.get(due.kind, due.key) as JobRow | undefined
    if (!there) {
      // A watermark that has ended, well or not, is begun again only by the user.
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
    // Immediate: a reading connection may not begin to write once another has.
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

/** For waiting without an end: the last moment a date can name. */
export const NEVER_MS = 8_640_000_000_000_000

type JobRow = {
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

export type Job = ReturnType<typeof jobOf>

function jobOf(row: JobRow) {
  const ready = Math.max(row.not_before, row.retry_at)
  return {
    id: row.id,
    kind: row.kind,
    key: row.key,
    dir: row.dir ?? undefined,
    state: row.state,
    watermark: row.watermark,
    input: JSON.parse(row.input) as unknown,
    createdMs: row.created_at,
    startedMs: row.started_at ?? undefined,
    endedMs: row.ended_at ?? undefined,
    readyMs: ready >= NEVER_MS ? Number.POSITIVE_INFINITY : ready,
    attempts: row.attempts,
    failures: row.failures,
    error: row.error ?? undefined,
    result: row.result === null ? undefined : (JSON.parse(row.result) as unknown),
    runId: row.run ?? undefined,
    truncated: row.truncated === 1,
    trailing: row.trailing !== null,
    followedBy: row.followed_by ?? undefined,
  }
}

export const LEASE_MS = 60_000
/** A process that died under a job ten times in a row may have died of it, or the machine lost power: the job then rests. */
const MOST_LOSSES = 10
const REST_MS = 3_600_000
/** A clock that went back further was set back: then times that were written before mean nothing. */
export const SET_BACK_MS = 60_000

export type Ending =
  | { to: 'done'; result: unknown; runId?: string | undefined; truncated: boolean }
  /** `retryAt` of a failed job is for what became due meanwhile. */
  | { to: 'failed' | 'queued'; error: string; failures: number; retryAt: number }
  | { to: 'waiting'; error: string; retryAt: number }
  | { to: 'released' }

export type Claim = {
  owner: string
  nowMs: number
  /** Kinds that may be begun, each with the most that may run together of its sort. */
  sorts: readonly { kinds: readonly string[]; atOnce: number }[]
  low: readonly string[]
  /** The directory that a job will be at, where it was not known when the job was enqueued. */
  dirOf: (job: Job) => string | undefined
  /** What the owner is at, whatever the table says: the index may have been begun anew. */
  busy: readonly { kind: string; key: string; dir: string | undefined }[]
}

export type Retried = { retried: Job } | { refused: 'running' | 'done' } | { refused: 'replaced'; by: string }

export type JobClaims = ReturnType<typeof createJobClaims>

export function createJobClaims(current: () => Db) {
  const prepared = preparedIn(current, prepareJobClaims)
  return {
    // What a power cut takes back of these is done again, and found to be done: no need to wait for the disk.
    claim: (claim: Claim): Job | undefined =>
      prepared().isDue(claim) ? withoutWaiting(current(), () => prepared().claim.immediate(claim)) : undefined,
    renew: (owner: string, nowMs: number): string[] =>
      withoutWaiting(current(), () => prepared().renew.all({ owner, until: nowMs + LEASE_MS })).flatMap((row) =>
        (row as JobRow).state === 'running' ? [(row as JobRow).id] : [],
      ),
    holds: (owner: string, id: string): boolean => prepared().held.get(id, owner) !== undefined,
    /** Nothing when the lease was lost: then the run has not happened. A killed one stays killed. */
    settle: (id: string, owner: string, ending: Ending, nowMs: number): Job | undefined =>
      withoutWaiting(current(), () => prepared().settle.immediate(id, owner, ending, nowMs)),
    /** For the one process that is alive: no lease of another counts. */
    freeOthers: (owner: string, nowMs: number): number => prepared().free.immediate({ owner, nowMs, longestMs: -1 }),
    kill: (id: string, nowMs: number): Job | undefined => prepared().kill.immediate(id, nowMs),
    retry: (id: string, nowMs: number): Retried | undefined => prepared().retry.immediate(id, nowMs),
    resume: (nowMs: number): number => prepared().resume.run(nowMs).changes,
    nextReady: (nowMs: number) => (prepared().nextReady.get(nowMs) as number | null) ?? undefined,
  }
}

/** A lease that ends too late was given before the clock was set back. */
const DEAD = `owner IS NOT NULL AND owner <> @owner AND (lease_until <= @nowMs OR lease_until > @nowMs + @longestMs)`
const READY = `(max(not_before, retry_at) <= @nowMs OR @nowMs < since - ${SET_BACK_MS})`

type Placed = JobRow & { place: number }

function prepareJobClaims(db: Db) {
  const insert = jobInsertion(db)
  const get = db.prepare('SELECT * FROM jobs WHERE id = ?')
  const row = (id: string) => get.get(id) as JobRow | undefined
  const job = (id: string) => jobOf(row(id) as JobRow)
  const dead = db.prepare(`SELECT * FROM jobs WHERE ${DEAD}`)
  const leave = db.prepare('UPDATE jobs SET owner = NULL, lease_until = NULL WHERE id = ?')
  const end = db.prepare(`
    UPDATE jobs SET state = @state, ended_at = @nowMs, error = @error, failures = @failures, result = @result, run = @run,
      truncated = @truncated, trailing = NULL, losses = 0 WHERE id = @id`)
  const followed = db.prepare('UPDATE jobs SET followed_by = ? WHERE id = ?')
  const again = db.prepare(`
    UPDATE jobs SET state = @state, error = @error, failures = @failures, losses = @losses, attempts = @attempts,
      not_before = @notBefore, retry_at = @retryAt, since = @nowMs, watermark = @watermark, input = @input, dir = @dir,
      trailing = NULL, ended_at = NULL, owner = NULL, lease_until = NULL WHERE id = @id`)

  const close = (old: JobRow, ending: Partial<JobRow> & { state: string }, nowMs: number, retryAtMs = 0) => {
    const { state, error = null, failures = old.failures, result = null, run = null, truncated = 0 } = ending
    end.run({ id: old.id, state, error, failures, result, run, truncated, nowMs })
    if (old.trailing !== null) followed.run(insert(JSON.parse(old.trailing), nowMs, retryAtMs), old.id)
  }

  const reopen = (old: JobRow, change: Partial<JobRow> & { state: string; retry_at: number }, nowMs: number) => {
    const newest = old.trailing === null ? undefined : (JSON.parse(old.trailing) as Due)
    const { dir, watermark, input } = newest ? contentOf(newest) : old
    again.run({
      ...{ id: old.id, dir, watermark, input },
      notBefore: newest ? (newest.notBeforeMs ?? 0) : old.not_before,
      state: change.state,
      error: change.error ?? null,
      failures: change.failures ?? old.failures,
      losses: change.losses ?? 0,
      attempts: change.attempts ?? old.attempts,
      retryAt: change.retry_at,
      nowMs,
    })
  }

  const free = (by: { owner: string; nowMs: number; longestMs: number }): number => {
    const rows = dead.all(by) as JobRow[]
    for (const old of rows) {
      if (old.state === 'running') {
        const losses = old.losses + 1
        const isResting = losses >= MOST_LOSSES
        const error = isResting ? `the process that ran it died, ${losses} times in a row` : null
        reopen(old, { state: 'queued', losses, error, retry_at: isResting ? by.nowMs + REST_MS : 0 }, by.nowMs)
      }
      leave.run(old.id)
    }
    return rows.length
  }

  const held = db.prepare(`SELECT * FROM jobs WHERE id = ? AND owner = ? AND state = 'running'`)
  const atWork = db.prepare(
    // Without the hint SQLite scans by kind, and nearly all waiting jobs share a few kinds.
    `SELECT count(*) FROM jobs INDEXED BY jobs_owned WHERE owner IS NOT NULL AND kind IN (SELECT value FROM json_each(?))`,
  )
  const firstBy = (order: string) =>
    db.prepare(`
      SELECT *, ${order} AS place FROM jobs j WHERE kind = @kind AND state IN ('queued', 'waiting') AND ${READY}
        AND NOT EXISTS (SELECT 1 FROM jobs o WHERE o.owner IS NOT NULL AND ((o.kind = j.kind AND o.key = j.key) OR o.dir = j.dir))
        AND NOT EXISTS (SELECT 1 FROM json_each(@busy) o WHERE o.value ->> 'dir' = j.dir
          OR (o.value ->> 'kind' = j.kind AND o.value ->> 'key' = j.key))
      ORDER BY ${order}, seq LIMIT 1`)
  const oldest = firstBy('max(not_before, retry_at, created_at)')
  const newest = firstBy(`-coalesce(input ->> 'at', created_at)`)
  /** Kind by kind: there may be a hundred thousand of one, and the indexes find its first. */
  const first = (kinds: readonly string[], low: readonly string[], given: { nowMs: number; busy: string }) => {
    const of = (kind: string) => (low.includes(kind) ? newest : oldest).get({ ...given, kind }) as Placed | undefined
    const best = (wanted: readonly string[]) =>
      wanted.flatMap((kind) => of(kind) ?? []).sort((a, b) => a.place - b.place || a.seq - b.seq)[0]
    return best(kinds.filter((kind) => !low.includes(kind))) ?? best(kinds.filter((kind) => low.includes(kind)))
  }
  const take = db.prepare(`
    UPDATE jobs SET state = 'running', owner = @owner, lease_until = @until, started_at = @nowMs, attempts = attempts + 1
    WHERE id = @id`)
  const stand = db.prepare('UPDATE jobs SET dir = ? WHERE id = ?')
  const atDir = db.prepare('SELECT 1 FROM jobs WHERE dir = ? AND owner IS NOT NULL')

  const kindsOf = ({ sorts }: Claim) =>
    sorts.flatMap(({ kinds, atOnce }) => ((atWork.pluck().get(JSON.stringify(kinds)) as number) < atOnce ? kinds : []))

  /** Reads only: a write would wait for the lock that the reading thread holds. */
  const isDue = (claim: Claim): boolean =>
    dead.get({ ...claim, longestMs: LEASE_MS }) !== undefined ||
    first(kindsOf(claim), claim.low, { nowMs: claim.nowMs, busy: '[]' }) !== undefined

  const claim = (given: Claim): Job | undefined => {
    const { owner, nowMs, low, dirOf, busy } = given
    free({ owner, nowMs, longestMs: LEASE_MS })
    const kinds = kindsOf(given)
    const at = busy.map(({ kind, key, dir }) => ({ kind, key, dir }))
    for (;;) {
      const found = first(kinds, low, { nowMs, busy: JSON.stringify(at) })
      if (!found) return undefined
      const dir = found.dir ?? dirOf(jobOf(found)) ?? null
      if (dir !== found.dir) {
        stand.run(dir, found.id)
        if (atDir.get(dir) || at.some((other) => other.dir === dir)) continue
      }
      take.run({ id: found.id, owner, until: nowMs + LEASE_MS, nowMs })
      return job(found.id)
    }
  }

  const settle = (id: string, owner: string, ending: Ending, nowMs: number): Job | undefined => {
    const old = row(id)
    if (old?.owner !== owner) return undefined
    if (old.state === 'running') {
      if (ending.to === 'done') {
        const { result = null, runId: run = null, truncated } = ending
        const done = { failures: 0, result: JSON.stringify(result), run, truncated: Number(truncated) }
        close(old, { state: 'done', ...done }, nowMs)
      } else if (ending.to === 'failed') close(old, { state: 'failed', ...ending }, nowMs, ending.retryAt)
      else if (ending.to === 'queued') reopen(old, { state: 'queued', ...ending, retry_at: ending.retryAt }, nowMs)
      else {
        // Waiting or being released does not count as an attempt.
        const { error, retryAt } = { error: old.error, retryAt: 0, ...ending }
        const state = ending.to === 'waiting' ? 'waiting' : 'queued'
        reopen(old, { state, error, retry_at: retryAt, attempts: old.attempts - 1 }, nowMs)
      }
    }
    leave.run(id)
    return job(id)
  }

  const kill = (id: string, nowMs: number): Job | undefined => {
    const old = row(id)
    if (!old || old.ended_at !== null) return undefined
    close(old, { state: 'killed', error: old.error }, nowMs)
    return job(id)
  }
  const others = db.prepare(`
    SELECT id FROM jobs WHERE kind = ? AND key = ? AND id <> ? AND state IN ('queued', 'waiting', 'running')`)

  const retry = (id: string, nowMs: number): Retried | undefined => {
    const old = row(id)
    if (!old) return undefined
    if (old.state === 'running' || old.state === 'done') return { refused: old.state }
    const by = others.pluck().get(old.kind, old.key, id) as string | undefined
    if (by !== undefined) return { refused: 'replaced', by }
    reopen({ ...old, not_before: 0 }, { state: 'queued', failures: 0, retry_at: 0, error: old.error }, nowMs)
    return { retried: job(id) }
  }

  return {
    held,
    isDue,
    claim: db.transaction(claim),
    settle: db.transaction(settle),
    free: db.transaction(free),
    kill: db.transaction(kill),
    retry: db.transaction(retry),
    renew: db.prepare('UPDATE jobs SET lease_until = @until WHERE owner = @owner RETURNING id, state'),
    resume: db.prepare(`UPDATE jobs SET retry_at = 0, since = ? WHERE state = 'waiting'`),
    nextReady: db
      .prepare(
        `SELECT max(not_before, retry_at) FROM jobs INDEXED BY jobs_ready
         WHERE state IN ('queued', 'waiting') AND max(not_before, retry_at) > ? AND max(not_before, retry_at) < ${NEVER_MS}
         ORDER BY max(not_before, retry_at) LIMIT 1`,
      )
      .pluck(),
  }
}
