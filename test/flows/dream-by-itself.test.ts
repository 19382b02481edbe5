import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { StrictClient } from '../../client/index.ts'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createSchedules } from '../../daemon/jobs/scheduler.ts'
import { claudeSession } from '../support/claude-session.ts'
import { dreamGround, dreamModel, goodDream, read, snapshot, write } from '../support/dream-ground.ts'
import { collectEvents } from '../support/events.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { jobEnds } from '../support/job-ends.ts'
import { says } from '../support/messages-api/answers.ts'

const DAY_MS = 86_400_000

const lockOf = (dir: string) => join(dir, '.consolidate-lock')

/** As if so much time had passed since the last dream. */
function consolidated(dir: string, agoMs: number): void {
  writeFileSync(lockOf(dir), '')
  const at = Date.now() - agoMs
  utimesSync(lockOf(dir), at / 1_000, at / 1_000)
}

/** Says something in a session and waits until that is known. */
async function turn(home: Home, client: StrictClient, id: string, project = 'project'): Promise<void> {
  const turns = await collectEvents(client, 'turn')
  claudeSession(home, id, project).say('Can you look at the failing test?', 'It is fixed.')
  await turns.until((seen) => seen.some(({ sessionId }) => sessionId === id))
}

/** The calendar as it is when its moment has come while the daemon was away. */
function missed(home: Home, name: string, agoMs: number): void {
  const store = openDatabases(home.places.stateDir, Date.now())
  const schedules = createSchedules(store.history)
  const known = schedules.get(name)
  if (!known) throw new Error(`${name} is not planned`)
  schedules.set({ ...known, nextDueMs: Date.now() - agoMs, plannedMs: Date.now() - 2 * agoMs })
  store.close()
}

describe('with defaults and a key', () => {
  it('it happens after five sessions and a day, costs less than the cap, and is told once', async () => {
    // It also looks for what was said elsewhere, which is none of its business.
    const { home } = await dreamModel((n) => {
      const turn = goodDream(n)
      return n === 1 && Array.isArray(turn) ? [...turn, read('../elsewhere.jsonl'), read('../one.jsonl')] : turn
    })
    const { cwd, dir, before } = dreamGround(home)
    writeFileSync(join(dir, '..', 'elsewhere.jsonl'), '')
    consolidated(dir, DAY_MS - 60_000)
    const { client } = await startDaemon(home)
    const ends = await jobEnds(client, 'dream')
    for (const id of ['one', 'two', 'three', 'four', 'five', 'six']) await turn(home, client, id)
    expect((await client.dreamStatus({ cwd })).lastCheck).toMatchObject({ trigger: 'turn', gate: 'time' })
    expect(snapshot(dir)).toEqual(before)

    consolidated(dir, DAY_MS + 1_000)
    await turn(home, client, 'six')
    expect(await ends.next()).toMatchObject({ state: 'done', result: { outcome: 'applied', merged: 5, updated: 4 } })
    const { last } = await client.dreamStatus({ cwd })
    expect(last).toMatchObject({ trigger: 'turn', outcome: 'applied', sessions: 5, denials: 1 })
    const { budget, projects } = await client.status()
    expect(last?.spent?.usd).toBeGreaterThan(0)
    expect(budget.usd).toBeLessThan(budget.capUsd)
    expect(Date.now() - Date.parse(projects[0]?.lastDreamAt ?? '')).toBeLessThan(60_000)
    const told = await Promise.all(['one', 'six'].map((id) => client.notices({ id })))
    expect(told.map(({ items }) => items.filter(({ kind }) => kind === 'dream').length)).toEqual([0, 1])
    expect(told[1]?.items.find(({ kind }) => kind === 'dream')).toMatchObject({
      files: [],
      text: expect.stringMatching(/^dreamed: 5 merged, 4 updated, 3 removed, for \$0\.\d{4}; /),
    })
    // And not again.
    await turn(home, client, 'one')
    expect((await client.dreamStatus({ cwd })).lastCheck).toMatchObject({ gate: 'time' })
  })

  it('too few sessions are counted once in ten minutes, and the calendar looks as well, also for what it missed', async () => {
    const home = makeHome()
    const { cwd, dir } = dreamGround(home)
    const first = await startDaemon(home)
    await first.client.memoryIndex({ cwd })
    for (const id of ['one', 'two', 'three', 'four']) await turn(home, first.client, id)
    const { lastCheck } = await first.client.dreamStatus({ cwd })
    expect(lastCheck).toMatchObject({
      gate: 'throttle',
      gates: [{}, {}, { facts: { minutes: expect.any(Number), scanMinutes: 10 } }],
    })
    await turn(home, first.client, 'five')
    await first.stop()

    missed(home, 'dream', 3 * 3_600_000)
    const second = await startDaemon(home)
    const ends = await jobEnds(second.client, 'dream')
    expect(await ends.next()).toMatchObject({ result: { outcome: 'applied', merged: 5 } })
    const { last } = await second.client.dreamStatus({ cwd })
    expect(last).toMatchObject({ trigger: 'cron', mode: 'rules', sessions: 5 })
    expect(Object.keys(snapshot(dir))).toHaveLength(56)
  })
})

