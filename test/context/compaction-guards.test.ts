import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createCompactions } from '../../daemon/context/compaction-guards.ts'
import { openDatabases } from '../../daemon/db/databases.ts'
import { makeHome } from '../support/home.ts'

it('remembers what became of the last compactions of a session until nobody has asked for long', () => {
  const state = join(makeHome().dir, 'state')
  mkdirSync(state)
  const first = openDatabases(state, 0)
  const before = createCompactions(first.history)
  before.put('a', { failures: 2, summary: undefined, answers: 0 }, 100)
  before.put('a', { failures: 0, summary: 'hash', answers: 7 }, 200)
  before.put('b', { failures: 3, summary: undefined, answers: 0 }, 100)
  first.close()
  const second = openDatabases(state, 0)
  onTestFinished(() => second.close())
  const after = createCompactions(second.history)
  expect(after.find('a')).toEqual({ failures: 0, summary: 'hash', answers: 7 })
  expect(after.expire(150)).toBe(1)
  expect([after.find('a')?.answers, after.find('b')]).toEqual([7, undefined])
})
