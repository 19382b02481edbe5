import { expect, it } from 'vitest'
import { createLru } from '../../daemon/platform/lru.ts'

it('forgets what was used least recently', () => {
  const map = createLru<string, number>(2)
  map.set('a', 1)
  map.set('b', 2)
  expect(map.get('a')).toBe(1)
  map.set('c', 3)
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([1, undefined, 3])
  map.set('a', 4)
  map.set('d', 5)
  expect([...map.values()]).toEqual([4, 5])
  expect([map.has('c'), map.delete('a'), map.delete('a')]).toEqual([false, true, false])
  map.clear()
  expect([...map.values()]).toEqual([])
})
