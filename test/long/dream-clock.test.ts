import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LOCK_FILE } from '../../daemon/dream/dream-lock.ts'
import { claudeSession } from '../support/claude-session.ts'
import { startDaemon } from '../support/daemon.ts'
import { dreamGround, dreamModel, goodDream, snapshot } from '../support/dream-ground.ts'
import { collectEvents } from '../support/events.ts'
import { jobEnds } from '../support/job-ends.ts'
import { movedClock } from '../support/moved-clock.ts'

const DAY_MS = 86_400_000
const HALF_HOUR_MS = 1_800_000
const SESSIONS = ['one', 'two', 'three', 'four', 'five']

it('with defaults and a key, five sessions and a clock that is moved by a day make a dream by themselves, told of once', async (context) => {
  const { home } = await dreamModel(goodDream)
  const clock = movedClock(context, home)
  const { cwd, dir, before } = dreamGround(home)
  // Put in order just now, by the clock of the machine.
  writeFileSync(join(dir, LOCK_FILE), '')
  const { client } = await startDaemon(clock.home)
  const ends = await jobEnds(client, 'dream')
  const checks = await jobEnds(client, 'dream-check')
  const turns = await collectEvents(client, 'turn')
  for (const id of SESSIONS) {
    claudeSession(home, id, 'project', Date.now() + 1).say('Can you look at the failing test?', 'It is fixed.')
    await turns.until((seen) => seen.some(({ sessionId }) => sessionId === id))
  }
  expect((await client.dreamStatus({ cwd })).lastCheck).toMatchObject({ trigger: 'turn', gate: 'time' })
  expect(snapshot(dir)).toEqual(before)

  // Only a day goes by: the calendar has come once before it is over, and once after.
  clock.move(DAY_MS - HALF_HOUR_MS)
  await checks.next()
  expect((await client.dreamStatus({ cwd })).lastCheck).toMatchObject({ trigger: 'cron', gate: 'time' })
  clock.move(DAY_MS + HALF_HOUR_MS)
  expect(await ends.next()).toMatchObject({ state: 'done', result: { outcome: 'applied', merged: 5, updated: 4 } })
  const { last } = await client.dreamStatus({ cwd })
  expect(last).toMatchObject({ trigger: 'cron', mode: 'model', outcome: 'applied', sessions: SESSIONS.length })
  expect(Date.parse(last?.beganAt ?? '') - Date.now()).toBeGreaterThan(DAY_MS)
  expect(last?.spent?.usd).toBeGreaterThan(0)
  const { budget } = await client.status()
  expect(budget.usd).toBeLessThan(budget.capUsd)
  const told = await Promise.all(SESSIONS.map((id) => client.notices({ id })))
  const notices = told.flatMap(({ items }) => items.filter(({ kind }) => kind === 'dream'))
  expect(notices).toMatchObject([
    { text: expect.stringMatching(/^dreamed: 5 merged, 4 updated, 3 removed, for \$0\.\d{4}; /) },
  ])
  const { items } = await client.jobs({ limit: '50' })
  expect(items.filter(({ kind }) => kind === 'dream')).toHaveLength(1)
})
