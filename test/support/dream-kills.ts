/** Kills daemons at random moments of a dream: the directory is the one before or the one after, and the lock can be had. */
import { watch } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import type { Core } from '../../daemon/core.ts'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createDreamLock, LOCK_FILE } from '../../daemon/dream/dream-lock.ts'
import { createDreams } from '../../daemon/dream/dream-table.ts'
import { createJournal } from '../../daemon/memory/journal.ts'
import { recoverChanges } from '../../daemon/memory/recovery.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { startDaemon } from './daemon.ts'
import { dreamGround, dreamModel, type Files, goodDream, snapshot } from './dream-ground.ts'
import type { Home } from './home.ts'
import { startDaemon as startHere } from './in-process.ts'
import { jobEnds } from './job-ends.ts'
import { seeded } from './seed.ts'

/** How long a dream takes here, roughly: all of it, from the model's last word on, and while it is written. */
const SPREAD_MS = 500
const END_MS = 300
const WRITING_MS = 10

export async function killWhileDreaming(kills: number): Promise<void> {
  const random = seeded(`kill -9 while dreaming, ${kills} times`)
  const after = await finished()
  const found = { before: 0, after: 0 }
  for (let round = 0; round < kills; round++) {
    const { api, home } = await dreamModel(goodDream)
    const { cwd, dir, before } = dreamGround(home)
    const daemon = await startDaemon(home)
    const writing = firstWrite(dir)
    void daemon.client.dream({ cwd, force: true }).catch(() => {})
    if (round % 3 === 1) await api.request(3)
    if (round % 3 === 2) await writing
    await delay(random() * ([SPREAD_MS, END_MS, WRITING_MS][round % 3] ?? 0))
    await daemon.kill9()

    // What the next start does before it serves.
    const clock = createClock()
    const store = openDatabases(home.places.stateDir, clock.now())
    const journal = createJournal(store.history)
    expect(recoverChanges(journal, [dir], () => true).problems).toEqual([])
    const dreams = createDreams(store.history)
    const lock = createDreamLock({ stateDir: home.places.stateDir, clock } as Core, dreams)
    lock.recover()
    const isDone = dreams.last(dir)?.outcome === 'applied'
    expect(snapshot(dir)).toEqual(isDone ? after : before)
    found[isDone ? 'after' : 'before']++
    // As if nothing had begun, or as it is after one.
    expect(lock.lastMs(dir) === undefined).toBe(!isDone)
    const acquired = lock.acquire(dir, 'test')
    expect('lock' in acquired).toBe(true)
    if ('lock' in acquired) acquired.lock.rollBack()
    store.close()
    if (round % 5 === 0) expect(await afterwards(home, cwd, dir)).toEqual(after)
  }
  // Or no kill fell into what matters.
  if (kills >= 10) expect(found).toEqual({ before: expect.toSatisfy(isSome), after: expect.toSatisfy(isSome) })
  console.info(`${found.before} times as before, ${found.after} times as after`)
}

function isSome(count: number): boolean {
  return count > 0
}

/** The first file that is written there, the lock left out. */
function firstWrite(dir: string): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(dir, (_event, name) => {
      if (name === LOCK_FILE) return
      watcher.close()
      resolve()
    })
    onTestFinished(() => watcher.close())
  })
}

/** What was begun is brought to its end by the next daemon, once. */
async function afterwards(home: Home, cwd: string, dir: string): Promise<Files> {
  const daemon = await startHere(home, { lastStop: 'unclean' })
  const ends = await jobEnds(daemon.client, 'dream')
  const isOver = async () => {
    const { items } = await daemon.client.jobs({ limit: '50' })
    return items.some(({ kind, endedAt }) => kind === 'dream' && endedAt !== undefined)
  }
  const isThere = (await daemon.client.jobs({ limit: '50' })).items.some(({ kind }) => kind === 'dream')
  // Killed before it was even asked for.
  if (!isThere) await daemon.client.dream({ cwd, force: true })
  if (!(await isOver())) await ends.next()
  await daemon.stop()
  return snapshot(dir)
}

/** A dream that is not disturbed. */
async function finished(): Promise<Files> {
  const { home } = await dreamModel(goodDream)
  const { cwd, dir } = dreamGround(home)
  const { client, stop } = await startHere(home)
  const ends = await jobEnds(client, 'dream')
  await client.dream({ cwd, force: true })
  expect(await ends.next()).toMatchObject({ state: 'done' })
  await stop()
  return snapshot(dir)
}
