import { describe, expect, it } from 'vitest'
import { operations } from '../support/fault-operations.ts'
import { faultTable, problemsIn, summary } from '../support/fault-table.ts'

/** What a change does to the disk, and what it does when it is taken back. */
const CALLS = ['read', 'write', 'sync', 'rename', 'unlink']
const writes = operations.filter(({ isWrite }) => isWrite)

describe('a disk that goes on failing while a change is taken back', () => {
  it.for(writes.map((operation) => [operation.name, operation] as const))(
    'leaves no half of it: %s',
    { timeout: 180_000 },
    async ([, operation], context) => {
      const { cases, run } = await faultTable(context, [operation])
      const lasting = cases.filter(({ times, place, call }) => {
        return times === 'lasting' && (place === 'memory' || place === 'disk') && CALLS.includes(call)
      })
      const verdicts = await run(lasting.map((each) => ({ ...each, error: 'EIO' })))
      console.info(summary(verdicts))
      expect(problemsIn(verdicts)).toEqual([])
    },
  )
})
