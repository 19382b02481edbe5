/**
 * The day's money: nothing is sent that could cost more than is left. A call is written down with the most it can cost
 * before it is made, and with what it did cost after; where nobody can tell, the most stays.
 */
import type { Budget } from '../../schema/job.ts'
import type { Clock } from '../platform/clock.ts'
import { dayBefore, dayOf, nextDayMs } from './calendar.ts'
import type { Grouping, Ledger, Spent, Total } from './ledger.ts'
import { costInNanos, factsOf, type ModelFacts, type OwnModels } from './models.ts'
import type { ModelAnswer, ModelFailure, Usage } from './provider.ts'

export type Caps = { usdPerDay: number; tokensPerDay: number }

/** Who asks: what is shown in the ledger. */
export type Purpose = { job: string; project?: string }

/** What is about to be sent. `kept`: whether the whole of it may be written to a cache, and for how long. */
export type Ask = Purpose & { model: string; bytes: number; maxTokens: number; kept: '5m' | '1h' | undefined }

export type Over = { over: 'usd' | 'tokens'; untilMs: number }

export type Money = {
  spend<Result extends ModelAnswer | ModelFailure>(ask: Ask, call: () => Promise<Result>): Promise<Result | Over>
  /** Whether the caps allow for any model at all. */
  allowed(): boolean
  budget(): Budget
  /** Nothing is left of the day. */
  usedUp(): Over | undefined
  totals(by: Grouping, days: number): { totals: Total[]; unpriced: string[] }
}

type Deps = { ledger: Ledger; clock: Clock; caps: () => Caps; models: () => OwnModels }

const NANOS = 1_000_000_000
/** Tokens for a byte while a model is new to us: code and JSON have up to one for two. */
const CAREFUL_RATIO = 0.5
const CALIBRATED_MARGIN = 1.2

export function createMoney({ ledger, clock, caps, models }: Deps): Money {
  const uncached = (usage: Usage) => usage.input + usage.cacheWrite

  const settle = (id: number, ask: Ask, result: ModelAnswer | ModelFailure, latencyMs: number) => {
    const outcome = 'failed' in result ? result.failed : 'done'
    const usage = finalUsage(result, ask.maxTokens)
    if (!usage) return ledger.leave(id, outcome, latencyMs)
    const nanos = costInNanos(usage, factsOf(ask.model, models()))
    const { input, cacheRead, cacheWrite, output } = usage
    const tokens = { input, cacheRead, cacheWrite, output, uncached: uncached(usage) }
    ledger.settle(id, { outcome, nanos, latencyMs, request: result.requestId, ...tokens })
  }

  return {
    spend: async (ask, call) => {
      const now = clock.now()
      const facts = factsOf(ask.model, models())
      const usage = mostUsage(ask, facts, ledger.tokensPerByte(ask.model))
      const nanos = costInNanos(usage, facts)
      const { job, project, model, bytes } = ask
      const entry = { at: now, day: dayOf(now), job, project, model, bytes, nanos, uncached: uncached(usage) }
      const reserved = ledger.reserve(entry, (spent) => overBy(spent, { nanos, uncached: uncached(usage) }, caps()))
      if ('refused' in reserved) return { over: reserved.refused, untilMs: nextDayMs(now) }
      await ledger.reservedForGood()
      const begunMs = clock.elapsed()
      const result = await call()
      settle(reserved.id, ask, result, clock.elapsed() - begunMs)
      return result
    },
    allowed: () => caps().usdPerDay > 0 && caps().tokensPerDay > 0,
    budget: () => {
      const spent = ledger.spentSince(dayOf(clock.now()))
      const { usdPerDay, tokensPerDay } = caps()
      return { usd: spent.nanos / NANOS, capUsd: usdPerDay, tokens: spent.uncached, capTokens: tokensPerDay }
    },
    usedUp: () => {
      const now = clock.now()
      const spent = ledger.spentSince(dayOf(now))
      // The smallest call there is.
      const over = overBy(spent, { nanos: 1, uncached: 1 }, caps())
      return over && { over, untilMs: nextDayMs(now) }
    },
    totals: (by, days) => {
      const since = dayBefore(clock.now(), days - 1)
      return { totals: ledger.totals(by, since), unpriced: ledger.unpriced(since) }
    },
  }
}

/** Which cap another call would pass; a cap of 0 is passed by any. */
export function overBy(
  spent: Spent,
  next: { nanos: number | undefined; uncached: number },
  { usdPerDay, tokensPerDay }: Caps,
): Over['over'] | undefined {
  if (usdPerDay === 0) return 'usd'
  if (tokensPerDay === 0 || spent.uncached + next.uncached > tokensPerDay) return 'tokens'
  return next.nanos !== undefined && spent.nanos + next.nanos > usdPerDay * NANOS ? 'usd' : undefined
}

/** The most a call can use: nothing of it is in a cache, and the answer is as long as it may be. */
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

/** What is to be paid for; undefined where nobody can tell, as when a server does not say what it used. */
function finalUsage(result: ModelAnswer | ModelFailure, maxTokens: number): Usage | undefined {
  if ('failed' in result && result.spent === 'nothing') return { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }
  const { usage } = result
  if (!usage || usage.input + usage.cacheRead + usage.cacheWrite === 0) return undefined
  // An answer that broke off was being written on: only its end would have told how long it had become.
  return 'failed' in result && result.spent !== 'final' ? { ...usage, output: maxTokens } : usage
}
