import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { inFolder } from '../../daemon/memory/folder.ts'
import { createJournal, type Journal } from '../../daemon/memory/journal.ts'
import { recoverChanges } from '../../daemon/memory/recovery.ts'
import { createUndo } from '../../daemon/memory/undo.ts'
import { createProjects } from '../../daemon/projects/projects.ts'
import { testCore } from '../support/core.ts'
import { topic } from '../support/memory.ts'
import { createTestWriter } from '../support/writer.ts'

/** The writer alone, over a journal that a test may tamper with. */
async function makeWriter() {
  const { core, home } = await testCore()
  const dir = join(home.dir, 'memory')
  const journal = createJournal(core.db.history)
  const writerOver = (over: Journal) => createTestWriter(core, over)
  const tree = () =>
    Object.fromEntries(
      readdirSync(dir, { recursive: true, encoding: 'utf8' })
        .filter((name) => statSync(join(dir, name)).isFile())
        .sort()
        .map((name) => [name, readFileSync(join(dir, name), 'utf8')]),
    )
  return { core, dir, home: home.dir, journal, writerOver, writer: writerOver(journal), tree }
}

const by = { actor: 'agent:test', reason: 'test' }

describe('after a kill', () => {
  it('a change that is in the journal happens, and one that is not does not', async () => {
    const { dir, journal, writerOver, writer, tree } = await makeWriter()
    await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], by)
    const before = tree()
    // Killed right after the journal was written: nothing on disk has changed yet.
    const killed = writerOver({
      ...journal,
      append: (changes) => {
        journal.append(changes)
        throw new Error('killed')
      },
    })
    const writes = [
      { file: 'a.md', content: topic('Two.', 'Renamed') },
      { file: 'b.md', content: topic('Three.') },
    ]
    await expect(killed.write(dir, writes, { ...by, runId: 'r1' })).rejects.toThrow('killed')
    expect(tree()).toEqual(before)
    expect(recoverChanges(journal, [dir], () => true)).toEqual({ completed: ['a.md', 'b.md'], problems: [] })
    expect(tree()).toEqual({
      'MEMORY.md': '- [Renamed](a.md) — What is known of Renamed\n- [A thing](b.md) — What is known of A thing\n',
      'a.md': topic('Two.', 'Renamed'),
      'b.md': topic('Three.'),
    })
    expect(recoverChanges(journal, [dir], () => true)).toEqual({ completed: [], problems: [] })
  })

  it("another program's edit made meanwhile stands", async () => {
    const { dir, journal, writerOver, writer, tree } = await makeWriter()
    await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], by)
    const killed = writerOver({
      ...journal,
      append: (changes) => {
        journal.append(changes)
        throw new Error('killed')
      },
    })
    await expect(killed.write(dir, [{ file: 'a.md', content: topic('Two.') }], by)).rejects.toThrow('killed')
    writeFileSync(join(dir, 'a.md'), topic('In an editor.'))
    expect(recoverChanges(journal, [dir], () => true)).toEqual({ completed: [], problems: [] })
    expect(tree()['a.md']).toBe(topic('In an editor.'))
  })

  it('a change that was on disk is not repeated over what a person did since', async () => {
    const { dir, journal, writer, tree } = await makeWriter()
    await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], by)
    await writer.write(dir, [{ file: 'a.md', content: topic('Two.') }], by)
    writeFileSync(join(dir, 'a.md'), topic('One.'))
    expect(recoverChanges(journal, [dir], () => true)).toEqual({ completed: [], problems: [] })
    expect(tree()['a.md']).toBe(topic('One.'))
  })

  it("one project's trouble does not keep the others from being looked after", async () => {
    const { dir, journal, writer } = await makeWriter()
    await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], by)
    const file = `${dir}-file`
    writeFileSync(file, 'in the place of a directory')
    const { problems } = recoverChanges(journal, [file, dir], () => true)
    expect(problems).toEqual([expect.stringContaining('is not a folder')])
  })

  it('a new file that still has the name of its half-written one is read again', async () => {
    const { dir, journal, writerOver, writer, tree } = await makeWriter()
    await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], by)
    const killed = writerOver({
      ...journal,
      append: (changes) => {
        journal.append(changes)
        throw new Error('killed')
      },
    })
    const writes = ['b.md', 'sub/c.md'].map((file) => ({ file, content: topic('Two.', file) }))
    await expect(killed.write(dir, writes, by)).rejects.toThrow('killed')
    // Killed between the two names: it has both, and no file with two is read.
    mkdirSync(join(dir, 'sub'))
    for (const { file, content } of writes) {
      const half = join(dir, dirname(file), '.memoryd-123-456.tmp')
      writeFileSync(half, content, { mode: 0o600 })
      linkSync(half, join(dir, file))
    }
    expect(() => inFolder(dir, (folder) => folder.read('b.md'))).toThrow('hard link')
    expect(recoverChanges(journal, [dir], () => true)).toEqual({ completed: [], problems: [] })
    const { 'MEMORY.md': index, ...files } = tree()
    expect(files).toEqual({
      'a.md': topic('One.'),
      'b.md': topic('Two.', 'b.md'),
      'sub/c.md': topic('Two.', 'sub/c.md'),
    })
    expect(index?.match(/\(.*?\)/g)).toEqual(['(a.md)', '(b.md)', '(sub/c.md)'])
    expect(inFolder(dir, (folder) => folder.read('b.md'))?.bytes.toString()).toBe(topic('Two.', 'b.md'))
  })

  it('half-written files are swept away', async () => {
    const { dir, journal, writer, tree } = await makeWriter()
    await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], by)
    writeFileSync(join(dir, '.memoryd-123-456.tmp'), 'half')
    recoverChanges(journal, [dir], () => true)
    expect(Object.keys(tree())).toEqual(['MEMORY.md', 'a.md'])
  })
})

