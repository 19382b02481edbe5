import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeHome } from '../support/home.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'
import { type Limit, startWithLimit } from '../support/watch-limit.ts'

/** The shortest there is. */
const SWEEP_SECONDS = 1

const limits: [string, Limit, RegExp][] = [
  ['no folder can be watched', { watches: 0 }, /^polling: .*raise fs\.inotify\.max_user_watches with sysctl$/],
  ['only some folders can be watched', { watches: 3 }, /^polling: .*raise fs\.inotify\.max_user_watches with sysctl$/],
  ['nothing can watch', { instances: 0 }, /^polling: .*fs\.inotify\.max_user_instances$/],
]

describe('where', () => {
  it.for(limits)('%s the next sweep finds every change, and status says so', async ([, limit, message], context) => {
    const home = makeHome()
    const root = genericRoot(home, { sweepSeconds: SWEEP_SECONDS })
    const [old, folder] = [join(root, 'a', 'old.jsonl'), join(root, 'b', 'c')]
    append(old, { type: 'session', id: 'old', cwd: home.dir }, ...turn('early'))
    append(join(folder, 'moved.jsonl'), { type: 'session', id: 'moved', cwd: home.dir }, ...turn('early'))
    const daemon = await startWithLimit(home, context, limit)
    const turns = await turnEvents(daemon.client)
    const gone = async () => {
      const { items } = await daemon.client.sessions({ cwd: home.dir })
      return items.filter((session) => session.gone).map(({ id }) => id)
    }
    await turns.take(2)
    append(old, ...turn('late'))
    append(join(root, 'a', 'new.jsonl'), { type: 'session', id: 'new', cwd: home.dir }, ...turn('one'))
    append(join(root, 'd', 'e', 'deep.jsonl'), { type: 'session', id: 'deep', cwd: home.dir }, ...turn('one'))
    const told = await turns.take(3)
    expect(told.map(({ sessionId }) => sessionId).sort()).toEqual(['deep', 'new', 'old'])
    rmSync(old)
    renameSync(folder, join(home.dir, 'away'))
    for (let so = await gone(); so.length < 2; so = await gone());
    expect((await gone()).sort()).toEqual(['moved', 'old'])
    expect(await daemon.client.status()).toMatchObject({
      state: 'degraded',
      reasons: [{ code: 'transcripts', message: expect.stringMatching(message) }],
      roots: [{ path: root, harness: 'generic', state: 'polling' }],
      errors: [],
    })
    expect(await daemon.stop()).toMatchObject({ code: 0 })
  })
})