describe('sessions of a project', () => {
  it('count where the project is the whole home', async () => {
    const home = makeHome()
    const { client } = await startDaemon(home)
    const cwd = home.dir
    mkdirSync(join(cwd, '.git'))
    await client.remember({ cwd, text: 'The printer is on the third floor' })
    for (const id of ['one', 'two']) await turn(home, client, id, '.')
    expect(await client.dream({ cwd, explain: true })).toMatchObject({
      gates: expect.arrayContaining([
        { gate: 'sessions', facts: expect.objectContaining({ sessions: 2 }), why: expect.any(String) },
      ]),
    })
  })

  it('are not told of when it is private, though another one keeps its memories in the same place', {
    timeout: 20_000,
  }, async () => {
    const { api, home } = await dreamModel(() => says('All is in order.'))
    const shared = join(home.dir, 'shared', 'memories')
    mkdirSync(join(home.dir, '.claude'), { recursive: true })
    writeFileSync(join(home.dir, '.claude', 'settings.json'), JSON.stringify({ autoMemoryDirectory: shared }))
    const { cwd } = dreamGround(home)
    const first = await startDaemon(home)
    await first.client.remember({ cwd, text: 'The printer is on the third floor' })
    await turn(home, first.client, 'open', 'project')
    await turn(home, first.client, 'secret', 'diary')
    await first.client.remember({ cwd: join(home.dir, 'diary'), text: 'The scanner is on the second floor' })
    await first.stop()
    writeFileSync(home.places.configFile, JSON.stringify({ private: [join(home.dir, 'diary')] }))
    const { client } = await startDaemon(home)
    const ends = await jobEnds(client, 'dream')
    await client.dream({ cwd, force: true })
    await ends.next()
    const dreamed = api.requests.map(({ body }) => JSON.stringify(body)).find((text) => text.includes('1. Orient'))
    expect(dreamed).toContain('/open.jsonl')
    expect(dreamed).not.toContain('/secret.jsonl')
  })
})

