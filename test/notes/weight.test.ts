import { describe, expect, it } from 'vitest'
import { blockTokens, contextTokens, sinceUsage } from '../../daemon/notes/weight.ts'

const used = (...tokens: (number | null)[]) => tokens.map((each) => ({ tokens: each }))

describe('the tokens in a context', () => {
  it('are what the last answer used, and an estimate of what came after it', () => {
    expect(sinceUsage(used(5, null, 900, null, null))).toBe(2)
    expect(contextTokens(used(5_000, null, 900, null), 30, 400)).toEqual({ now: 930, least: 400 })
  })

  it('are estimated a third higher where no answer says what it used', () => {
    expect(sinceUsage(used(null, 0))).toBe(2)
    expect(contextTokens(used(null, 0), 301, undefined)).toEqual({ now: 402, least: Number.POSITIVE_INFINITY })
    expect(contextTokens(used(null), 301, 1_000)).toEqual({ now: 1_402, least: 1_000 })
  })

  it('grow from the least there was since: whoever compacts begins again from little', () => {
    expect(contextTokens(used(150_000, 12_000, 17_000), 0, 140_000)).toEqual({ now: 17_000, least: 12_000 })
  })

  it('are four bytes each, two in JSON, rounded up', () => {
    expect(['', 'abcd', 'abcde', 'éé', '{"a":1}', '[1,2]', '{broken', '{}x'].map(blockTokens)).toEqual([
      0, 1, 2, 1, 4, 3, 2, 1,
    ])
  })
})
