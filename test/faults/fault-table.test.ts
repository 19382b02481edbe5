import { expect, it } from 'vitest'
import { kills, sample, spread } from '../support/fault-choice.ts'
import { operations } from '../support/fault-operations.ts'
import { faultTable, problemsIn, totals } from '../support/fault-table.ts'

it('100 failing file calls, and 20 kills at one, leave what was acknowledged and nothing else', {
  timeout: 180_000,
}, async (context) => {
  const { cases, run } = await faultTable(context, operations)
  for (const [all, chosen] of [
    [cases, spread(cases, 100, 'failing file calls')],
    [kills(cases), sample(kills(cases), 20, 'kills at a file call')],
  ] as const) {
    const verdicts = await run(chosen)
    console.info(`of ${all.length}, ${totals(verdicts)}`)
    expect.soft(problemsIn(verdicts)).toEqual([])
  }
})
