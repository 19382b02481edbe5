import { expect, it } from 'vitest'
import { kills } from '../support/fault-choice.ts'
import { listeners, operations } from '../support/fault-operations.ts'
import { faultTable, problemsIn } from '../support/fault-table.ts'
import { beginPart } from './part.ts'

it('leaves what was acknowledged and nothing else, whichever file call fails or is the last', async (context) => {
  const part = beginPart({ rounds: 1 })
  const failed: string[] = []
  for (const operation of [...operations, ...listeners]) {
    if (part.isOver()) break
    const { cases, run } = await faultTable(context, [operation])
    for (const [row, some] of [
      [`failing file calls: ${operation.name}`, cases],
      [`kills at each file call: ${operation.name}`, operation.isWrite ? kills(cases) : []],
    ] as const) {
      const problems = problemsIn(await run(some))
      if (some.length > 0) part.report({ row, tried: some.length, problems, more: '' })
      failed.push(...problems)
    }
  }
  expect(failed).toEqual([])
})
