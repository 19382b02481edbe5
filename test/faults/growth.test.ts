import { expect, it } from 'vitest'
import { brokenLaws, measureGrowth } from '../campaign/growth.ts'
import { works } from '../campaign/growth-works.ts'

/** The campaign has all of them, up to a hundred thousand. */
const some = works.flatMap((work) => {
  if (work.name === 'turns of one session, read') return [{ work, sizes: [1_000, 2_000] }]
  return work.name.startsWith('messages, measured and compacted') ? [{ work, sizes: [3_000, 6_000] }] : []
})

it.each(some)(
  '$work.name: twice as much costs about twice as much, and holds no caller up',
  async ({ work, sizes }) => {
    const growth = await measureGrowth(work, sizes)
    console.info(JSON.stringify(growth))
    expect(brokenLaws(growth, 1.4)).toEqual([])
  },
)
