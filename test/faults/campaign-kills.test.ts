import { expect, it } from 'vitest'
import { killSeries } from '../campaign/kill-series.ts'
import { seeded } from '../support/seed.ts'

it('20 kills of all kinds amid all kinds of work lose nothing that was acknowledged', {
  timeout: 120_000,
}, async (context) => {
  const dice = { kinds: seeded('kinds', 24), clients: seeded('clients', 42) }
  const { kills, problems } = await killSeries(context, { kills: 20, dice })
  expect(problems).toEqual([])
  expect(kills).toMatchObject({ start: expect.toSatisfy(isSome), work: expect.toSatisfy(isSome) })
})

function isSome(count: number): boolean {
  return count > 0
}
