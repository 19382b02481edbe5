import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { savedEvents } from '../support/events.ts'
import { makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'

/** A project whose memory directory is a small file system of its own, with one memory in it. */
async function smallDirectory({ skip }: TestContext) {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  const dir = join(home.dir, '.claude', 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-'), 'memory')
  for (const folder of [cwd, dir]) mkdirSync(folder, { recursive: true })
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=0700', 'tmpfs', dir]).status !== 0) {
    console.warn('skipped: cannot mount a file system here')
    skip()
  }
  onTestFinished(() => void spawnSync('umount', ['-l', dir]))
  const daemon = await startDaemon(home)
  const put = (file: string, content: string) => daemon.client.putMemory({ cwd, file, content })
  await put('a.md', topic('One.'))
  const tree = () =>
    Object.fromEntries(
      readdirSync(dir)
        .sort()
        .map((name) => [name, readFileSync(join(dir, name), 'utf8')]),
    )
  const journal = async () =>
    (await daemon.client.changes({ cwd })).items.map(({ op, file, reason }) => `${op} ${file}: ${reason}`).reverse()
  return { cwd, dir, daemon, put, tree, journal }
}

const LARGE = topic('word '.repeat(8_000))

describe('a memory directory on a disk', () => {
  it('that is full refuses writes by its name, is left as it was, and takes them again when there is room', async (context) => {
    const { cwd, dir, daemon, put, tree } = await smallDirectory(context)
    writeFileSync(join(dir, 'ballast'), Buffer.alloc(40_000))
    const before = tree()
    const refusal = {
      code: 'DEGRADED',
      message: `the memory directory ${dir} cannot be used: there is no space left (ENOSPC)`,
      hint: 'make room there, or make it writable for you',
    }
    for (const file of ['a.md', 'b.md']) await expect(put(file, LARGE)).rejects.toMatchObject(refusal)
    expect(tree()).toEqual(before)
    expect((await daemon.client.memory({ cwd, file: 'a.md' })).content).toBe(topic('One.'))
    // The daemon's own disk is fine.
    expect(await daemon.client.status()).toMatchObject({ state: 'ready', reasons: [] })

    rmSync(join(dir, 'ballast'))
    await put('a.md', LARGE)
    await daemon.kill9()
    expect(Object.keys(tree())).toEqual(['MEMORY.md', 'a.md'])
    expect(tree()['a.md']).toBe(LARGE)
  })

  it('that is full when the index is to be written has the memory before it put back', async (context) => {
    const { dir, put, tree, journal } = await smallDirectory(context)
    // One block is left: enough for the memory, not for the index after it.
    const { bfree, bsize } = statfsSync(dir)
    writeFileSync(join(dir, 'ballast'), Buffer.alloc((bfree - 1) * bsize))
    const before = tree()
    await expect(put('b.md', topic('Two.'))).rejects.toMatchObject({ code: 'DEGRADED' })
    expect(tree()).toEqual(before)
    expect((await journal()).at(-1)).toMatch(
      /^refused b.md: could not be written: the memory directory .* no space left/,
    )
  })

  it('that is read-only can be read, and is watched all the same', async (context) => {
    const { cwd, dir, daemon, put, tree } = await smallDirectory(context)
    const { until } = await savedEvents(daemon.client)
    const before = tree()
    spawnSync('mount', ['-o', 'remount,ro', dir])
    for (const file of ['a.md', 'b.md'])
      await expect(put(file, topic('Two.'))).rejects.toMatchObject({
        code: 'DEGRADED',
        message: `the memory directory ${dir} cannot be used: it is read-only (EROFS)`,
      })
    await expect(daemon.client.forget({ cwd, file: 'a.md' })).rejects.toMatchObject({ code: 'DEGRADED' })
    expect(tree()).toEqual(before)
    expect((await daemon.client.memories({ cwd })).items.map(({ file }) => file)).toEqual(['a.md'])
    expect(await daemon.client.status()).toMatchObject({ state: 'ready', reasons: [] })

    spawnSync('mount', ['-o', 'remount,rw', dir])
    writeFileSync(join(dir, 'a.md'), topic('Two, by hand.'))
    await until('a.md')
    await put('b.md', topic('Three.'))
    expect(Object.keys(tree())).toEqual(['MEMORY.md', 'a.md', 'b.md'])
  })
})
