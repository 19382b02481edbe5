import { describe, expect, it } from 'vitest'
import { kills } from '../support/fault-choice.ts'
import { listeners, operations } from '../support/fault-operations.ts'
import { faultTable, problemsIn, summary } from '../support/fault-table.ts'

const named = [...operations, ...listeners].map((operation) => [operation.name, operation] as const)

describe('whichever file call', () => {
  it.for(named)(
    'fails, once or for long: %s leaves what was acknowledged and nothing else',
    async ([, one], context) => {
      const { cases, run } = await faultTable(context, [one])
      const verdicts = await run(cases)
      console.info(summary(verdicts))
      expect(problemsIn(verdicts)).toEqual([])
    },
  )

  it.for(named.filter(([, { isWrite }]) => isWrite))(
    'is the last: %s is whole or not at all',
    async ([, one], context) => {
      const { cases, run } = await faultTable(context, [one])
      const verdicts = await run(kills(cases))
      console.info(summary(verdicts))
      expect(problemsIn(verdicts)).toEqual([])
    },
  )
})
