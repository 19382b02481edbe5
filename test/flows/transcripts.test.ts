import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'

it('sees a turn that ends between requests, and says where transcripts are looked for', async () => {
  const home = makeHome()
  const root = genericRoot(home)
  const cwd = join(home.dir, 'project')
  mkdirSync(join(cwd, '.git'), { recursive: true })
  append(join(root, 'old.jsonl'), { type: 'session', id: 'old', cwd }, { type: 'never-seen' })
  const daemon = await startDaemon(home)
  const turns = await turnEvents(daemon.client)
  append(join(root, 'new', 's.jsonl'), { type: 'session', id: 's', cwd }, ...turn('one'))
  const told = { type: 'turn', at: expect.any(String), harness: 'generic', sessionId: 's', end: 'final', cwd }
  expect(await turns.take(1)).toEqual([{ ...told, project: cwd }])
  append(join(root, 'new', 's.jsonl'), ...turn('two'))
  expect(await turns.take(1)).toEqual([{ ...told, project: cwd }])
  const { roots, ingest, state, errors } = await daemon.client.status()
  expect({ roots, ingest, state, errors }).toEqual({
    roots: [{ path: root, harness: 'generic', state: 'watching' }],
    ingest: { lagBytes: 0, skipped: { unknown: 1 } },
    state: 'ready',
    errors: [],
  })
  expect(await daemon.stop()).toMatchObject({ code: 0 })
})
