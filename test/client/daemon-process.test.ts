import { expect, it } from 'vitest'
import { answersElsewhere } from '../../client/cli/daemon-process.ts'

const holder = { pid: 7, version: '0.1.0', socket: '/run/a/memoryd.sock', startedAt: '2026-11-18T09:00:00.000Z' }

it('takes only a daemon that names another socket for one that answers elsewhere', () => {
  expect(answersElsewhere(holder, '/run/b/memoryd.sock')).toBe(true)
  expect(answersElsewhere(holder, '/run/a/memoryd.sock')).toBe(false)
})

it('waits for one that has taken its name away, for it is about to let go of the lock', () => {
  expect(answersElsewhere(undefined, '/run/a/memoryd.sock')).toBe(false)
})
