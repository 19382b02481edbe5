import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeHome } from '../support/home.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'
import { startWithoutWatches } from '../support/watch-limit.ts'

it('where no folder can be watched the next sweep finds what is new, and status says so', async (context) => {
  const home = makeHome()
  const root = genericRoot(home, { sweepSeconds: 1 })
  const daemon = await startWithoutWatches(home, context)
  const turns = await turnEvents(daemon.client)
  append(join(root, 'a', 's.jsonl'), { type: 'session', id: 's', cwd: home.dir }, ...turn('one'))
  expect(await turns.take(1)).toMatchObject([{ sessionId: 's' }])
  append(join(root, 'a', 's.jsonl'), ...turn('two'))
  expect(await turns.take(1)).toMatchObject([{ sessionId: 's' }])
  expect(await daemon.client.status()).toMatchObject({
    state: 'degraded',
    reasons: [
      {
        code: 'transcripts',
        message: expect.stringMatching(/^polling: .*raise fs\.inotify\.max_user_watches with sysctl$/),
      },
    ],
    roots: [{ path: root, harness: 'generic', state: 'polling' }],
  })
  expect(await daemon.stop()).toMatchObject({ code: 0 })
})
