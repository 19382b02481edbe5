import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'

function projectIn(home: { dir: string }): string {
  const cwd = join(home.dir, 'project')
  mkdirSync(join(cwd, '.git'), { recursive: true })
  return cwd
}

it('lists the sessions of a project, and gives one with its turns', async () => {
  const home = makeHome()
  const root = genericRoot(home)
  const cwd = projectIn(home)
  const daemon = await startDaemon(home)
  const turns = await turnEvents(daemon.client)
  mkdirSync(join(cwd, 'deep'))
  append(join(root, 's.jsonl'), { type: 'session', id: 's', cwd: join(cwd, 'deep') }, ...turn('one'))
  await turns.take(1)
  append(join(root, 's.jsonl'), ...turn('two'), { type: 'user', text: 'my password = "tR7#kf9Qz2Lm"' })
  append(join(root, 't.jsonl'), { type: 'session', id: 't', cwd, forkOf: 's' }, ...turn('three'))
  await turns.take(1)
  const [t, s] = (await daemon.client.sessions({ cwd })).items
  const times = { startedAt: expect.any(String), lastAt: expect.any(String) }
  const common = { harness: 'generic', project: cwd, gone: false, ...times }
  expect(t).toEqual({ ...common, id: 't', cwd, turns: 1, tokens: 12, parentId: 's' })
  expect(s).toEqual({ ...common, id: 's', cwd: join(cwd, 'deep'), turns: 3, tokens: 24 })
  const { turnList } = await daemon.client.session({ id: 's' })
  const done = { startedAt: expect.any(String), endedAt: expect.any(String), end: 'final', startedBy: 'person' }
  expect(turnList).toEqual([
    { ...done, prompt: 'one?', toolCalls: 0 },
    { ...done, prompt: 'two?', toolCalls: 0 },
    { end: 'open', startedBy: 'person', prompt: expect.not.stringContaining('tR7#kf9Qz2Lm'), toolCalls: 0 },
  ])
  const first = await daemon.client.sessions({ cwd, limit: '1' })
  expect(first.items.map(({ id }) => id)).toEqual(['t'])
  const rest = await daemon.client.sessions({ cwd, limit: '1', after: first.next as string })
  expect([rest.items.map(({ id }) => id), rest.next]).toEqual([['s'], undefined])
  await expect(daemon.client.session({ id: 'unknown' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await daemon.stop()
})

it('knows a session of a deleted transcript still, marked as gone, and a rewritten one only once', async () => {
  const home = makeHome()
  const root = genericRoot(home, { sweepSeconds: 1 })
  const cwd = projectIn(home)
  const daemon = await startDaemon(home)
  const turns = await turnEvents(daemon.client)
  const file = join(root, 's.jsonl')
  append(file, { type: 'session', id: 's', cwd }, ...turn('one'))
  await turns.take(1)
  append(`${file}.new`, { type: 'session', id: 's', cwd }, ...turn('one'), ...turn('two'))
  renameSync(`${file}.new`, file)
  await turns.take(1)
  expect(await daemon.client.session({ id: 's' })).toMatchObject({ turns: 2, tokens: 24, gone: false })
  expect((await daemon.client.sessions({ cwd })).items).toMatchObject([{ turns: 2, tokens: 24 }])
  rmSync(file)
  append(join(root, 'later.jsonl'), { type: 'session', id: 'later', cwd }, ...turn('later'))
  await turns.take(1)
  expect((await daemon.client.sessions({ cwd })).items).toMatchObject([
    { id: 'later', gone: false },
    { id: 's', gone: true },
  ])
  await daemon.stop()
})

it('keeps nothing of sessions in private folders, and tells of none that became private', async () => {
  const home = makeHome()
  const cwd = projectIn(home)
  const secret = join(home.dir, 'secret')
  mkdirSync(secret)
  const root = genericRoot(home, { private: [secret] })
  const daemon = await startDaemon(home)
  const turns = await turnEvents(daemon.client)
  append(join(root, 'hidden.jsonl'), { type: 'session', id: 'hidden', cwd: secret }, ...turn('hush'))
  append(join(root, 'open.jsonl'), { type: 'session', id: 'open', cwd }, ...turn('one'))
  expect(await turns.take(1)).toMatchObject([{ sessionId: 'open' }])
  expect((await daemon.client.sessions({ cwd: secret })).items).toEqual([])
  await expect(daemon.client.session({ id: 'hidden' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await daemon.stop()
  genericRoot(home, { private: [secret, cwd] })
  const again = await startDaemon(home)
  expect((await again.client.sessions({ cwd })).items).toEqual([])
  await again.stop()
})
