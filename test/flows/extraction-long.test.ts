import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'
import { append, genericRoot } from '../support/transcripts.ts'

const PATIENCE = { timeout: 50_000, interval: 100 }

it('finds what was stated anywhere in a session that is longer than what is loaded at once, and notes it', async () => {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const root = genericRoot(home, { notes: { initTokens: 1_000 } })
  const stated = new Map([
    [3, 'Please always run check-one before you commit, because CI is strict.'],
    [1_100, 'Please always write tests in Python, because the team knows it.'],
    [2_200, 'Please never push to the main branch, because it deploys at once.'],
  ])
  const begin = Date.now() - 60_000
  const turns = Array.from({ length: 2_210 }, (_, n) => [
    { type: 'user', text: stated.get(n) ?? `what is part ${n}?`, at: begin + n },
    { type: 'assistant', text: `Part ${n}.`, end: 'final', at: begin + n },
  ])
  append(join(root, 's.jsonl'), { type: 'session', id: 's', cwd }, ...turns.flat())
  const { client } = await startDaemon(home)
  const found = async () => (await client.memories({ cwd })).items.map(({ description }) => description).join('\n')
  for (const word of ['check-one', 'Python', 'main branch']) await expect.poll(found, PATIENCE).toContain(word)
  const notes = async () => (await client.sessionNotes({ id: 's' })).content
  await expect.poll(notes, PATIENCE).toContain('main branch')
  const jobs = async () => (await client.jobs({})).items.filter(({ kind }) => kind !== 'housekeeping')
  await expect.poll(async () => (await jobs()).map(({ state }) => state), PATIENCE).toEqual(['done', 'done'])
  expect((await client.memories({ cwd })).items).toHaveLength(3)
})
