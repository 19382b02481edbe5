import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { slugOf } from '../../daemon/projects/memory-dir.ts'
import { collectEvents } from '../support/events.ts'
import { makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'
import { startWithLimit } from '../support/watch-limit.ts'

it('where no folder can be watched the daemon serves, and status says that it polls and what to do', async (context) => {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  // A directory that is made later is watched with the next sweep.
  mkdirSync(join(home.dir, '.claude', 'projects', slugOf(cwd), 'memory'), { recursive: true })
  // Transcripts are watched as well, from a moment after the start on: that is another test.
  const none = Object.fromEntries(['claude-code', 'codex', 'gemini', 'pi', 'generic'].map((harness) => [harness, []]))
  mkdirSync(dirname(home.places.configFile), { recursive: true })
  writeFileSync(home.places.configFile, JSON.stringify({ roots: none }))
  const daemon = await startWithLimit(home, context, { watches: 0 })
  expect((await daemon.client.status()).state).toBe('ready')
  const statuses = await collectEvents(daemon.client, 'status')
  await daemon.client.putMemory({ cwd, file: 'a.md', content: topic('One.') })
  await statuses.until((seen) => seen.some(({ state }) => state === 'degraded'))
  expect(await daemon.client.status()).toMatchObject({
    state: 'degraded',
    reasons: [
      { code: 'watch', message: expect.stringMatching(/^polling: .*raise fs\.inotify\.max_user_watches with sysctl$/) },
    ],
  })
  expect(await daemon.stop()).toMatchObject({ code: 0 })
})
