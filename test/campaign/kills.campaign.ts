import { expect, it } from 'vitest'
import { KINDS, killSeries } from './kill-series.ts'
import { beginPart } from './part.ts'

it('loses nothing through random kills', async (context) => {
  const part = beginPart({ rounds: 10_000 })
  const series = { kills: part.rounds, dice: part.dice(), homes: 2, isOver: part.isOver }
  const { kills, problems } = await killSeries(context, series)
  const tried = KINDS.reduce((sum, kind) => sum + kills[kind], 0)
  part.report({ row: 'kills', tried: tried - kills.call, problems, more: `${kills.start} of them during a start` })
  part.report({ row: 'kills at a file call', tried: kills.call, problems: [], more: '' })
  expect(problems).toEqual([])
})
