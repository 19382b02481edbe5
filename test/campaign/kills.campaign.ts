import { expect, it } from 'vitest'
import { KINDS, killSeries } from './kill-series.ts'
import { beginPart } from './part.ts'

it('loses nothing through random kills', async (context) => {
  const part = beginPart({ rounds: 10_000 })
  const series = { kills: part.rounds, dice: part.dice(), homes: 2, isOver: part.isOver }
  const { kills, problems } = await killSeries(context, series)
  const tried = KINDS.reduce((sum, kind) => sum + kills[kind], 0)
  part.report({ row: 'kills', tried, problems, more: `${kills.start} during a start, ${kills.call} at a file call` })
  expect(problems).toEqual([])
})
