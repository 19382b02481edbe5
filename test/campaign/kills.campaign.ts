import { expect, it } from 'vitest'
import { seeded } from '../support/seed.ts'
import { killSeries } from './kill-series.ts'

it('loses nothing', async (context) => {
  const t = performance.now()
  const { kills, problems } = await killSeries(context, { kills: Number(process.env.KILLS ?? 50), random: seeded('kills') })
  console.info(JSON.stringify(kills), `${Math.round(performance.now() - t)} ms`)
  expect(problems).toEqual([])
})
