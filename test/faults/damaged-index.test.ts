import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { overwritePage, pageWith } from '../support/damage.ts'
import { makeHome } from '../support/home.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'

const SESSIONS = 30

it('reads all transcripts again when index.db turns out to be damaged, while it runs', async () => {
  const home = makeHome()
  const root = genericRoot(home)
  const imported = join(home.dir, 'imported')
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const write = (dir: string, n: number) =>
    append(join(dir, `${n}.jsonl`), { type: 'session', id: `s${n}`, cwd }, ...turn(`lighthouse-${n}`))
  for (let n = 0; n < SESSIONS; n++) write(n % 2 ? root : imported, n)
  const first = await startDaemon(home)
  const sessions = async (client: typeof first.client) => (await client.sessions({ cwd, limit: '999' })).items
  await first.client.importTranscripts({ dir: imported })
  while ((await sessions(first.client)).length < SESSIONS) await first.client.health()
  const before = await sessions(first.client)
  const found = async (client: typeof first.client) =>
    (await client.search({ cwd, q: 'lighthouse', limit: '999' })).items.map(({ messageId }) => messageId).sort()
  const words = await found(first.client)
  expect(words).toHaveLength(2 * SESSIONS)
  await first.kill9()

  const index = join(home.places.stateDir, 'index.db')
  const db = new Database(index)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  overwritePage(index, pageWith(index, 'q-lighthouse-7'))
  const second = await startDaemon(home)
  const turns = await turnEvents(second.client)
  await second.logged('index.db was damaged')
  expect(readdirSync(join(home.places.stateDir, 'corrupt'))).toContainEqual(expect.stringMatching(/^index-.*\.db$/))
  while ((await sessions(second.client)).length < SESSIONS) await second.client.health()
  while ((await found(second.client)).length < words.length) await second.client.health()
  expect(await found(second.client)).toEqual(words)
  const byId = (items: typeof before) => new Map(items.map((item) => [item.id, item]))
  expect(byId(await sessions(second.client))).toEqual(byId(before))

  // And goes on with what is new.
  write(root, SESSIONS)
  while (!(await turns.take(1)).some(({ sessionId }) => sessionId === `s${SESSIONS}`)) {}
  expect(await second.client.session({ id: `s${SESSIONS}` })).toMatchObject({ turns: 1 })
  await second.stop()
  const db2 = new Database(index, { readonly: true })
  expect(db2.prepare('SELECT count(*), count(DISTINCT uid) FROM messages').raw().get()).toEqual([62, 62])
  expect(db2.pragma('quick_check', { simple: true })).toBe('ok')
  db2.close()
})
