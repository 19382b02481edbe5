import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { StrictClient } from '../../client/index.ts'
import { type Databases, openDatabases } from '../../daemon/db/databases.ts'
import { createJobClaims, createJobTable } from '../../daemon/jobs/job-table.ts'
import { cliMain, memoryd } from '../support/cli.ts'
import { connectAs } from '../support/connect-as.ts'
import { collectEvents } from '../support/events.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { due } from '../support/jobs.ts'

const IN_A_YEAR = Date.now() + 365 * 86_400_000

/** While no daemon runs. */
function withStore<T>(home: Home, work: (store: Databases) => T): T {
  const store = openDatabases(home.places.stateDir, Date.now())
  try {
    return work(store)
  } finally {
    store.close()
  }
}

/** A job that the daemon could do, but for the time it is due at. */
const later = (home: Home) =>
  withStore(home, ({ index }) =>
    createJobTable(index).enqueue(due('later', 'm1', { kind: 'housekeeping', notBeforeMs: IN_A_YEAR }), Date.now()),
  )

/** Everything that is told of one job from now on; ready when it is returned. */
async function jobEvents(client: StrictClient, id: string) {
  const { seen, until } = await collectEvents(client, 'job')
  const told = () => seen.filter((event) => event.id === id)
  return async (state: string) => {
    await until(() => told().some((event) => event.state === state))
    return told()
  }
}

describe('jobs over the socket', () => {
  it('are listed, killed and tried again, and each step is told', async () => {
    const home = makeHome()
    const { id } = later(home)
    await startDaemon(home)
    const person = connectAs(home, 'user')
    const until = await jobEvents(person, id)
    const { items } = await person.jobs({ state: 'queued' })
    const queued = {
      id,
      kind: 'housekeeping',
      key: 'later',
      state: 'queued',
      attempts: 0,
      createdAt: expect.any(String),
      dueAt: new Date(IN_A_YEAR).toISOString(),
    }
    expect(items).toEqual([queued])
    expect(await person.job({ id })).toEqual({ ...queued, watermark: 'm1' })
    // The housekeeping of the start may still run.
    const counts = { queued: 1, waiting: 0, running: 0, failed: 0 }
    await expect.poll(async () => (await person.status()).jobs, { timeout: 30_000 }).toEqual(counts)
    expect(await person.killJob({ id })).toMatchObject({ id, state: 'killed', endedAt: expect.any(String) })
    expect(await person.killJob({ id })).toMatchObject({ id, state: 'killed' })
    await expect(connectAs(home, 'agent:x').retryJob({ id })).rejects.toMatchObject({ code: 'REFUSED' })
    expect(await person.retryJob({ id })).toMatchObject({ id })
    const told = await until('done')
    expect(told).toMatchObject([
      { type: 'job', at: expect.any(String), id, kind: 'housekeeping', key: 'later', state: 'killed' },
      { state: 'queued' },
      { state: 'running' },
      { state: 'done' },
    ])
    expect(await person.job({ id })).toMatchObject({ state: 'done', attempts: 1, result: { deleted: 0 } })
    await expect(person.killJob({ id })).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(person.retryJob({ id })).rejects.toMatchObject({ code: 'CONFLICT' })
    for (const ask of [person.job, person.killJob, person.retryJob])
      await expect(ask({ id: 'none' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('that a dead daemon had begun are done by the next', async () => {
    const home = makeHome()
    const id = withStore(home, ({ index }) => {
      const enqueued = createJobTable(index).enqueue(due('x', 'm1', { kind: 'housekeeping' }), Date.now())
      const sorts = [{ kinds: ['housekeeping'], atOnce: 1 }]
      createJobClaims(index).claim({
        owner: 'dead',
        nowMs: Date.now(),
        sorts,
        low: [],
        dirOf: () => undefined,
        busy: [],
      })
      return enqueued.id
    })
    const daemon = await startDaemon(home)
    const until = await jobEvents(daemon.client, id)
    const job = await daemon.client.job({ id })
    if (job.state !== 'done') await until('done')
    expect(await daemon.client.job({ id })).toMatchObject({ state: 'done', attempts: 2 })
  })
})

describe('memoryd jobs', () => {
  it('lists, shows, kills and retries', async () => {
    const home = makeHome()
    const { id } = later(home)
    await startDaemon(home)
    const list = await memoryd(home, 'jobs', '--state', 'queued')
    expect(list).toEqual({ code: 0, stdout: expect.stringMatching(`queued   ${id}  later\n$`), stderr: '' })
    const json = await memoryd(home, 'jobs', 'list', '--state', 'queued', '--json')
    expect(JSON.parse(json.stdout)).toMatchObject({ items: [{ id, state: 'queued' }] })
    expect((await memoryd(home, 'jobs', 'show', id)).stdout).toMatch(
      new RegExp(`^${id} is queued.*\n {2}kind {8}housekeeping\n {2}of {10}later\n`),
    )
    expect((await memoryd(home, 'jobs', 'kill', id)).stdout).toMatch(`${id} is killed`)
    expect(await memoryd(home, 'jobs', 'retry', id)).toMatchObject({ code: 0 })
    expect(await memoryd(home, 'jobs', 'show', 'none')).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('there is no job none'),
    })
    expect(await memoryd(home, 'jobs', '--state', 'waiting')).toMatchObject({ stdout: 'no job is waiting\n' })
  })

  it('watches until the daemon ends, and says so', async () => {
    const home = makeHome()
    const { id } = later(home)
    const daemon = await startDaemon(home)
    const child = spawn(process.execPath, [cliMain, 'jobs', 'watch', '--json'], {
      env: home.env as NodeJS.ProcessEnv,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const exited = new Promise((resolve) => child.once('close', resolve))
    const states: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      const told = JSON.parse(line)
      if (told.id !== id) continue
      states.push(told.state)
      if (told.state === 'queued') await daemon.client.killJob({ id })
      else void daemon.stop()
    }
    expect([await exited, states]).toEqual([3, ['queued', 'killed']])
  })
})
