import { expect, it } from 'vitest'
import { brokenLaws, measureGrowth, summaryOf } from './growth.ts'
import { works } from './growth-works.ts'
import { beginPart } from './part.ts'

it('costs for twice as much about twice as much, and holds no caller up', async () => {
  const part = beginPart({ rounds: 1 })
  const failed: string[] = []
  for (const work of works) {
    if (part.isOver()) break
    const growth = await measureGrowth(work, [work.most / 4, work.most / 2, work.most])
    const problems = brokenLaws(growth)
    part.report({ row: growth.name, tried: 3, problems, more: summaryOf(growth) })
    failed.push(...problems)
  }
  expect(failed).toEqual([])
})
