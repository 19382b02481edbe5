import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listTexts, readTexts } from '../../daemon/memory/texts.ts'
import { createVigils } from '../../daemon/platform/vigil.ts'
import { createCorpora } from '../../daemon/recall/corpus.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'

/** The corpora over a real directory, and what was read for them. */
function rig() {
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
        return readTexts(at, files, time.clock.now())
      },
      known: () => ['note_7.md'],
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
  const open = async () => {
    await vigils.settled()
    return corpora.open(dir, 'question')
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
    corpora.changed(dir, ['a.md', 'MEMORY.md', 'team/MEMORY.md'])
    await open()
    expect(counts.read).toBe(read + 1)
  })

  it('of many memories has those first that the words on disk lead to, and the rest in a while', async () => {
    const { put, open, dir } = rig()
    for (let n = 0; n < 400; n++) put(`note_${n}.md`)
    const old = new Date(2020, 0, 1)
    utimesSync(join(dir, 'note_7.md'), old, old)
    const first = await open()
    expect(first).toMatchObject({ fresh: false })
    expect(first.items.has('note_7.md')).toBe(true)
    expect(first.items.size).toBeLessThan(400)
    while (first.items.size < 400) await turn()
    expect((await open()).items.size).toBe(400)
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
