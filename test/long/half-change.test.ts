import { describe, it } from 'vitest'
import { operations } from '../support/fault-operations.ts'
import { leaveNoHalf } from '../support/half-changes.ts'

const writes = operations.filter(({ isWrite }) => isWrite).map((operation) => [operation.name, operation] as const)

describe('a disk that goes on failing from any file call on', () => {
  it.for(writes)('leaves no half of a change: %s', ([, operation], context) => leaveNoHalf(context, [operation], 'all'))
})
