/** Kills a daemon around updates of the notes of a session, and checks that each turn is in them once. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { claudeSession } from './claude-session.ts'
import { startDaemon } from './daemon.ts'
import { makeHome } from './home.ts'
import { jobEnds } from './job-ends.ts'
import { seeded } from './seed.ts'
import { turnEvents } from './transcripts.ts'

export async function killWhileNoting(rounds: number): Promise<void> {
  const home = makeHome()
  const session = claudeSession(home)
  const random = seeded(`kill -9 while notes are written, ${rounds} times`)
  const file = join(home.places.stateDir, 'sessions', session.id, 'notes.md')
  const say = (round: number) => {
    const asks = session.person(`Please do step-${round}.`)
    const { message, ...line } = session.answer(`Done with ${round}.`)
    const usage = { input_tokens: 20_000 + round * 5_000, output_tokens: 0 }
    session.write(asks, { ...line, message: { ...message, usage } })
  }
  const asked = () => [...readFileSync(file, 'utf8').matchAll(/^- Please do step-(\d+)\.$/gm)].map(([, n]) => Number(n))
  for (let round = 0; round < rounds; round++) {
    const daemon = await startDaemon(home)
    const turns = await turnEvents(daemon.client)
    say(round)
    await turns.take(1)
    await delay(random() * 60)
    // Two messages a turn, and the answer is the last of each.
    const { lastMessageId } = await daemon.client.sessionNotes({ id: session.id })
    await daemon.kill9()
    const covered = lastMessageId === undefined ? 0 : Number(lastMessageId.split('-').at(-1)) / 2
    if (existsSync(file)) expect(asked().length).toBeGreaterThanOrEqual(covered)
  }
  const { client } = await startDaemon(home)
  const ends = await jobEnds(client, 'notes')
  say(rounds)
  const all = Array.from({ length: rounds + 1 }, (_, n) => n)
  const isCovered = async () =>
    (await client.sessionNotes({ id: session.id })).lastMessageId === `${session.id}-${2 * (rounds + 1)}`
  while (!(await isCovered())) await ends.next()
  // Each once: none was lost, and none was noted twice.
  expect(asked()).toEqual(all)
  expect(readdirSync(dirname(file))).toEqual(['notes.md'])
}
