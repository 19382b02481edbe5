import { expect, it } from 'vitest'
import { createLifecycle } from '../../daemon/platform/lifecycle.ts'
import { manualTime } from '../support/clock.ts'

it('stops parts in reverse order, and all of them though one fails', async () => {
  const parts = createLifecycle(manualTime().clock)
  const stopped: string[] = []
  for (const name of ['store', 'jobs', 'server']) {
    parts.add(name, async () => {
      await Promise.resolve()
      stopped.push(name)
      if (name === 'jobs') throw new Error('stuck')
    })
  }
  const failures: unknown[] = []
  expect(await parts.stop(1_000, (failure) => failures.push(failure))).toEqual({ outcome: 'unclean' })
  expect(failures).toEqual([{ part: 'jobs', error: new Error('stuck') }])
  expect(stopped).toEqual(['server', 'jobs', 'store'])
})

it('tells the parts when the drain time is over, and stops each only once', async () => {
  const time = manualTime()
  const parts = createLifecycle(time.clock)
  let stops = 0
  parts.add('store', () => void stops++)
  parts.add('server', (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())))
  const stopped = parts.stop(60_000, () => {})
  expect(stops).toBe(0)
  time.pass(60_000)
  expect(await stopped).toEqual({ outcome: 'clean' })
  await parts.stop(0, () => {})
  expect(stops).toBe(1)
})
