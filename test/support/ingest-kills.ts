/** Kills a daemon while it reads transcripts, and checks that each message was taken in once. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect } from 'vitest'
import { launch, startDaemon } from './daemon.ts'
import { makeHome } from './home.ts'
import { seeded } from './seed.ts'
import { append, genericRoot, turn, turnEvents } from './transcripts.ts'

const FILES = 12
const TURNS = 40

export async function killWhileReading(rounds: number): Promise<void> {
  const home = makeHome()
  const root = genericRoot(home)
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const random = seeded(`kill -9 while transcripts are read, ${rounds} times`)
  const padding = 'x'.repeat(2_000)
  const write = (round: number) => {
    for (let file = 0; file < FILES; file++)
      for (let n = 0; n < TURNS; n++)
        append(
          join(root, `${file}.jsonl`),
          ...(round + n === 0 ? [{ type: 'session', id: String(file), cwd }] : []),
          { type: 'user', text: `nameless ${round} ${n % 2} ${padding}` },
          ...turn(`${file}-${round}-${n}`),
        )
  }
  for (let round = 0; round < rounds; round++) {
    write(round)
    const { child, exited, logged } = launch(home)
    await logged('memoryd is ready')
    // Reading begins shortly after, and takes longer than this.
    await delay(300 + random() * 700)
    child.kill('SIGKILL')
    await exited
  }
  const daemon = await startDaemon(home)
  const turns = await turnEvents(daemon.client)
  const lag = async () => (await daemon.client.status()).ingest.lagBytes
  append(join(root, 'last.jsonl'), { type: 'session', id: 'last', cwd }, ...turn('last'))
  await turns.take(1)
  while ((await lag()) > 0) await turns.take(1)
  expect((await daemon.client.status()).errors).toEqual([])
  await daemon.stop()
  const db = new Database(join(home.places.stateDir, 'index.db'), { readonly: true })
  const count = db.prepare(
    `SELECT count(*) FROM messages m JOIN sessions s ON s.id = m.session WHERE s.session <> 'last' AND m.gone = 0`,
  )
  expect(count.pluck().get()).toBe(rounds * FILES * TURNS * 3)
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
  db.close()
}
