import { expect, it } from 'vitest'
import { longConversation } from '../support/long-conversation.ts'

it.each([
  ['with', 'full'],
  ['without', 'extractive'],
] as const)(
  'runs 300,000 tokens in a window of 200,000 %s a key, and the API refuses nothing',
  async (key, strategy) => {
    const { refused, refusals, compactions, did, stored, summaries } = await longConversation({ tokens: 300_000, key })
    expect(refused).toEqual([])
    expect(refusals).toBe(0)
    expect(compactions).toBeGreaterThan(0)
    expect(stored).toBeGreaterThan(0)
    expect(did.find(({ step }) => step === 'compact')).toMatchObject({ strategy })
    expect(summaries > 0).toBe(key === 'with')
  },
)
