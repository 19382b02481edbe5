import { it } from 'vitest'
import { operations } from '../support/fault-operations.ts'
import { leaveNoHalf } from '../support/half-changes.ts'

const writes = operations.filter(({ isWrite }) => isWrite)

it('a disk that goes on failing while a change is taken back leaves no half of it', { timeout: 180_000 }, (context) =>
  leaveNoHalf(context, writes, 'one of each'),
)
