import { expect, it } from 'vitest'
import { createBurst } from '../../daemon/platform/burst.ts'
import { manualTime } from '../support/clock.ts'

function collecting() {
  const { clock, pass } = manualTime()
  const over: string[][] = []
  const burst = createBurst({ clock, quietMs: 100, longestMs: 350, onOver: (names) => over.push([...names]) })
  return { burst, pass, over }
}

it('is over when no name has come for a moment, and the next one begins anew', () => {
  const { burst, pass, over } = collecting()
  burst.add(['a'])
  pass(60)
  burst.add(['b', 'a'])
  pass(99)
  expect(over).toEqual([])
  pass(1)
  burst.add(['c'])
  pass(100)
  expect(over).toEqual([['a', 'b'], ['c']])
})

it('is over in any case after a while', () => {
  const { burst, pass, over } = collecting()
  for (let n = 0; n < 7; n++) {
    burst.add([String(n)])
    pass(50)
  }
  expect(over).toEqual([['0', '1', '2', '3', '4', '5', '6']])
})

it('that is stopped is never over', () => {
  const { burst, pass, over } = collecting()
  burst.add(['a'])
  burst.stop()
  pass(1_000)
  expect(over).toEqual([])
})
