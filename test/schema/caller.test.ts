import { describe, expect, it } from 'vitest'
import { decodeVariables, encodeVariables, GUIDELINES, GUIDELINES_CHARS } from '../../schema/caller.ts'

describe('the variables of a caller', () => {
  it('travel as ASCII and arrive as they were, without those that are none of ours', () => {
    const env = { CLAUDE_CONFIG_DIR: '/home/jürgen/设置', [GUIDELINES]: 'One.\nTwo 😀', SECRET: 'x' }
    const header = encodeVariables(env)
    expect(header).toMatch(/^[ -~]+$/)
    expect(decodeVariables(header)).toEqual({ CLAUDE_CONFIG_DIR: env.CLAUDE_CONFIG_DIR, [GUIDELINES]: env[GUIDELINES] })
  })

  it('fit a header however long the guidelines are, and still tell that they were longer', () => {
    const header = encodeVariables({ [GUIDELINES]: '好'.repeat(100_000) })
    expect(header.length).toBeLessThan(60_000)
    expect(decodeVariables(header)?.[GUIDELINES]).toHaveLength(GUIDELINES_CHARS + 1)
  })
})
