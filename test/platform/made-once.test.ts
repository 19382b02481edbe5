import { expect, it } from 'vitest'
import { madeOnce } from '../../daemon/platform/made-once.ts'

it('is made again only of something else', () => {
  let from = { n: 1 }
  const twice = madeOnce(
    () => from,
    ({ n }) => ({ twice: 2 * n }),
  )
  const first = twice()
  expect(twice()).toBe(first)
  from = { n: 2 }
  expect(twice()).toEqual({ twice: 4 })
})
