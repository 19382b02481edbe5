import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createNumberMap } from '../../daemon/platform/number-map.ts'

/** Few last bits, so that many want the same place; and the ends of what a key can be. */
const someKey = fc.oneof(
  fc.integer({ min: 0, max: 300 }).map((n) => n * 4_096 + (n % 3)),
  fc.constantFrom(0, 1_023, 4_294_967_295, Number.MAX_SAFE_INTEGER),
)
const someSteps = fc.array(
  fc.record({ act: fc.constantFrom('set', 'set', 'set', 'delete', 'keep', 'clear'), key: someKey, value: fc.nat() }),
  { maxLength: 600, size: 'max' },
)

it('holds what a Map would hold, whatever is set, deleted and kept', () => {
  fc.assert(
    fc.property(someSteps, (steps) => {
      const map = createNumberMap()
      const model = new Map<number, number>()
      const isKept = (value: number) => value % 5 !== 0
      for (const { act, key, value } of steps) {
        if (act === 'set') {
          map.set(key, value)
          model.set(key, value)
        } else if (act === 'delete') {
          map.delete(key)
          model.delete(key)
        } else if (act === 'keep' && value % 10 === 0) {
          map.keep(isKept)
          for (const [key, value] of model) if (!isKept(value)) model.delete(key)
        } else if (act === 'clear' && value % 50 === 0) {
          map.clear()
          model.clear()
        }
      }
      for (const { key } of steps) expect(map.get(key)).toBe(model.get(key))
    }),
  )
})

it('grows to a hundred thousand and shrinks again without losing one', () => {
  const map = createNumberMap()
  const keyOf = (n: number) => (n * 2_654_435_761 * 97) % Number.MAX_SAFE_INTEGER
  for (let n = 0; n < 100_000; n++) map.set(keyOf(n), n)
  for (let n = 0; n < 100_000; n++) if (n % 1_000 !== 0) map.delete(keyOf(n))
  for (let n = 0; n < 100_000; n++) if (map.get(keyOf(n)) !== (n % 1_000 === 0 ? n : undefined)) expect.fail(`${n}`)
})
