import { expect, it } from 'vitest'
import { longConversation } from '../support/long-conversation.ts'

it.each(['with', 'without'] as const)('runs two million tokens in a window of 200,000 %s a key', async (key) => {
  const { refused, refusals, compactions } = await longConversation({ tokens: 2_000_000, key })
  expect(refused).toEqual([])
  expect(refusals).toBe(0)
  expect(compactions).toBeGreaterThan(5)
})
