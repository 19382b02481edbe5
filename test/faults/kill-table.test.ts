import { expect, it } from 'vitest'
import { operations } from '../support/fault-operations.ts'
import { faultTable, kills, problemsIn, sample, summary } from '../support/fault-table.ts'

const writes = operations.filter(({ isWrite }) => isWrite)

it('20 kills at a file call leave all of a change or nothing', { timeout: 120_000 }, async (context) => {
  const { cases, run } = await faultTable(context, writes)
  const verdicts = await run(sample(kills(cases), 20, 'kills at a file call'))
  console.info(`of ${kills(cases).length} kills\n${summary(verdicts)}`)
  expect(problemsIn(verdicts)).toEqual([])
})
