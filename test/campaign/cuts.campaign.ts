import { expect, it } from 'vitest'
import { cutSeries } from './cut-series.ts'
import { beginPart } from './part.ts'

it('loses nothing through power cuts', async (context) => {
  const part = beginPart({ rounds: 300 })
  const { cuts, problems } = await cutSeries(context, { cuts: part.rounds, dice: part.dice(), isOver: part.isOver })
  part.report({ row: 'power cuts', tried: cuts, problems, more: '' })
  expect(problems).toEqual([])
})
