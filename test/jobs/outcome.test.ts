import { expect, it } from 'vitest'
import { endingOf } from '../../daemon/jobs/outcome.ts'

const NOW = 1_000_000
const retryIn = (failures: number, random: number, afterMs?: number) => {
  const ending = endingOf({ failed: 'x', afterMs }, { failures, nowMs: NOW, random: () => random })
  return 'retryAt' in ending ? ending.retryAt - NOW : undefined
}

it('spreads retries over the second half of a time that grows fourfold, up to a quarter of an hour', () => {
  expect([0, 1, 2, 3, 9].map((failures) => [retryIn(failures, 0), retryIn(failures, 1)])).toEqual([
    [15_000, 30_000],
    [60_000, 120_000],
    [240_000, 480_000],
    [450_000, 900_000],
    [450_000, 900_000],
  ])
})

it('comes no earlier than it was told, and no earlier than it would by itself', () => {
  expect([retryIn(0, 1, 500_000), retryIn(0, 1, 5)]).toEqual([500_000, 30_000])
})

it('does not ask again at once when the moment to wait for has passed', () => {
  expect(endingOf({ postponed: 'budget', untilMs: NOW - 5 }, { failures: 2, nowMs: NOW, random: () => 0 })).toEqual({
    to: 'waiting',
    error: 'budget',
    retryAt: NOW + 1_000,
  })
})
