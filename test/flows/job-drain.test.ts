import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createJobTable } from '../../daemon/jobs/job-table.ts'
import { makeHome } from '../support/home.ts'
import { begin } from '../support/job-kills.ts'
import { due } from '../support/jobs.ts'

/** Stops the program with SIGTERM while a job of so many ms runs; gives what is left of the job. */
async function stopWithin(drainMs: number, jobMs: number) {
  const state = join(makeHome().dir, 'state')
  const enqueue = openDatabases(state, Date.now())
  const { id } = createJobTable(enqueue.index).enqueue(due('s1', 'm1', { kind: 'slow', input: { ms: jobMs } }), 0)
  enqueue.close()
  const { child, exited, working } = begin(state, drainMs)
  await working
  child.kill('SIGTERM')
  const exit = await exited
  const store = openDatabases(state, Date.now())
  const left = createJobTable(store.index).get(id)
  const owners = store.index().prepare('SELECT count(*) FROM jobs WHERE owner IS NOT NULL').pluck().get()
  store.close()
  return { exit, job: { state: left?.state, attempts: left?.attempts, failures: left?.failures }, owners }
}

it('lets a running job finish on SIGTERM', async () => {
  expect(await stopWithin(60_000, 300)).toEqual({
    exit: { code: 0, signal: null, stderr: '' },
    job: { state: 'done', attempts: 1, failures: 0 },
    owners: 0,
  })
})

it('aborts it when the time to drain is over, and holds on to nothing', async () => {
  expect(await stopWithin(50, 50_000)).toEqual({
    exit: { code: 0, signal: null, stderr: '' },
    job: { state: 'queued', attempts: 0, failures: 0 },
    owners: 0,
  })
})
