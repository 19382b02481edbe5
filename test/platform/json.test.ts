import fc from 'fast-check'
import { expect, it } from 'vitest'
import { shapeOf } from '../../daemon/platform/json.ts'

it.each([
  ['{}', 1, 2],
  ['{"a":[1,2,3]}', 2, 5],
  ['"[[[,,,"', 0, 1],
  ['"\\"[["', 0, 1],
  ['"\\\\"[[', 2, 3],
  ['"never closed [[', 0, 1],
  ['[[[[', 4, 5],
])('%s nests %i deep and holds at most %i values', (text, depth, values) => {
  expect(shapeOf(text)).toEqual({ depth, values })
})

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
const countOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Object.values(value).reduce((sum: number, each) => sum + countOf(each), 0)
    : 1

it('never tells less than there is', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const { depth, values } = shapeOf(JSON.stringify(value))
      expect(depth).toBe(depthOf(value))
      expect(values).toBeGreaterThanOrEqual(countOf(value) / 2)
    }),
  )
})
