import { appendFileSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createCatalogue } from '../../daemon/memory/catalogue.ts'
import { createJournal } from '../../daemon/memory/journal.ts'
import { printTopic } from '../../daemon/memory/topic-file.ts'
import { hashOf } from '../../daemon/platform/safe-folder.ts'
import { manualTime } from '../support/clock.ts'
import { testCore } from '../support/core.ts'
import { memoryRig, person, topic } from '../support/memory.ts'

/** Far enough from now that a file is settled once it is made. */
const LATER = Date.now() + 60_000

async function catalogueRig(options: Parameters<typeof testCore>[0] = {}) {
  const { core, home, time } = await testCore({ time: manualTime(LATER), ...options })
  const dir = join(home.dir, 'memory')
  mkdirSync(dir, { recursive: true })
  const journal = createJournal(core.db.history)
  const catalogue = createCatalogue(core, journal, {
    has: async (file) => file.includes('ghp_'),
    isKnown: (file) => file.includes('ghp_'),
  })
  const read: string[] = []
  catalogue.onRead((_dir, { file }) => read.push(file))
  const write = (file: string, text: string) => writeFileSync(join(dir, file), text)
  /** As the watch does with what another program wrote. */
  const journaled = (file: string, text: string) => {
    const after = { hash: hashOf(text), text }
    const change = { at: 1, dir, file, op: 'create' as const, actor: 'external', reason: 'found', evidence: [] }
    journal.append([{ ...change, runId: undefined, before: undefined, after, undoable: false }])
    catalogue.changed(dir, [file])
  }
  const taken = () => read.splice(0)
  const files = () => [...catalogue.open(dir).memories.keys()].sort()
  return { core, home, time, dir, catalogue, write, journaled, taken, files }
}

