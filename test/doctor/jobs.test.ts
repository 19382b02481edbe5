import { expect, it } from 'vitest'
import { storeLayout } from '../../daemon/db/layout.ts'
import { jobFinding } from '../../daemon/doctor/jobs.ts'
import { due, jobTables, START_MS as T } from '../support/jobs.ts'

const HOUR = 3_600_000

function ground() {
  const { state, jobs, claims, claim } = jobTables()
  const found = (nowMs: number, awake = true) => jobFinding(storeLayout(state).index, { nowMs, awake })
  return { jobs, claims, claim: () => claim('me'), found }
}

it('finds nothing stuck where jobs get on', () => {
  const { jobs, claim, found } = ground()
  jobs.enqueue(due('a', 'm'), T)
  claim()
  jobs.enqueue(due('b', 'm'), T)
  jobs.enqueue(due('c', 'm', { notBeforeMs: T + 9 * HOUR }), T)
  expect(found(T + HOUR)).toEqual({ check: 'jobs', state: 'ok', message: '2 queued, 0 waiting, 1 running' })
  expect(jobFinding('/nowhere', { nowMs: T, awake: true })).toEqual({ check: 'jobs', state: 'ok', message: 'none yet' })
})

it('finds what runs for hours, what nobody takes, and what was given up', () => {
  const { jobs, claims, claim, found } = ground()
  const { id } = jobs.enqueue(due('a', 'm'), T)
  const late = T + HOUR + 1
  const warns = (message: string, remedy: string) => ({ check: 'jobs', state: 'warning', message, remedy })
  expect(found(late)).toEqual(warns(`${id} has been due for more than an hour, and nobody takes it`, 'memoryd restart'))
  claim()
  expect(found(late)).toEqual(warns(`${id} has been running for more than an hour`, `memoryd jobs kill ${id}`))
  // Nobody is to be expected at it.
  expect(found(late, false)).toMatchObject({ state: 'ok' })
  claims.settle(id, 'me', { to: 'failed', error: 'no key', failures: 3, retryAt: 0 }, T)
  expect(found(late)).toEqual(warns(`1 given up, ${id} among them: no key`, `memoryd jobs retry ${id}`))
  jobs.enqueue(due('a', 'm2'), late)
  expect(found(late)).toMatchObject({ state: 'ok' })
})
