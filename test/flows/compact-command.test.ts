import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { busySession } from '../support/busy-session.ts'
import { memoryd } from '../support/cli.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'

it('prints the summary that a session would get, and leaves it as it is', async () => {
  const home = makeHome()
  // Else it depends on who is first: the caller, or the notes of the session.
  writeFileSync(home.places.configFile, JSON.stringify({ notes: { enabled: false } }))
  const { client } = await startDaemon(home)
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const events = client.events()[Symbol.asyncIterator]()
  await events.next()
  await client.pushTurn({ cwd, sessionId: 'today', turnId: '1', messages: busySession(30) })
  while ((await events.next()).value?.type !== 'turn');
  await events.return?.()
  const printed = await memoryd(home, 'compact', 'today')
  expect(printed).toMatchObject({ code: 0 })
  expect(printed.stdout).toContain('## What the user said')
  expect(printed.stdout).toContain('/repo/src/area-3/module-3.ts')
  expect(printed.stdout).toContain('put together without a model')
  const json = JSON.parse((await memoryd(home, 'compact', 'today', '--json')).stdout)
  expect(json).toMatchObject({ strategy: 'extractive', boundary: { trigger: 'manual' } })
  await client.pushTurn({
    cwd,
    sessionId: 'short',
    turnId: '1',
    messages: [
      { role: 'user', content: 'Hello.' },
      { role: 'assistant', content: 'Hi.' },
    ],
  })
  expect(await memoryd(home, 'compact', 'short')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('so far nothing is gained by a summary'),
  })
  expect(await memoryd(home, 'compact', 'never')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no session never is known'),
  })
})
