/** Kills a daemon around the ends of turns in which something is stated, and checks that each was saved once. */
import { existsSync, readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { claudeSession } from './claude-session.ts'
import { startDaemon } from './daemon.ts'
import { makeHome } from './home.ts'
import { jobEnds } from './job-ends.ts'
import { seeded } from './seed.ts'
import { turnEvents } from './transcripts.ts'

export async function killWhileExtracting(rounds: number): Promise<void> {
  const home = makeHome()
  const session = claudeSession(home)
  const random = seeded(`kill -9 while statements are saved, ${rounds} times`)
  for (let round = 0; round < rounds; round++) {
    const daemon = await startDaemon(home)
    const turns = await turnEvents(daemon.client)
    session.say(`Please always run check-${round} before you commit, because CI is strict.`)
    await turns.take(1)
    // The job begins with the turn's event: kills fall before it, in the middle of it, and after it.
    await delay(random() * 60)
    await daemon.kill9()
  }
  const { client } = await startDaemon(home)
  const ends = await jobEnds(client, 'extract')
  const saved = () =>
    !existsSync(session.memories) ? [] : readdirSync(session.memories).filter((file) => file !== 'MEMORY.md')
  session.say('Please always run check-last before you commit, because CI is strict.')
  while (saved().length <= rounds) await ends.next()
  const { items } = await client.changes({ cwd: session.cwd, limit: '999' })
  expect(items.map(({ op, file }) => `${op} ${file}`).sort()).toEqual(saved().map((file) => `create ${file}`))
  const told = (await client.notices({ id: session.id })).items.flatMap(({ files }) => files)
  expect(told.sort()).toEqual(saved())
  // Not even looked at again: what was saved already would be known.
  const jobs = (await client.jobs({ limit: '999' })).items.filter(({ kind }) => kind === 'extract')
  const results = await Promise.all(jobs.map(async ({ id }) => (await client.job({ id })).result))
  expect(results.filter((result) => (result as { known?: number } | undefined)?.known)).toEqual([])
}
