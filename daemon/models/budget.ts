/**
 * The day's money: nothing is sent that could cost more than is left. A call is recorded with the most it can cost before it is
 * made, and with its real cost after; where that is unknown, the most stays.
 */
import type { CostList } from '../../schema/job.ts'
import type { Budget } from '../../schema/process.ts'
import type { Core } from '../core.ts'
import { type Db, untilOnDisk, withoutWaiting } from '../db/database.ts'
import { costInNanos, factsOf, type ModelFacts } from './prices.ts'
import type { ModelAnswer, ModelFailure, Usage } from './wire.ts'

export type Caps = { usdPerDay: number; tokensPerDay: number }

export type Purpose = { job: string; project?: string | undefined }

/** `kept`: whether the whole of it may be written to a cache, and for how long. */
export type Ask = Purpose & { model: string; bytes: number; maxTokens: number; kept: '5m' | '1h' | undefined }

export type Over = { over: 'usd' | 'tokens'; untilMs: number }

const NANOS = 1_000_000_000
/** Tokens a byte for a model without samples: code and JSON have up to one for two bytes. */
const CAREFUL_RATIO = 0.5
const CALIBRATED_MARGIN = 1.2

export function createBudget({ clock, settings }: Core, ledger: Ledger) {
  const caps = () => settings.current().budget
  const uncached = (usage: Usage) => usage.input + usage.cacheWrite

  return {
    spend: async <Result extends ModelAnswer | ModelFailure>(
      ask: Ask,
      call: () => Promise<Result>,
    ): Promise<Result | Over> => {
      const now = clock.now()
      const { job, project, model, bytes, maxTokens } = ask
      const facts = factsOf(model, settings.current().models)
      const most = mostUsage(ask, facts, ledger.tokensPerByte(model))
      const next = { nanos: costInNanos(most, facts), uncached: uncached(most) }
      const entry = { at: now, day: dayOf(now), job, project, model, bytes, ...next }
      const reserved = ledger.reserve(entry, (spent) => overBy(spent, next, caps()))
      if ('refused' in reserved) return { over: reserved.refused, untilMs: nextDayMs(now) }
      await ledger.reservedForGood()
      const begunMs = clock.elapsed()
      const result = await call()
      const row = { id: reserved.id, outcome: 'failed' in result ? result.failed : 'done' }
      const latencyMs = Math.round(clock.elapsed() - begunMs)
      const usage = finalUsage(result, maxTokens)
      if (!usage) ledger.leave({ ...row, latencyMs })
      else {
        const cost = { nanos: costInNanos(usage, facts), uncached: uncached(usage) }
        ledger.settle({ ...row, ...cost, ...usage, latencyMs, request: result.requestId })
      }
      return result
    },
    allowed: () => caps().usdPerDay > 0 && caps().tokensPerDay > 0,
    budget: (): Budget => {
      const spent = ledger.spentSince(dayOf(clock.now()))
      const { usdPerDay, tokensPerDay } = caps()
      return { usd: spent.nanos / NANOS, capUsd: usdPerDay, tokens: spent.uncached, capTokens: tokensPerDay }
    },
    usedUp: (): Over | undefined => {
      const now = clock.now()
      const over = overBy(ledger.spentSince(dayOf(now)), { nanos: 1, uncached: 1 }, caps())
      return over && { over, untilMs: nextDayMs(now) }
    },
    cost: (by: Grouping, days: number): Omit<CostList, 'today'> => {
      const since = dayBefore(clock.now(), days - 1)
      return { items: ledger.totals(by, since).map(shownTotal), unpriced: ledger.unpriced(since) }
    },
  }
}

export function overBy(
  spent: Spent,
  next: { nanos: number | undefined; uncached: number },
  { usdPerDay, tokensPerDay }: Caps,
): Over['over'] | undefined {
  if (usdPerDay === 0) return 'usd'
  if (tokensPerDay === 0 || spent.uncached + next.uncached > tokensPerDay) return 'tokens'
  return next.nanos !== undefined && spent.nanos + next.nanos > usdPerDay * NANOS ? 'usd' : undefined
}

/** Nothing of it is in a cache, and the answer is as long as it may be. */
export function mostUsage(
  { bytes, maxTokens, kept }: Pick<Ask, 'bytes' | 'maxTokens' | 'kept'>,
  { windowTokens = Number.POSITIVE_INFINITY, maxOutputTokens = Number.POSITIVE_INFINITY }: ModelFacts,
  seenRatio: number | undefined,
): Usage {
  const ratio = seenRatio === undefined ? CAREFUL_RATIO : Math.min(seenRatio * CALIBRATED_MARGIN, 1)
  const tokens = Math.min(Math.ceil(bytes * ratio), windowTokens)
  const nothing = { input: 0, cacheRead: 0, cacheWrite: 0, output: Math.min(maxTokens, maxOutputTokens) }
  if (!kept) return { ...nothing, input: tokens }
  return { ...nothing, cacheWrite: tokens, ...(kept === '1h' && { cacheWrite1h: tokens }) }
}

