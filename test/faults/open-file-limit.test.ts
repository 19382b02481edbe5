import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { statusEvents } from '../support/events.ts'
import { makeHome } from '../support/home.ts'
import { startWithFewFiles, takeAllFiles } from '../support/open-files.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'

describe.runIf(process.platform === 'linux')('while the daemon can open no file', () => {
  it.each([
    ['from the start', 'begin'],
    ['from some moment on', 'watch'],
  ] as const)('%s, transcripts wait for a sweep that can, and nothing is lost', async (_when, known) => {
    const home = makeHome()
    const cwd = join(home.dir, 'project')
    mkdirSync(cwd)
    const root = genericRoot(home, { sweepSeconds: 1 })
    const daemon = await startWithFewFiles(home)
    const turns = await turnEvents(daemon.client)
    const state = async () => (await daemon.client.status()).roots[0]?.state
    if (known === 'watch') for (let now = await state(); now !== 'watching'; now = await state());
    const release = await takeAllFiles(home, daemon)
    append(join(root, 's.jsonl'), { type: 'session', id: 's', cwd }, ...turn('one'))
    // Without a file it can neither watch nor look into a folder.
    await daemon.logged('polling: what is new in transcripts is noticed by the next sweep, not at once; too many files')
    release()
    expect(await turns.take(1)).toMatchObject([{ sessionId: 's', end: 'final' }])
    expect(await daemon.client.session({ id: 's' })).toMatchObject({ cwd, turns: 1 })
    for await (const event of statusEvents(daemon.client)) if (event.state === 'ready') break
    expect(await daemon.client.status()).toMatchObject({ state: 'ready', roots: [{ path: root, state: 'watching' }] })
    expect(await daemon.stop()).toMatchObject({ code: 0 })
  })
})
