import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, statfsSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest'
import { LOCK_FILE } from '../../daemon/dream/dream-lock.ts'
import { startDaemon } from '../support/daemon.ts'
import { dreamGround, dreamModel, goodDream, snapshot, write } from '../support/dream-ground.ts'
import { collectEvents } from '../support/events.ts'
import type { Home } from '../support/home.ts'
import { jobEnds } from '../support/job-ends.ts'
import { topic } from '../support/memory.ts'
import { memoryDirOf } from '../support/writer.ts'

const LONG = topic('Every word of this is known. '.repeat(1_500))

/** A project whose memories are on a small file system of their own. */
function smallGround(home: Home, { skip }: TestContext) {
  const mounted = memoryDirOf(home, join(home.dir, 'project'))
  mkdirSync(mounted, { recursive: true })
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=0700', 'tmpfs', mounted]).status !== 0) {
    console.warn('skipped: cannot mount a file system here')
    skip()
  }
  onTestFinished(() => void spawnSync('umount', ['-l', mounted]))
  return dreamGround(home)
}

/** Until the disk is well, and then it is dreamt again. */
async function waits(client: Awaited<ReturnType<typeof startDaemon>>['client'], why: string) {
  const job = async () => (await client.jobs({})).items.find(({ kind }) => kind === 'dream')
  await expect.poll(job, { timeout: 20_000 }).toMatchObject({ state: 'waiting', error: expect.stringContaining(why) })
}

function fill(dir: string, leavePages: number): void {
  const { bavail, bsize } = statfsSync(dir)
  writeFileSync(join(dir, 'ballast'), Buffer.alloc((bavail - leavePages) * bsize))
}

describe('a dream', () => {
  it.for([
    ['at once', 0],
    ['after some of its files', 3],
  ] as const)('leaves the directory as it was where its disk is full %s, and says so', async ([, pages], context) => {
    let isFull = false
    const { home } = await dreamModel((n, dir) => {
      const turn = goodDream(n)
      if (n === 2 && Array.isArray(turn)) return [...turn, write('long.md', LONG)]
      if (n === 3 && !isFull) fill(dir, pages)
      isFull ||= n === 3
      return turn
    })
    const { cwd, dir, before } = smallGround(home, context)
    const { client } = await startDaemon(home)
    const ends = await jobEnds(client, 'dream')
    await client.dream({ cwd, force: true })
    await waits(client, 'no space left')
    expect(snapshot(dir)).toEqual(before)
    expect(existsSync(join(dir, LOCK_FILE))).toBe(false)
    const { last } = await client.dreamStatus({ cwd })
    expect(last).toMatchObject({ outcome: 'failed', why: expect.stringContaining('no space left'), turns: 3 })
    expect(last?.spent?.usd).toBeGreaterThan(0)
    // What the daemon keeps is on another disk, and fine.
    expect(await client.status()).toMatchObject({ state: 'ready', reasons: [] })

    rmSync(join(dir, 'ballast'))
    expect(await ends.next()).toMatchObject({ state: 'done', result: { outcome: 'applied', created: 1, updated: 4 } })
  })

  it('says so where its disk becomes read-only meanwhile, and has its lock put back when it can be', async (context) => {
    const remount = (how: 'ro' | 'rw', dir: string) => spawnSync('mount', ['-o', `remount,${how}`, dir])
    let isFirst = true
    const { api, home } = await dreamModel((n, dir) => {
      if (n === 3 && isFirst) remount('ro', dir)
      isFirst &&= n !== 3
      return goodDream(n)
    })
    const { cwd, dir, before } = smallGround(home, context)
    const lock = join(dir, LOCK_FILE)
    writeFileSync(lock, '')
    utimesSync(lock, 1_700_000_000, 1_700_000_000)
    const { client } = await startDaemon(home)
    const ends = await jobEnds(client, 'dream')
    await client.dream({ cwd, force: true })
    await waits(client, 'it is read-only')
    expect((await client.dreamStatus({ cwd })).last).toMatchObject({ outcome: 'failed', turns: 3 })
    expect(await client.status()).toMatchObject({ state: 'ready', reasons: [] })
    expect(snapshot(dir)).toEqual(before)

    remount('rw', dir)
    expect(await ends.next()).toMatchObject({ state: 'done', result: { outcome: 'applied', merged: 5, updated: 4 } })
    // From the time before, not from that of the one that came to nothing.
    const told = api.requests.map(({ body }) => /last put in order on (\S+)\./.exec(JSON.stringify(body))?.[1])
    expect(new Set(told)).toEqual(new Set(['2023-11-14']))
  })

  it('asks no model where its lock cannot be written, and blames the right disk', async (context) => {
    const { api, home } = await dreamModel(goodDream)
    const { cwd, dir, before } = smallGround(home, context)
    const { client } = await startDaemon(home)
    const jobs = await collectEvents(client, 'job')
    spawnSync('mount', ['-o', 'remount,ro', dir])
    await client.dream({ cwd, force: true })
    await jobs.until((seen) => seen.some(({ kind, error }) => kind === 'dream' && error !== undefined))
    expect(jobs.seen.at(-1)).toMatchObject({ error: expect.stringContaining('it is read-only') })
    expect(await client.status()).toMatchObject({ state: 'ready', reasons: [] })
    expect(api.requests).toEqual([])
    expect(snapshot(dir)).toEqual(before)
  })
})