describe('with daily logs', () => {
  it('those that only rules have passed by are put before a model once there is one', async () => {
    const { api, home } = await dreamModel(() => says('All is in order.'))
    const dailyLog = { enabled: true }
    const { cwd, dir } = dreamGround(home)
    const log = join(dir, 'logs/2026/06/2026-06-30.md')
    mkdirSync(dirname(log), { recursive: true })
    writeFileSync(log, '- The rollout of the new pricing begins tomorrow, 2026-07-01\n')
    const night = async (settings: object) => {
      writeFileSync(home.places.configFile, JSON.stringify({ dailyLog, ...settings }))
      const { client, stop } = await startDaemon(home)
      const ends = await jobEnds(client, 'dream')
      await client.dream({ cwd, force: true })
      await ends.next()
      const { last } = await client.dreamStatus({ cwd })
      await stop()
      return { mode: last?.mode, logs: last?.logs }
    }
    expect(await night({ budget: { usdPerDay: 0 } })).toEqual({ mode: 'rules', logs: 1 })
    expect(await night({ budget: { usdPerDay: 0 } })).toEqual({ mode: 'rules', logs: 1 })
    expect(await night({})).toEqual({ mode: 'model', logs: 1 })
    expect(JSON.stringify(api.requests[0]?.body)).toContain('logs/2026/06/2026-06-30.md')
    expect(await night({})).toEqual({ mode: 'model', logs: 0 })
  })

  it('more of them than one night can take are distilled over several, and none is passed by', async () => {
    const { api, home } = await dreamModel(() => says('All is in order.'))
    writeFileSync(home.places.configFile, JSON.stringify({ dailyLog: { enabled: true } }))
    const { cwd, dir } = dreamGround(home)
    const days = Array.from({ length: 70 }, (_, n) => new Date(Date.UTC(2026, 0, 1 + n)).toISOString().slice(0, 10))
    const files = days.map((day) => `logs/2026/${day.slice(5, 7)}/${day}.md`)
    for (const file of files) {
      mkdirSync(dirname(join(dir, file)), { recursive: true })
      writeFileSync(join(dir, file), `- said in ${file}\n`)
    }
    const { client } = await startDaemon(home)
    const ends = await jobEnds(client, 'dream')
    const nights = []
    for (let night = 0; night < 3; night++) {
      await client.dream({ cwd, force: true })
      await ends.next()
      const { last } = await client.dreamStatus({ cwd })
      nights.push([last?.logs, last?.logsLeft])
    }
    expect(nights).toEqual([
      [60, 10],
      [10, undefined],
      [0, undefined],
    ])
    const dreamed = api.requests.map(({ body }) => JSON.stringify(body))
    expect(files.filter((file) => !dreamed.some((text) => text.includes(file)))).toEqual([])
  })

  it('only the night counts, and what the logs say becomes memories', async () => {
    const made =
      '---\nname: Rollout\ndescription: When the rollout of the new pricing begins\ntype: project\n---\n\nThe rollout of the new pricing begins on 2026-07-01.\n'
    const { api, home } = await dreamModel((n) => (n === 1 ? [write('project_rollout.md', made)] : says('Done.')))
    writeFileSync(home.places.configFile, JSON.stringify({ dailyLog: { enabled: true } }))
    const { cwd, dir } = dreamGround(home)
    const log = join(dir, 'logs/2026/06/2026-06-30.md')
    mkdirSync(dirname(log), { recursive: true })
    writeFileSync(log, '- The rollout of the new pricing begins tomorrow, 2026-07-01\n')
    const first = await startDaemon(home)
    await first.client.memoryIndex({ cwd })
    expect(await first.client.dream({ cwd })).toMatchObject({
      started: false,
      gate: 'enabled',
      facts: { dailyLog: 'on' },
    })
    await first.stop()
    missed(home, 'dream', 3_600_000)
    const { client } = await startDaemon(home)
    const ends = await jobEnds(client, 'dream')
    expect(await ends.next()).toMatchObject({ result: { outcome: 'applied', created: 1 } })
    expect((await client.dreamStatus({ cwd })).last).toMatchObject({ trigger: 'nightly', logs: 1, created: 1 })
    const dreamed = api.requests
      .map(({ body }) => JSON.stringify(body))
      .find((text) => text.includes('memory directory is'))
    expect(dreamed).toContain('logs/2026/06/2026-06-30.md')
    // What the log had said is no discovery of the model.
    expect(readFileSync(join(dir, 'project_rollout.md'), 'utf8')).toBe(made)
    expect(readFileSync(log, 'utf8')).toContain('tomorrow')
  })
})