describe('the catalogue', () => {
  it('has what each file says, and reads one again only when its stamp has changed', async () => {
    const { dir, catalogue, write, taken, files } = await catalogueRig()
    write('a.md', topic('Port 1', 'A'))
    write('b.md', topic('Port 2', 'B'))
    write('MEMORY.md', '- [A](a.md)\n')
    expect(files()).toEqual(['a.md', 'b.md'])
    expect(taken().sort()).toEqual(['a.md', 'b.md'])
    expect(catalogue.open(dir).memories.get('b.md')).toMatchObject({ name: 'B', type: 'project' })
    const { version } = catalogue.open(dir)
    expect(taken()).toEqual([])
    write('b.md', topic('Port 3', 'C'))
    expect(catalogue.open(dir).memories.get('b.md')).toMatchObject({ name: 'C' })
    expect([taken(), catalogue.open(dir).version]).toEqual([['b.md'], version + 1])
    rmSync(join(dir, 'a.md'))
    expect(files()).toEqual(['b.md'])
  })

  it('notices a second change that leaves the stamp of a fresh file as it was', async () => {
    const { dir, catalogue, write } = await catalogueRig({ time: manualTime(Date.now()) })
    write('a.md', topic('Port 1', 'A'))
    const nameOf = () => catalogue.open(dir).memories.get('a.md')
    expect(nameOf()).toMatchObject({ name: 'A', stamp: '' })
    write('a.md', topic('Port 1', 'B'))
    expect(nameOf()).toMatchObject({ name: 'B', stamp: '' })
  })

  it('stats more than 500 files at most once a second, beside the answer, and those that were changed at once', async () => {
    const { dir, time, catalogue, write, files } = await catalogueRig()
    for (let n = 0; n < 501; n++) write(`m${n}.md`, topic(`Port ${n}`))
    expect(files()).toHaveLength(501)
    write('new.md', topic('new'))
    write('m0.md', topic('other', 'Other'))
    expect(files()).toHaveLength(501)
    catalogue.changed(dir, ['m0.md'])
    expect(catalogue.open(dir).memories.get('m0.md')).toMatchObject({ name: 'Other' })
    time.pass(1_000)
    expect(files()).toHaveLength(501)
    await new Promise((resolve) => setImmediate(resolve))
    expect(files()).toHaveLength(502)
    write('newer.md', topic('newer'))
    expect(catalogue.list(dir, { limit: 1 }).older).toBe(502)
  })

  it('reads nothing again after a restart that the journal has byte for byte', async () => {
    const first = await catalogueRig()
    const known = topic('Port 1', 'A')
    first.write('a.md', known)
    first.write('b.md', topic('Port 2', 'B'))
    first.files()
    first.journaled('a.md', known)
    first.files()
    first.catalogue.stop()
    await first.core.stop(0)
    const again = await catalogueRig({ home: first.home })
    expect(again.files()).toEqual(['a.md', 'b.md'])
    expect(again.taken()).toEqual(['b.md'])
    expect(again.catalogue.open(again.dir).memories.get('a.md')).toEqual(
      first.catalogue.open(first.dir).memories.get('a.md'),
    )
  })

  it('keeps no row of a file that the journal has otherwise, or that is gone', async () => {
    const { core, dir, catalogue, write, journaled, files } = await catalogueRig()
    const rows = () => core.db.index().prepare('SELECT file FROM memory_files').pluck().all()
    const known = topic('Port 1')
    for (const file of ['a.md', 'b.md', 'c.md']) write(file, known)
    files()
    for (const file of ['a.md', 'b.md']) journaled(file, known)
    write('b.md', topic('Token', 'B'))
    files()
    catalogue.stop()
    expect(rows()).toEqual(['a.md'])
    rmSync(join(dir, 'a.md'))
    files()
    catalogue.stop()
    expect(rows()).toEqual([])
  })

  it('leaves out names with a credential in them', async () => {
    const { dir, catalogue, write, files } = await catalogueRig()
    write('ghp_x.md', topic('Port 1'))
    expect([files(), catalogue.list(dir).items, catalogue.read(dir, 'ghp_x.md')]).toEqual([[], [], undefined])
  })

  it('finds a memory that says the same, among those that still say it', async () => {
    const { dir, time, catalogue, write } = await catalogueRig()
    for (let n = 0; n < 501; n++) write(`m${n}.md`, topic(`Port ${n}`))
    expect(await catalogue.findSame(dir, 'port  7!')).toMatchObject({ file: 'm7.md' })
    expect(await catalogue.findSame(dir, 'port 700')).toBeUndefined()
    time.pass(1)
    write('m7.md', topic('Port 8'))
    expect(await catalogue.findSame(dir, 'port 7')).toBeUndefined()
  })

  it('reads the newest at once when they are listed, and the others beside', async () => {
    const { dir, catalogue, write, taken } = await catalogueRig()
    for (let n = 0; n < 20; n++) {
      write(`m${n}.md`, topic(`Port ${n}`))
      utimesSync(join(dir, `m${n}.md`), n, n)
    }
    expect(catalogue.list(dir, { limit: 3 })).toMatchObject({ older: 17 })
    expect(taken()).toEqual(['m19.md', 'm18.md', 'm17.md'])
    await catalogue.readAhead([dir])
    expect([taken()[0], catalogue.open(dir).unread()]).toEqual(['m16.md', 0])
  })

  it('is empty where there is no directory, and where it went', async () => {
    const { dir, catalogue, write, files } = await catalogueRig()
    expect(catalogue.list(join(dir, 'none'))).toEqual({ items: [], older: 0 })
    write('a.md', topic('Port 1'))
    expect(files()).toEqual(['a.md'])
    rmSync(dir, { recursive: true })
    expect(files()).toEqual([])
  })

  it('reads no file under a second name as a memory, and none that is too large', async () => {
    const { dir, catalogue, write } = await catalogueRig()
    write('a.md', printTopic({ name: 'A', description: 'a', type: 'user', body: 'x'.repeat(1_100_000) }))
    expect(catalogue.open(dir).memories.get('a.md')).toMatchObject({ name: 'A', value: undefined })
    expect(catalogue.read(dir, 'a.md')).toBeUndefined()
  })
})

it('answers about memories never show what was there before a change, however often they are asked', async () => {
  const rig = await memoryRig()
  const { reading } = rig.memory
  mkdirSync(rig.dir, { recursive: true })
  const index = () => reading.index(rig.cwd, person).content
  const files = async () =>
    (await reading.list(rig.cwd, person, { type: undefined, q: undefined })).items.map(({ file, name }) => [file, name])
  for (let round = 0; round < 20; round++) {
    writeFileSync(join(rig.dir, 'MEMORY.md'), `- [A](a.md) — round ${round}\n`)
    expect([index(), index()]).toEqual(Array(2).fill(`- [A](a.md) — round ${round}\n`))
    appendFileSync(join(rig.dir, 'MEMORY.md'), 'x')
    expect(index()).toContain(`round ${round}\nx`)
    writeFileSync(join(rig.dir, 'a.md'), topic('x', `N${round}`))
    expect([await files(), await files()]).toEqual(Array(2).fill([['a.md', `N${round}`]]))
    mkdirSync(join(rig.dir, 'deep'), { recursive: true })
    renameSync(join(rig.dir, 'a.md'), join(rig.dir, 'deep/b.md'))
    expect([await files(), await files()]).toEqual(Array(2).fill([['deep/b.md', `N${round}`]]))
    writeFileSync(join(rig.dir, 'deep/b.md'), topic('y', `M${round}`))
    expect(await files()).toEqual([['deep/b.md', `M${round}`]])
    rmSync(join(rig.dir, 'deep'), { recursive: true })
    expect(await files()).toEqual([])
  }
})
