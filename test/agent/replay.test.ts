import { describe, expect, it } from 'vitest'
import { partsOf, renderMessage } from '../../daemon/agent/rendering.ts'
import { tokensIn } from '../../daemon/platform/text.ts'
import { replay } from '../bench/replay.ts'
import { makeHome } from '../support/home.ts'
import { longSession } from '../support/long-session.ts'

describe('a long session', () => {
  it('is always the same one, of about 2,000 tokens a turn', () => {
    const session = longSession(60)
    expect(longSession(200).slice(0, 60)).toEqual(session)
    const sizes = session.map((turn) =>
      turn.reduce((sum, message) => sum + tokensIn(renderMessage(1, message, partsOf(message), {}).text), 0),
    )
    expect(sizes.reduce((sum, size) => sum + size, 0) / 60).toBeCloseTo(2_150, -2)
    expect([Math.min(...sizes) > 1_800, Math.max(...sizes) < 2_500]).toEqual([true, true])
  })

  it('is read from the cache by the jobs after each turn, and told anew once it is too long', async () => {
    const costs = await replay({ home: makeHome(), session: longSession(35), compactAt: [], prefix: 'shared' })
    const sum = (of: 'read' | 'input') => costs.reduce((total, each) => total + each[of], 0)
    expect(sum('read') / sum('input')).toBeGreaterThan(0.75)
    const notes = costs.filter(({ job }) => job === 'notes').map(({ input }) => input)
    const shorter = notes.filter((input, n) => input < (notes[n - 1] ?? 0))
    expect([notes.length, shorter.length]).toEqual([11, 1])
    // With tools, preamble and task, as the server counts them.
    expect(Math.max(...notes)).toBeLessThan(75_000)
  })
})