function finalUsage(result: ModelAnswer | ModelFailure, maxTokens: number): Usage | undefined {
  if ('failed' in result && result.spent === 'nothing') return { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }
  const { usage } = result
  if (!usage || usage.input + usage.cacheRead + usage.cacheWrite === 0) return undefined
  // An answer that broke off may have become longer at the server.
  return 'failed' in result && result.spent !== 'final' ? { ...usage, output: maxTokens } : usage
}

type Cost = { nanos: number | undefined; uncached: number }
type Entry = Purpose & Cost & { at: number; day: string; model: string; bytes: number }
type Settlement = Usage & Cost & { id: number; outcome: string; latencyMs: number; request: string | undefined }
export type Spent = { nanos: number; uncached: number }
export type Grouping = 'day' | 'project' | 'job'
type Total = Omit<CostList['items'][number], 'key' | 'usd' | 'hitPercent'> & { key: string | null; nanos: number }

type Ledger = ReturnType<typeof createLedger>

/** In rows, not in days: a wrong clock must not delete any. */
const KEPT_ROWS = 500_000
const SAMPLES = 20
const FEW_SAMPLES = 3

/** A row that a crash left reserved keeps counting. Rows of later days count as today's: a clock set back gives no allowance. */
export function createLedger(db: Db) {
  const spent = db.prepare(
    'SELECT COALESCE(SUM(nanos), 0) AS nanos, COALESCE(SUM(uncached), 0) AS uncached FROM ledger WHERE day >= ?',
  )
  const insert = db.prepare(`INSERT INTO ledger (at, day, job, project, model, outcome, bytes, nanos, uncached)
    VALUES (@at, @day, @job, @project, @model, 'reserved', @bytes, @nanos, @uncached)`)
  const forget = db.prepare('DELETE FROM ledger WHERE id <= ?')
  const settle = db.prepare(`UPDATE ledger SET outcome = @outcome, nanos = @nanos, uncached = @uncached, input = @input,
    cache_read = @cacheRead, cache_write = @cacheWrite, output = @output, latency_ms = @latencyMs, request = @request
    WHERE id = @id`)
  const leave = db.prepare('UPDATE ledger SET outcome = @outcome, latency_ms = @latencyMs WHERE id = @id')
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
    reserve: <Reason>(entry: Entry, refuse: (spent: Spent) => Reason | undefined) =>
      withoutWaiting(db, () => reserve.immediate(entry, refuse)) as { id: number } | { refused: Reason },
    /** Await this before sending: from then on the reservation survives a power cut. */
    reservedForGood: () => untilOnDisk(db),
    // What a power cut takes back of these counts as reserved, which is more.
    settle: ({ nanos, request, ...rest }: Settlement) =>
      withoutWaiting(db, () => void settle.run({ ...rest, nanos: nanos ?? null, request: request ?? null })),
    leave: (row: Pick<Settlement, 'id' | 'outcome' | 'latencyMs'>) => withoutWaiting(db, () => void leave.run(row)),
    spentSince,
    tokensPerByte: (model: string): number | undefined => {
      const { samples, most } = ratio.get(model) as { samples: number; most: number | null }
      return samples < FEW_SAMPLES || most === null ? undefined : most
    },
    totals: (by: Grouping, sinceDay: string) => grouped[by].all(sinceDay) as Total[],
    unpriced: (sinceDay: string) => unpriced.all(sinceDay) as string[],
  }
}

export function dayOf(ms: number): string {
  const date = new Date(ms)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

function nextDayMs(ms: number): number {
  const date = new Date(ms)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + 1).getTime()
}

function dayBefore(ms: number, days: number): string {
  const date = new Date(ms)
  return dayOf(new Date(date.getFullYear(), date.getMonth(), date.getDate() - days, 12).getTime())
}

function shownTotal({ key, nanos, ...rest }: Total): CostList['items'][number] {
  const prompt = rest.input + rest.cacheRead + rest.cacheWrite
  const hitPercent = prompt === 0 ? null : Math.round((rest.cacheRead / prompt) * 1_000) / 10
  return { key: key ?? '', usd: nanos / NANOS, ...rest, hitPercent }
}
