/**
 * What models have cost: a row for every call, reserved before it is made and settled after it. A row that a crash left
 * reserved keeps counting. Rows of later days count as today's, so that a clock set back gives no fresh allowance.
 */
import { type Db, untilOnDisk, withoutWaiting } from '../db/database.ts'

export type Entry = {
  at: number
  day: string
  job: string
  project: string | undefined
  model: string
  bytes: number
  nanos: number | undefined
  uncached: number
}

export type Spent = { nanos: number; uncached: number }

export type Settlement = {
  outcome: string
  nanos: number | undefined
  uncached: number
  input: number
  cacheRead: number
  cacheWrite: number
  output: number
  latencyMs: number
  request: string | undefined
}

export type Grouping = 'day' | 'project' | 'job'

export type Total = {
  key: string | null
  nanos: number
  input: number
  cacheRead: number
  cacheWrite: number
  output: number
  calls: number
  unsettled: number
}

export type Ledger = {
  /** Looks and writes in one step: what others have reserved counts. The entry is there unless `refuse` gave a reason. */
  reserve<Reason>(entry: Entry, refuse: (spent: Spent) => Reason | undefined): { id: number } | { refused: Reason }
  /** What was reserved counts from here on, even if the power goes: not before may anything be sent. */
  reservedForGood(): Promise<void>
  settle(id: number, settlement: Settlement): void
  /** The call failed in a way that tells nothing of its cost: what was reserved stays. */
  leave(id: number, outcome: string, latencyMs: number): void
  spentSince(day: string): Spent
  /** The most tokens for a byte among the last calls of a model; undefined while there are too few. */
  tokensPerByte(model: string): number | undefined
  totals(by: Grouping, sinceDay: string): Total[]
  /** Models whose price nobody knew. */
  unpriced(sinceDay: string): string[]
}

/** Counted in rows, not in days: a clock that is wrong must not make anything be forgotten. */
const KEPT_ROWS = 500_000
const SAMPLES = 20
const FEW_SAMPLES = 3

export function createLedger(db: Db): Ledger {
  const spent = db.prepare(
    'SELECT COALESCE(SUM(nanos), 0) AS nanos, COALESCE(SUM(uncached), 0) AS uncached FROM ledger WHERE day >= ?',
  )
  const insert = db.prepare(`INSERT INTO ledger (at, day, job, project, model, outcome, bytes, nanos, uncached)
    VALUES (@at, @day, @job, @project, @model, 'reserved', @bytes, @nanos, @uncached)`)
  const forget = db.prepare('DELETE FROM ledger WHERE id <= ?')
  const settle = db.prepare(`UPDATE ledger SET outcome = @outcome, nanos = @nanos, uncached = @uncached, input = @input,
    cache_read = @cacheRead, cache_write = @cacheWrite, output = @output, latency_ms = @latencyMs, request = @request
    WHERE id = @id`)
  const leave = db.prepare('UPDATE ledger SET outcome = ?, latency_ms = ? WHERE id = ?')
  const ratio = db.prepare(`SELECT COUNT(*) AS samples, MAX(1.0 * tokens / bytes) AS most FROM (
    SELECT input + cache_read + cache_write AS tokens, bytes FROM ledger
    WHERE model = ? AND bytes > 0 AND input + cache_read + cache_write > 0 ORDER BY id DESC LIMIT ${SAMPLES})`)
  const totals = (column: Grouping) =>
    db.prepare(`SELECT ${column} AS key, COALESCE(SUM(nanos), 0) AS nanos, SUM(input) AS input,
      SUM(cache_read) AS cacheRead, SUM(cache_write) AS cacheWrite, SUM(output) AS output, COUNT(*) AS calls,
      SUM(outcome = 'reserved') AS unsettled
      FROM ledger WHERE day >= ? GROUP BY ${column} ORDER BY ${column === 'day' ? 'day' : 'nanos DESC, key'}`)
  const grouped = { day: totals('day'), project: totals('project'), job: totals('job') }
  const unpriced = db
    .prepare('SELECT DISTINCT model FROM ledger WHERE nanos IS NULL AND day >= ? ORDER BY model')
    .pluck()
  const spentSince = (day: string) => spent.get(day) as Spent

  const reserve = db.transaction((entry: Entry, refuse: (spent: Spent) => unknown) => {
    const refused = refuse(spentSince(entry.day))
    if (refused !== undefined) return { refused }
    const { project = null, nanos = null, ...rest } = entry
    const id = Number(insert.run({ ...rest, project, nanos }).lastInsertRowid)
    forget.run(id - KEPT_ROWS)
    return { id }
  })

  return {
    // Immediately, so that nobody else can reserve between the look and the row.
    reserve: (entry, refuse) => withoutWaiting(db, () => reserve.immediate(entry, refuse)) as never,
    reservedForGood: () => untilOnDisk(db),
    // What a power cut takes back of these counts with what was reserved for it, which is more.
    settle: (id, { nanos, request, latencyMs, ...rest }) => {
      const row = { id, ...rest, nanos: nanos ?? null, request: request ?? null, latencyMs: Math.round(latencyMs) }
      withoutWaiting(db, () => settle.run(row))
    },
    leave: (id, outcome, latencyMs) => {
      withoutWaiting(db, () => leave.run(outcome, Math.round(latencyMs), id))
    },
    spentSince,
    tokensPerByte: (model) => {
      const { samples, most } = ratio.get(model) as { samples: number; most: number | null }
      return samples < FEW_SAMPLES || most === null ? undefined : most
    },
    totals: (by, sinceDay) => grouped[by].all(sinceDay) as Total[],
    unpriced: (sinceDay) => unpriced.all(sinceDay) as string[],
  }
}
