import { cpSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { connectAs } from '../support/connect-as.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'

it('finds what a transcript says that was moved while the daemon was away', async () => {
  const home = makeHome()
  const root = genericRoot(home)
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const first = await startDaemon(home)
  const turns = await turnEvents(first.client)
  append(join(root, 'a/s.jsonl'), { type: 'session', id: 's', cwd }, ...turn('lighthouse'))
  await turns.take(1)
  const before = await first.client.session({ id: 's' })
  const found = (await first.client.search({ cwd, q: 'lighthouse' })).items
  expect(found).toHaveLength(2)
  await first.stop()

  renameSync(join(root, 'a'), join(root, 'b'))
  const { client, stop } = await startDaemon(home)
  const asBefore = async () => {
    const items = (await client.search({ cwd, q: 'lighthouse' })).items
    return items.length === 2 && items.every(({ path }) => path.startsWith(join(root, 'b')))
  }
  while (!(await asBefore())) await client.health()
  expect(await client.session({ id: 's' })).toEqual(before)
  await stop()
})

it('finds what an imported copy says when the original is deleted', async () => {
  const home = makeHome()
  const root = genericRoot(home)
  const cwd = join(home.dir, 'project')
  const backup = join(home.dir, 'backup')
  for (const dir of [cwd, backup]) mkdirSync(dir)
  const { client, stop } = await startDaemon(home)
  const turns = await turnEvents(client)
  append(join(root, 's.jsonl'), { type: 'session', id: 's', cwd }, ...turn('lighthouse'))
  await turns.take(1)
  cpSync(join(root, 's.jsonl'), join(backup, 's.jsonl'))
  const person = connectAs(home, 'user')
  const { jobId } = await person.importTranscripts({ dir: backup })
  while ((await person.job({ id: jobId })).state !== 'done') await client.health()
  rmSync(join(root, 's.jsonl'))
  const paths = async () => (await client.search({ cwd, q: 'lighthouse' })).items.map(({ path }) => path)
  while (!(await paths()).includes(join(backup, 's.jsonl'))) await client.health()
  expect(await paths()).toEqual([join(backup, 's.jsonl'), join(backup, 's.jsonl')])
  await stop()
})
