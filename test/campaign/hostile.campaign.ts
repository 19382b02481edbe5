import { expect, it } from 'vitest'
import { hostileParts } from './hostile.ts'
import { beginPart } from './part.ts'

it('answers whatever it is sent, keeps no credential, and lets nothing escape', async () => {
  const part = beginPart({ rounds: 1 })
  const failed: string[] = []
  for (const run of hostileParts(part.seed)) {
    if (part.isOver()) break
    const { name, tried, problems } = await run()
    part.report({ row: name, tried, problems, more: '' })
    failed.push(...problems)
  }
  expect(failed).toEqual([])
})
