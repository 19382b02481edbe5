import { expect, it } from 'vitest'
import { createCompactionGuards } from '../../daemon/context/compaction-guards.ts'
import { testCore } from '../support/core.ts'

it('remembers the last compactions of a session over a restart, until it was not compacted for long', async () => {
  const { core, home, time } = await testCore()
  const [old, recent] = [
    { harness: 'generic', sessionId: 'old' },
    { harness: 'generic', sessionId: 'recent' },
  ]
  const before = createCompactionGuards(core)
  for (const key of [old, recent]) for (let n = 0; n < 2; n++) before.failed(key)
  time.pass(1_000)
  before.failed(recent)
  const after = createCompactionGuards((await testCore({ home, time })).core)
  after.expire(time.clock.now() - 500)
  for (const key of [old, recent]) after.failed(key)
  expect(after.refusal(old, [], 'auto')).toBeUndefined()
  expect(after.refusal(recent, [], 'auto')).toMatchObject({ reason: 'breaker', message: expect.stringMatching(/^4 /) })
  after.compacted(recent, [])
  expect(after.refusal(recent, [], 'auto')).toBeUndefined()
})
