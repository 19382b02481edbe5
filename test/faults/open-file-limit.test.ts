import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { statusEvents } from '../support/events.ts'
import { makeHome } from '../support/home.ts'
import { startWithFewFiles, takeAllFiles } from '../support/open-files.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'

describe.runIf(process.platform === 'linux')('while the daemon can open no file', () => {
  it.each(['from the start', 'from some moment on'])('%s, transcripts wait, and nothing is lost', async (when) => {
    const home = makeHome()
    const cwd = join(home.dir, 'project')
    mkdirSync(cwd)
    const root = genericRoot(home, { sweepSeconds: 1 })
    const daemon = await startWithFewFiles(home)
    const turns = await turnEvents(daemon.client)
    const state = async () => (await daemon.client.status()).roots[0]?.state
    if (when !== 'from the start') for (let now = await state(); now !== 'watching'; now = await state());
    const release = await takeAllFiles(home, daemon)
    append(join(root, 's.jsonl'), { type: 'session', id: 's', cwd }, ...turn('one'))
    // Without a file it can neither look into a folder, nor read what a watch that began before that names.
    await Promise.race([
      daemon.logged('polling: what is new in transcripts is noticed by the next sweep, not at once; too many files'),
      daemon.logged('a transcript could not be read'),
    ])
    release()
    expect(await turns.take(1)).toMatchObject([{ sessionId: 's', end: 'final' }])
    expect(await daemon.client.session({ id: 's' })).toMatchObject({ cwd, turns: 1 })
    for await (const event of statusEvents(daemon.client)) if (event.state === 'ready') break
    expect(await daemon.client.status()).toMatchObject({ state: 'ready', roots: [{ path: root, state: 'watching' }] })
    expect(await daemon.stop()).toMatchObject({ code: 0 })
  })
})
