/** Kills a daemon in the midst of a purge and checks that the next one takes it to its end, and loses nothing else. */
import { existsSync, mkdirSync, readdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { connect } from '../../client/index.ts'
import { isUsable, listBackups } from '../../daemon/db/backup.ts'
import { openForReading } from '../../daemon/db/database.ts'
import { launch, startDaemon } from './daemon.ts'
import { startDaemon as startHere } from './in-process.ts'
import { FILE, type Ground, makeGround, words } from './purge-ground.ts'
import { seeded } from './seed.ts'
import { missing, traces } from './traces.ts'

/** What can be seen from outside at that moment. */
export type Moment = { folder: (ground: Ground) => string; sees: (name: string) => boolean }

export const moments: Record<string, Moment> = {
  'the file was removed': { folder: ({ dir }) => dir, sees: (name) => name === FILE },
  'a damaged copy was deleted': { folder: ({ layout }) => layout.corrupt, sees: (name) => name.includes('-01-02T') },
  'a backup was deleted': { folder: ({ layout }) => layout.backups, sees: (name) => name === 'history-2026-01-01.db' },
  'the last backup was deleted': {
    folder: ({ layout }) => layout.backups,
    sees: (name) => name === 'history-schema-2.db',
  },
  'a copy that was set aside was deleted': {
    folder: ({ layout }) => layout.corrupt,
    sees: (name) => name.endsWith('-01-01T000000000Z.db'),
  },
  'a new backup was begun': { folder: ({ layout }) => layout.backups, sees: (name) => name.endsWith('.tmp') },
}

export async function killWhen({ folder, sees }: Moment): Promise<void> {
  const ground = await prepared()
  const { child, exited, logged } = launch(ground.home)
  await logged('memoryd is ready')
  mkdirSync(folder(ground), { recursive: true })
  const watcher = watch(folder(ground), (_event, name) => {
    if (name !== null && sees(name)) child.kill('SIGKILL')
  })
  askToPurge(ground)
  expect(await exited).toMatchObject({ signal: 'SIGKILL' })
  watcher.close()
  await expectFinished(ground)
  expect(existsSync(join(ground.dir, FILE))).toBe(false)
}

/** Anywhere: before, during and after. What had not begun must be there as it was. */
export async function killAnywhere(rounds: number, spreadMs: number): Promise<void> {
  const random = seeded(`kill -9 while a memory is purged, ${rounds} times`)
  for (let round = 0; round < rounds; round++) {
    const ground = await prepared()
    const { child, exited, logged } = launch(ground.home)
    await logged('memoryd is ready')
    askToPurge(ground)
    await delay(random() * spreadMs)
    child.kill('SIGKILL')
    await exited
    await expectFinished(ground)
  }
}

async function prepared(): Promise<Ground> {
  const ground = makeGround({ fillers: 300 })
  ground.seed()
  const { client, stop } = await startHere(ground.home)
  const hasBackup = async () =>
    (await client.jobs({})).items.some(({ kind, state }) => kind === 'housekeeping' && state === 'done')
  while (!(await hasBackup())) await client.health()
  await stop()
  ground.copies()
  expect(missing(ground.home.places.stateDir, words)).toEqual([])
  return ground
}

function askToPurge({ home, cwd }: Ground): void {
  const client = connect({ socket: home.places.socketPath, deadlineMs: 30_000, actor: 'user' })
  void client.forget({ cwd, file: FILE, purge: 'true' }).finally(client.close)
}

async function expectFinished(ground: Ground): Promise<void> {
  const { home, dir, layout, others } = ground
  // The first round of a daemon takes up what was left, and it does not stop before that is done.
  await (await startDaemon(home)).stop()
  if (existsSync(join(dir, FILE))) expect(missing(home.places.stateDir, words)).toEqual([])
  else expect(traces(home.dir, words)).toEqual([])
  const names = [home.places.stateDir, layout.backups, layout.corrupt, dir].flatMap((folder) => readdirSync(folder))
  expect(names.filter((name) => /\.tmp|\.building|^history.*-(?:wal|shm)$/.test(name))).toEqual([])
  expect(
    readdirSync(dir)
      .filter((name) => name !== FILE)
      .sort(),
  ).toEqual(['MEMORY.md', 'quoting.md', ...others].sort())
  for (const file of [layout.history, ...listBackups(layout.backups)]) {
    expect(isUsable(file)).toBe(true)
    const db = openForReading(file)
    const kept = db.prepare(`SELECT count(*) FROM contents JOIN changes ON after_key = key WHERE file LIKE 'other%'`)
    expect([db.pragma('integrity_check', { simple: true }), kept.pluck().get()]).toEqual(['ok', others.length])
    db.close()
  }
  // Where it happened, those that held it are gone, and today's was made anew.
  expect(listBackups(layout.backups)).toHaveLength(existsSync(join(dir, FILE)) ? 3 : 1)
}