describe('a directory that has become a link', () => {
  it('is written to only where memories may be, by a change as by recovery', async () => {
    const { dir, home, journal, core, writerOver, writer } = await makeWriter()
    await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], by)
    const killed = writerOver({
      ...journal,
      append: (changes) => {
        journal.append(changes)
        throw new Error('killed')
      },
    })
    await expect(killed.write(dir, [{ file: 'b.md', content: topic('Two.') }], by)).rejects.toThrow('killed')
    renameSync(dir, `${dir}-away`)
    const elsewhere = join(home, 'elsewhere')
    mkdirSync(elsewhere)
    symlinkSync(elsewhere, dir)
    // A check by name alone would describe another moment, in which no link was there.
    const isPlace = (place: string) => place !== elsewhere
    const careful = createTestWriter(core, journal, isPlace)
    await expect(careful.write(dir, [{ file: 'c.md', content: topic('Three.') }], by)).rejects.toMatchObject({
      code: 'REFUSED',
      reason: 'path',
    })
    expect(recoverChanges(journal, [dir], isPlace)).toEqual({
      completed: [],
      problems: [expect.stringContaining('leads elsewhere through a link')],
    })
    expect(readdirSync(elsewhere)).toEqual([])
  })
})

describe('a write that fails', () => {
  it('is withdrawn from the journal, and what was written before it is put back', async () => {
    const { dir, journal, writerOver, writer, tree } = await makeWriter()
    await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], by)
    const before = tree()
    // After the last look and before the writes: the first file is written, the second turns out to be taken.
    const overtaken = writerOver({
      ...journal,
      append: (changes) => {
        writeFileSync(join(dir, 'b.md'), topic('Saved meanwhile.'))
        return journal.append(changes)
      },
    })
    const writes = [
      { file: 'a.md', content: topic('Two.', 'Renamed') },
      { file: 'b.md', content: topic('Three.') },
    ]
    await expect(overtaken.write(dir, writes, { ...by, runId: 'r' })).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(tree()).toEqual({ ...before, 'b.md': topic('Saved meanwhile.') })
    expect(journal.ofRun('r').map(({ op }) => op)).toEqual(expect.arrayContaining(['refused', 'refused']))
    expect(journal.latest(dir, 'a.md')?.after?.text).toBe(topic('One.'))
    expect(recoverChanges(journal, [dir], () => true)).toEqual({ completed: [], problems: [] })
    expect(tree()).toEqual({ ...before, 'b.md': topic('Saved meanwhile.') })
  })

  it('because another program saved meanwhile leaves what it saved', async () => {
    const { dir, journal, writerOver, writer, tree } = await makeWriter()
    await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], by)
    // Between the last look and the write.
    const overtaken = writerOver({
      ...journal,
      append: (changes) => {
        writeFileSync(join(dir, 'a.md'), topic('Saved meanwhile.'))
        return journal.append(changes)
      },
    })
    await expect(overtaken.write(dir, [{ file: 'a.md', content: topic('Two.') }], by)).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    expect(tree()['a.md']).toBe(topic('Saved meanwhile.'))
    expect(journal.latest(dir, 'a.md')?.after?.text).toBe(topic('One.'))
  })
})

