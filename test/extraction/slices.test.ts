import { expect, it } from 'vitest'
import { slicesOf, timesOf } from '../../daemon/extraction/slices.ts'
import type { SaidMessage } from '../../daemon/sessions/message-table.ts'

const message = (id: number, by: string, length: number, more: Partial<SaidMessage> = {}): SaidMessage => ({
  id,
  uid: `u${id}`,
  harness: 'h',
  path: '/t.jsonl',
  offset: 0,
  length,
  at: id,
  by,
  startsTurn: by === 'person' ? 1 : 0,
  ends: null,
  toolCalls: 0,
  tokens: null,
  ...more,
})

it('keeps turns together as long as they fit, and parts one that does not fit by itself', () => {
  const turn = (from: number) => [message(from, 'person', 400), message(from + 1, 'agent', 400)]
  expect(slicesOf([...turn(1), ...turn(3), ...turn(5)], 400).map((slice) => slice.map(({ id }) => id))).toEqual([
    [1, 2, 3, 4],
    [5, 6],
  ])
  const long = [message(1, 'person', 400), ...Array.from({ length: 150 }, (_, n) => message(n + 2, 'tool', 5_000))]
  const slices = slicesOf([...long, message(200, 'person', 400)])
  expect(slices.flat()).toHaveLength(152)
  for (const slice of slices) expect(slice.filter(({ by }) => by === 'tool').length).toBeLessThanOrEqual(36)
  expect(slices[0]?.[0]?.id).toBe(1)
})

it('knows when everything was said, also what says nothing of the time', () => {
  const part = [message(1, 'person', 1, { at: null }), message(2, 'agent', 1), message(3, 'person', 1, { at: null })]
  expect(part.map(timesOf(part, 99))).toEqual([99, 2, 2])
})
