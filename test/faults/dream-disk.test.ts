import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest'
import { LOCK_FILE } from '../../daemon/dream/lock-file.ts'
import { startDaemon } from '../support/daemon.ts'
import { dreamGround, dreamModel, goodDream, snapshot, write } from '../support/dream-ground.ts'
import { collectEvents } from '../support/events.ts'
import type { Home } from '../support/home.ts'
import { jobEnds } from '../support/job-ends.ts'
import { topic } from '../support/memory.ts'
import { memoryDirOf } from '../support/model-writes.ts'

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
    expect(await ends.next()).toMatchObject({ state: 'failed', error: expect.stringContaining('no space left') })
    expect(snapshot(dir)).toEqual(before)
    expect(existsSync(join(dir, LOCK_FILE))).toBe(false)
    const { last } = await client.dreamStatus({ cwd })
    expect(last).toMatchObject({ outcome: 'failed', why: expect.stringContaining('no space left'), turns: 3 })
    expect(last?.spent?.usd).toBeGreaterThan(0)
    // What the daemon keeps is on another disk, and fine.
    expect(await client.status()).toMatchObject({ state: 'ready', reasons: [] })

    rmSync(join(dir, 'ballast'))
    await client.dream({ cwd, force: true })
    expect(await ends.next()).toMatchObject({ state: 'done', result: { outcome: 'applied', created: 1, updated: 4 } })
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