describe('a change that can be neither done nor taken back', () => {
  /** The index cannot be written, and what was written before it cannot be removed: a link keeps the file from being read. */
  const leaveHalf = async ({ dir, journal, writerOver, writer }: Awaited<ReturnType<typeof makeWriter>>) => {
    await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], by)
    const failing = writerOver({
      ...journal,
      withdraw: () => {
        linkSync(join(dir, 'a.md'), `${dir}.held`)
        throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' })
      },
      append: (changes) => {
        const ids = journal.append(changes)
        if (!existsSync(join(dir, 'b.md'))) writeFileSync(join(dir, 'b.md'), topic('Saved meanwhile.'))
        return ids
      },
    })
    const writes = [
      { file: 'a.md', content: topic('Two.') },
      { file: 'b.md', content: topic('Three.') },
    ]
    return failing.write(dir, writes, by).catch((error: unknown) => error)
  }

  it('says so, keeps others out until it is finished, and is finished by the next', async () => {
    const made = await makeWriter()
    const { dir, writer, tree, journal } = made
    expect(await leaveHalf(made)).toMatchObject({
      code: 'DEGRADED',
      message: `the change in ${dir} was written only in part, and may still happen: disk I/O error`,
    })
    const next = () => writer.write(dir, [{ file: 'c.md', content: topic('Four.') }], by)
    await expect(next()).rejects.toMatchObject({ code: 'DEGRADED' })
    await expect(writer.alone(dir, async () => 'looked')).rejects.toMatchObject({
      code: 'DEGRADED',
      message: expect.stringContaining(`an earlier change in ${dir} was written only in part`),
    })
    expect(journal.tip(dir, 'c.md')).toBeUndefined()
    rmSync(`${dir}.held`)
    await next()
    expect(tree()).toMatchObject({ 'a.md': topic('Two.'), 'b.md': topic('Saved meanwhile.'), 'c.md': topic('Four.') })
    expect(journal.pending()).toEqual([])
  })

  it('is finished after a start, and no other change is repeated', async () => {
    const made = await makeWriter()
    const { core, dir, writer, tree } = made
    const other = `${dir}-other`
    for (const text of ['One.', 'Two.']) await writer.write(other, [{ file: 'x.md', content: topic(text) }], by)
    await leaveHalf(made)
    await writer.write(other, [{ file: 'y.md', content: topic('One.') }], by)
    await writer.write(other, [{ file: 'y.md', content: topic('Two.') }], by)
    writeFileSync(join(other, 'y.md'), topic('One.'))
    const start = () => {
      const journal = createJournal(core.db.history)
      return { journal, ...recoverChanges(journal, [dir, other], () => true) }
    }
    expect(start()).toMatchObject({ completed: [], problems: [expect.stringContaining('hard link')] })
    rmSync(`${dir}.held`)
    const { journal, ...recovery } = start()
    expect(recovery).toEqual({ completed: ['a.md'], problems: [] })
    expect(tree()['a.md']).toBe(topic('Two.'))
    expect(readFileSync(join(other, 'y.md'), 'utf8')).toBe(topic('One.'))
    expect([journal.pending(), start().completed]).toEqual([[], []])
  })
})

describe('a run', () => {
  it('of fifty files is undone to the byte, though another memory was written since', async () => {
    const { core, dir, journal, writer, tree } = await makeWriter()
    for (let n = 0; n < 25; n++)
      await writer.write(dir, [{ file: `old-${n}.md`, content: topic(`Old ${n}.`, `Old ${n}`) }], by)
    const before = tree()
    const writes = Array.from({ length: 50 }, (_, n) =>
      n < 25
        ? { file: `old-${n}.md`, content: n % 2 ? null : topic(`Changed ${n}.`, `Changed ${n}`) }
        : { file: `new-${n}.md`, content: topic(`New ${n}.`) },
    )
    await writer.write(dir, writes, { ...by, runId: 'dream-1' })
    expect(tree()).not.toEqual(before)
    const undo = createUndo(core, createProjects(core), writer, journal)
    await undo.run('dream-1', 'user')
    expect(tree()).toEqual(before)

    // The undo was a person's word: only a person may go over it without having seen it.
    await expect(writer.write(dir, writes, { ...by, runId: 'dream-2' })).rejects.toMatchObject({ code: 'CONFLICT' })
    await writer.write(dir, writes, { actor: 'user', reason: 'test', runId: 'dream-2' })
    await writer.write(dir, [{ file: 'later.md', content: topic('Later.', 'Later') }], by)
    await undo.run('dream-2', 'user')
    const { 'later.md': later, 'MEMORY.md': index, ...rest } = tree()
    const { 'MEMORY.md': oldIndex, ...oldRest } = before
    expect(rest).toEqual(oldRest)
    expect(later).toBe(topic('Later.', 'Later'))
    const lines = (text = '') => text.split('\n').filter(Boolean).sort()
    expect(lines(index)).toEqual(lines(`${oldIndex}- [Later](later.md) — What is known of Later\n`))
  })

  it('is applied as a whole or not at all', async () => {
    const { dir, writer, tree } = await makeWriter()
    await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], by)
    const before = tree()
    const writes = [
      { file: 'b.md', content: topic('Two.') },
      { file: '../c.md', content: topic('Three.') },
    ]
    await expect(writer.write(dir, writes, { ...by, runId: 'r' })).rejects.toMatchObject({ code: 'REFUSED' })
    expect(tree()).toEqual(before)
  })
})
