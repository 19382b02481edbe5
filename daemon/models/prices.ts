/** Limits and prices of models, to which settings may add. The cost of other models is unknown, which is not nothing. */
import type { Usage } from './wire.ts'

type Rates = { input: number; output: number; cacheRead: number; cacheWrite5m: number; cacheWrite1h: number }

/** The first tier whose limit the whole prompt does not pass, cached parts included, is the one that counts. */
type Tier = Rates & { upToTokens?: number | undefined }

export type ModelFacts = {
  windowTokens?: number | undefined
  maxOutputTokens?: number | undefined
  tiers?: readonly Tier[] | undefined
}

/** Writing to the cache costs a quarter more than plain input, or twice as much when it is kept for an hour. */
function rates(input: number, output: number, cacheRead = input / 10): Rates {
  return { input, output, cacheRead, cacheWrite5m: input * 1.25, cacheWrite1h: input * 2 }
}

const LARGE = { windowTokens: 1_000_000, maxOutputTokens: 128_000 }

/** Prices as published in November 2026. */
export const knownModels: Readonly<Record<string, ModelFacts>> = {
  'claude-haiku-5-5': { ...LARGE, tiers: [{ ...rates(0.1, 0.5), upToTokens: 100_000 }, rates(0.5, 2.5)] },
  'claude-sonnet-5-5': { ...LARGE, tiers: [rates(2, 10, 0.1)] },
  'claude-opus-5-5': { ...LARGE, tiers: [rates(4, 20, 0.2)] },
  'claude-sonnet-5': { ...LARGE, tiers: [rates(2, 10)] },
  'claude-opus-5': { ...LARGE, tiers: [rates(5, 25)] },
  'claude-haiku-4-5': { windowTokens: 200_000, maxOutputTokens: 64_000, tiers: [rates(1, 5)] },
}

/** As in the settings: prices that are left out follow from the others. */
type OwnPrices = Pick<Tier, 'input' | 'output' | 'upToTokens'> & { [K in keyof Rates]?: number | undefined }
type OwnModel = Omit<ModelFacts, 'tiers'> & { prices?: readonly OwnPrices[] | undefined }

export type OwnModels = Readonly<Record<string, OwnModel>>

export function factsOf(model: string, own: OwnModels = {}): ModelFacts {
  const family = model.replace(/-\d{8}$/, '')
  const known = pick(knownModels, model) ?? pick(knownModels, family) ?? {}
  const { prices, windowTokens, maxOutputTokens } = pick(own, model) ?? pick(own, family) ?? {}
  return {
    windowTokens: windowTokens ?? known.windowTokens,
    maxOutputTokens: maxOutputTokens ?? known.maxOutputTokens,
    tiers: prices ? tiersOf(prices) : known.tiers,
  }
}

function tiersOf(prices: readonly OwnPrices[]): Tier[] {
  const tiers = prices.map(({ upToTokens, ...own }) => {
    const told = Object.entries(own).filter(([, value]) => value !== undefined)
    return { ...rates(own.input, own.output), ...Object.fromEntries(told), upToTokens }
  })
  return tiers.sort((a, b) => (a.upToTokens ?? Number.POSITIVE_INFINITY) - (b.upToTokens ?? Number.POSITIVE_INFINITY))
}

function pick<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

const NANOS_PER_TOKEN = 1_000

/** In billionths of a dollar, rounded up; undefined where the price is unknown. */
export function costInNanos(usage: Usage, { tiers = [] }: ModelFacts): number | undefined {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite
  const tier = tiers.find(({ upToTokens }) => upToTokens === undefined || prompt <= upToTokens) ?? tiers.at(-1)
  if (!tier) return undefined
  const long = Math.min(usage.cacheWrite1h ?? 0, usage.cacheWrite)
  const dollarsPerMillion =
    usage.input * tier.input +
    usage.cacheRead * tier.cacheRead +
    (usage.cacheWrite - long) * tier.cacheWrite5m +
    long * tier.cacheWrite1h +
    usage.output * tier.output
  // Rounded first: a floating-point error must not become another billionth.
  return Math.ceil(Math.round(dollarsPerMillion * NANOS_PER_TOKEN * 1_000) / 1_000)
}
