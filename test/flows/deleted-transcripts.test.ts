import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { memoryd } from '../support/cli.ts'
import { connectAs } from '../support/connect-as.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { topic } from '../support/memory.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'
import { memoryDirOf, writeAsModel } from '../support/writer.ts'

it('keeps what is known of a deleted transcript, its words only where a memory rests on them', async () => {
  const home = makeHome()
  const root = genericRoot(home)
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const said = 'lighthouse   keeps "its" spelling?'
  const evidence = [{ sessionId: 's', messageIds: ['q-1'], excerpt: said, at: '2026-03-01T10:00:00.000Z' }]
  await writeAsModel(home, (writer) =>
    writer.write(memoryDirOf(home, cwd), [{ file: 'sea.md', content: topic('By the sea.') }], {
      actor: 'agent:extract',
      reason: 'said in a session',
      evidence,
    }),
  )
  const file = join(root, 's.jsonl')
  append(file, { type: 'session', id: 's', cwd }, { type: 'user', id: 'q-1', text: said }, ...turn('lighthouse'))
  const first = await startDaemon(home)
  const before = await turnEvents(first.client)
  append(join(root, 'other.jsonl'), { type: 'session', id: 'other', cwd }, ...turn('beacon'))
  await before.take(2)
  const one = await first.client.session({ id: 's' })
  expect(one).toMatchObject({ turns: 2, gone: false, turnList: [{ prompt: said }, { prompt: 'lighthouse?' }] })
  expect((await first.client.search({ cwd, q: 'lighthouse' })).items).toHaveLength(3)
  await first.stop()

  rmSync(file)
  const daemon = await startDaemon(home)
  const turns = await turnEvents(daemon.client)
  const { turnList: _, ...kept } = one
  const isGone = async () => (await daemon.client.sessions({ cwd })).items.find(({ id }) => id === 's')?.gone
  while (!(await isGone())) await daemon.client.health()
  expect(await daemon.client.session({ id: 's' })).toEqual({ ...kept, gone: true, turnList: [] })
  expect((await daemon.client.sessions({ cwd })).items).toContainEqual({ ...kept, gone: true })
  expect(await daemon.client.search({ cwd, q: 'lighthouse' })).toEqual({ items: [] })
  expect(await daemon.client.search({ cwd, q: 'lighthouse beacon' })).toMatchObject({
    items: [{ sessionId: 'other' }, { sessionId: 'other' }],
  })
  const person = connectAs(home, 'user')
  expect((await person.memory({ cwd, file: 'sea.md' })).evidence).toEqual(evidence)
  expect((await memoryd({ ...home, dir: cwd }, 'why', 'sea.md')).stdout).toContain(said)

  // It comes back, as when a backup is restored.
  append(file, { type: 'session', id: 's', cwd }, { type: 'user', id: 'q-1', text: said }, ...turn('lighthouse'))
  await turns.take(1)
  expect(await daemon.client.session({ id: 's' })).toMatchObject({ turns: 2, gone: false, turnList: [{}, {}] })
  expect((await daemon.client.search({ cwd, q: 'lighthouse' })).items).toHaveLength(3)
  await daemon.stop()
})

it('keeps the number of turns of a deleted transcript that branches', async () => {
  const home = makeHome()
  const root = genericRoot(home)
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const file = join(root, 's.jsonl')
  const asked = (id: string, parentId: string | null) => ({ type: 'user', id, parentId, text: `${id}?` })
  append(file, { type: 'session', id: 's', cwd }, asked('one', null), asked('two', 'one'), asked('three', 'elsewhere'))
  const first = await startDaemon(home)
  const listed = async ({ client }: typeof first) => (await client.sessions({ cwd })).items
  while ((await listed(first)).length === 0) await first.client.health()
  expect(await listed(first)).toMatchObject([{ id: 's', turns: 3, gone: false }])
  await first.stop()

  rmSync(file)
  const daemon = await startDaemon(home)
  while (!(await listed(daemon))[0]?.gone) await daemon.client.health()
  expect(await listed(daemon)).toMatchObject([{ id: 's', turns: 3, gone: true }])
  await daemon.stop()
})
