import { describe, expect, it } from 'vitest'
import { mostUsage, overBy } from '../../daemon/models/budget.ts'
import { costInNanos, factsOf, knownModels } from '../../daemon/models/prices.ts'

const usage = { input: 1_000, cacheRead: 10_000, cacheWrite: 3_000, cacheWrite1h: 2_000, output: 500 }

describe('prices', () => {
  it('tell input, cache and output apart', () => {
    // 1,000 × $2 + 10,000 × $0.10 + 1,000 × $2.50 + 2,000 × $4 + 500 × $10, for a million each.
    expect(costInNanos(usage, factsOf('claude-sonnet-5-5'))).toBe(18_500_000)
  })

  it('follow the length of the whole prompt, cached or not', () => {
    const facts = factsOf('claude-haiku-5-5')
    const of = (input: number, cacheRead: number) => costInNanos({ input, cacheRead, cacheWrite: 0, output: 0 }, facts)
    expect(of(10_000, 90_000)).toBe(10_000 * 100 + 90_000 * 10)
    expect(of(10_001, 90_000)).toBe(10_001 * 500 + 90_000 * 50)
  })

  it('are those of the family for a version with a date', () => {
    expect(factsOf('claude-haiku-4-5-20251001')).toEqual(knownModels['claude-haiku-4-5'])
  })

  it('are unknown for a model that is unknown, also when it is called like something else', () => {
    for (const name of ['llama', 'constructor', '__proto__'])
      expect(costInNanos(usage, factsOf(name)), name).toBeUndefined()
  })

  it('can be set and changed, with what follows from them left out', () => {
    const own = {
      llama: { prices: [{ input: 1, output: 2 }] },
      'claude-haiku-5-5': {
        windowTokens: 50,
        prices: [
          { input: 9, output: 9, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 },
          { input: 3, output: 3, upToTokens: 1_000 },
        ],
      },
    }
    const small = { input: 100, cacheRead: 100, cacheWrite: 0, output: 0 }
    expect(costInNanos(small, factsOf('llama', own))).toBe(100_000 + 10_000)
    expect(costInNanos(small, factsOf('claude-haiku-5-5', own))).toBe(300_000 + 30_000)
    expect(costInNanos({ ...small, cacheRead: 1_000 }, factsOf('claude-haiku-5-5', own))).toBe(900_000)
    expect(factsOf('claude-haiku-5-5', own)).toMatchObject({ windowTokens: 50, maxOutputTokens: 128_000 })
  })
})

describe('the most a call can use', () => {
  const ask = { bytes: 1_000, maxTokens: 200, kept: undefined }

  it('is a token for two bytes while the model is new, then what was seen and a bit', () => {
    expect(mostUsage(ask, {}, undefined)).toEqual({ input: 500, cacheRead: 0, cacheWrite: 0, output: 200 })
    expect(mostUsage(ask, {}, 0.3)).toMatchObject({ input: 360 })
    expect(mostUsage(ask, {}, 5)).toMatchObject({ input: 1_000 })
  })

  it('is to write everything to the cache, where there is a mark', () => {
    expect(mostUsage({ ...ask, kept: '5m' }, {}, undefined)).toEqual({
      input: 0,
      cacheRead: 0,
      cacheWrite: 500,
      output: 200,
    })
    expect(mostUsage({ ...ask, kept: '1h' }, {}, undefined)).toMatchObject({ cacheWrite: 500, cacheWrite1h: 500 })
  })

  it('is never more than the model takes and gives', () => {
    expect(mostUsage(ask, { windowTokens: 80, maxOutputTokens: 9 }, undefined)).toMatchObject({ input: 80, output: 9 })
  })
})

describe('the caps', () => {
  const caps = { usdPerDay: 1, tokensPerDay: 100 }
  it.each([
    ['room for both', { nanos: 0, uncached: 0 }, { nanos: 5, uncached: 5 }, caps, undefined],
    ['just enough left', { nanos: 999_999_995, uncached: 95 }, { nanos: 5, uncached: 5 }, caps, undefined],
    ['a billionth too much', { nanos: 999_999_996, uncached: 0 }, { nanos: 5, uncached: 5 }, caps, 'usd'],
    ['a token too much', { nanos: 0, uncached: 96 }, { nanos: 5, uncached: 5 }, caps, 'tokens'],
    ['an unknown price', { nanos: 999_999_999, uncached: 0 }, { nanos: undefined, uncached: 5 }, caps, undefined],
    ['no dollars at all', { nanos: 0, uncached: 0 }, { nanos: 0, uncached: 0 }, { ...caps, usdPerDay: 0 }, 'usd'],
    ['no tokens at all', { nanos: 0, uncached: 0 }, { nanos: 0, uncached: 0 }, { ...caps, tokensPerDay: 0 }, 'tokens'],
  ] as const)('mind %s', (_what, spent, next, limits, expected) => {
    expect(overBy(spent, next, limits)).toBe(expected)
  })
})
