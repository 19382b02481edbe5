/** A disk that goes on failing while a change is taken back: one position of each call in `npm test`, all of them in `test:long`. */
import { expect, type TestContext } from 'vitest'
import type { Operation } from './fault-operations.ts'
import { faultTable, problemsIn, totals } from './fault-table.ts'
import { seeded } from './seed.ts'

type Case = Awaited<ReturnType<typeof faultTable>>['cases'][number]

/** What a change does to the disk, and what it does when it is taken back. */
const CALLS = ['read', 'write', 'sync', 'rename', 'unlink']

export async function leaveNoHalf(
  context: TestContext,
  operations: readonly Operation[],
  count: 'one of each' | 'all',
): Promise<void> {
  const { cases, run } = await faultTable(context, operations)
  const lasting = cases.filter(({ times, place, call }) => {
    return times === 'lasting' && (place === 'memory' || place === 'disk') && CALLS.includes(call)
  })
  const failing = lasting.map((each): Case => ({ ...each, error: 'EIO' }))
  const verdicts = await run(count === 'all' ? failing : oneOfEach(failing))
  console.info(`of ${failing.length}\n${totals(verdicts)}`)
  expect(problemsIn(verdicts)).toEqual([])
}

/** Of each call of an operation in each place: by its seed a choice is made again. */
function oneOfEach(cases: readonly Case[]): Case[] {
  const random = seeded('a disk that goes on failing')
  const groups = Map.groupBy(cases, ({ operation, place, call }) => `${operation.name} ${place} ${call}`)
  return [...groups.values()].flatMap((group) => group[Math.floor(random() * group.length)] ?? [])
}
