import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listTexts, readTexts, stampIn } from '../../daemon/memory/catalogue.ts'
import { createVigils } from '../../daemon/platform/vigil.ts'
import { createCorpora } from '../../daemon/recall/corpus.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'

/** The corpora over a real directory, and what was read for them. */
function rig({ known = [] as string[], readTakesMs = 0 } = {}) {
  const dir = join(makeHome().dir, 'memory')
  mkdirSync(dir)
  const time = manualTime(Date.now() + 60_000)
  const vigils = createVigils({ clock: time.clock })
  const counts = { read: 0, listed: 0 }
  const corpora = createCorpora({
    source: {
      list: (at) => {
        counts.listed++
        return listTexts(at)
      },
      read: (at, files) => {
        counts.read += files.length
        time.pass(readTakesMs)
        return readTexts(at, files, time.clock.now())
      },
      known: () => known,
      stamp: stampIn,
    },
    vigils,
    clock: time.clock,
    onError: (error) => {
      throw error
    },
  })
  onTestFinished(() => {
    corpora.stop()
    vigils.stop()
  })
  const put = (file: string, body = 'x') => {
    mkdirSync(join(dir, file, '..'), { recursive: true })
    writeFileSync(join(dir, file), topic(body, file.replace('.md', '')))
  }
  // Twice: what a test itself did just now is told in the round after this one.
  const open = async (waitMs = 1_000) => {
    await vigils.settled().then(vigils.settled)
    return corpora.open(dir, { question: 'question', waitMs })
  }
  return { dir, time, counts, corpora, put, open }
}

describe('the corpus of a directory', () => {
  it('is read once, and then only what has changed', async () => {
    const { put, open, counts, dir } = rig()
    for (const file of ['a.md', 'b.md', 'deep/c.md', 'MEMORY.md']) put(file)
    expect([...(await open()).items.keys()].sort()).toEqual(['a.md', 'b.md', 'deep/c.md'])
    await open()
    await open()
    expect(counts.read).toBe(3)
    const listed = counts.listed
    await open()
    expect(counts.listed).toBe(listed)
    put('a.md', 'changed')
    expect((await open()).index.term('chang')).toBeDefined()
    expect(counts.read).toBe(4)
    rmSync(join(dir, 'b.md'))
    expect([...(await open()).items.keys()].sort()).toEqual(['a.md', 'deep/c.md'])
  })

  it('is looked at again after a second though nothing stirred', async () => {
    const { put, open, counts, time } = rig()
    put('a.md')
    await open()
    await open()
    const { listed } = counts
    time.pass(1_000)
    await open()
    expect(counts.listed).toBe(listed + 1)
  })

  it('knows what it was told of at once, indexes aside', async () => {
    const { put, open, counts, corpora, dir } = rig()
    put('a.md')
    await open()
    const { read } = counts
    put('a.md', 'lighthouse')
    corpora.changed(dir, ['a.md', 'MEMORY.md', 'team/MEMORY.md'])
    // Not even waiting for what the kernel has to say.
    const { index } = await corpora.open(dir, { question: '', waitMs: 0 })
    expect(index.term('lighthous')).toBeDefined()
    expect(counts.read).toBe(read + 1)
    corpora.changed(dir, ['a.md'])
    await open()
    expect(counts.read).toBe(read + 1)
  })

  it('of many memories has all, though nobody knows the words of any', async () => {
    const { put, open } = rig()
    for (let n = 0; n < 1_200; n++) put(`note_${n}.md`)
    const { items, partial } = await open()
    expect({ size: items.size, partial }).toEqual({ size: 1_200, partial: false })
  })

  it('has those that the words on disk lead to when there is no time for all, says so, and reads on', async () => {
    const { put, open, dir } = rig({ known: ['note_7.md'], readTakesMs: 1 })
    for (let n = 0; n < 400; n++) put(`note_${n}.md`)
    const old = new Date(2020, 0, 1)
    utimesSync(join(dir, 'note_7.md'), old, old)
    const first = await open(50)
    expect(first).toMatchObject({ fresh: false, partial: true })
    expect(first.items.has('note_7.md')).toBe(true)
    expect(first.items.size).toBeLessThan(400)
    while (first.items.size < 400) await turn()
    expect(await open(0)).toMatchObject({ partial: false })
  })

  it.each([10, 1_200])(
    'among %d memories has at once what was written from outside, and no longer what is gone',
    async (many) => {
      const { put, open, counts, dir } = rig()
      for (let n = 0; n < many; n++) put(`note_${n}.md`)
      await open()
      const { listed, read } = counts
      put('new.md', 'lighthouse')
      put('note_3.md', 'zebra')
      rmSync(join(dir, 'note_4.md'))
      const { index, items } = await open(0)
      expect(index.term('lighthous') && index.term('zebra')).toBeDefined()
      expect([...items.keys()]).not.toContain('note_4.md')
      // Told by name: nothing else was looked at.
      expect(counts).toEqual({ listed, read: read + 3 })
      put('deep/er.md', 'giraffe')
      expect((await open(0)).items.has('deep/er.md')).toBe(true)
    },
  )

  it('has what it was told of before all that is still to be read', async () => {
    const { put, open, corpora, dir } = rig({ readTakesMs: 1 })
    for (let n = 0; n < 400; n++) put(`note_${n}.md`)
    await open(1)
    put('new.md', 'lighthouse')
    corpora.changed(dir, ['new.md', 'logs/2026/01/01.md'])
    const { index, partial, items } = await open(1)
    expect(partial).toBe(true)
    expect(index.term('lighthous')).toBeDefined()
    expect(items.has('logs/2026/01/01.md')).toBe(false)
  })

  it('lets others have their turn while large memories are read', async () => {
    const { put, open, counts } = rig({ readTakesMs: 20 })
    for (let n = 0; n < 10; n++) put(`note_${n}.md`)
    let most = 0
    let before = 0
    let isDone = false
    const opened = open().then(() => {
      isDone = true
    })
    while (!isDone) {
      await turn()
      most = Math.max(most, counts.read - before)
      before = counts.read
    }
    await opened
    expect(counts.read).toBe(10)
    expect(most).toBeLessThanOrEqual(3)
  })

  it('finds a new folder though it is called like a memory', async () => {
    const { put, open } = rig()
    put('a.md')
    await open()
    put('b.md/c.md')
    await open()
    expect((await open()).items.has('b.md/c.md')).toBe(true)
  })

  it('has nothing where there is nothing, and notices what comes', async () => {
    const { put, open, dir } = rig()
    rmSync(dir, { recursive: true })
    expect((await open()).items.size).toBe(0)
    expect((await open()).items.size).toBe(0)
    put('a.md')
    expect((await open()).items.size).toBe(1)
  })
})
