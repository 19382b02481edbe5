import { createHash } from 'node:crypto'
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exportOf, linesOf } from '../support/carry.ts'
import { memoryRig, person, type Rig, topic } from '../support/memory.ts'

const put = (rig: Rig, file: string, content: string) => rig.memory.put(rig.cwd, person, { file, content }, 'test')
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

describe('an export', () => {
  it('is a header, every file, every rejection, and an end that adds up; the history stays', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('One.', 'Alpha'))
    await put(rig, 'a.md', topic('Two.', 'Alpha'))
    await put(rig, 'b.md', topic('Wrong from the beginning.', 'Beta'))
    await rig.memory.forget(rig.cwd, person, 'b.md', { reject: true, ifHash: undefined })
    const file = await exportOf(rig, rig.cwd)
    const at = '2026-01-01T00:00:00.000Z'
    expect(linesOf(file)).toEqual([
      { kind: 'header', format: 'memoryd-export', version: 1, at, root: rig.cwd },
      { kind: 'file', file: 'MEMORY.md', content: '- [Alpha](a.md) — What is known of Alpha\n' },
      { kind: 'file', file: 'a.md', content: topic('Two.', 'Alpha') },
      {
        ...{ kind: 'tombstone', at, file: 'b.md', excerpt: 'Wrong from the beginning.' },
        values: [expect.stringMatching(/^[0-9a-f]{64}$/)],
      },
      {
        ...{ kind: 'end', files: 2, texts: 0, changes: 0, tombstones: 1, left: [] },
        sha256: sha256(file.slice(0, file.lastIndexOf('\n', file.length - 2) + 1)),
      },
    ])
  })

  it('is refused once its directory leads to a place where no memories may be, and brings nothing of it', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('One.'))
    writeFileSync(join(rig.home, 'outside.md'), topic('Outside.'))
    const begun = rig.memory.exporting.start(rig.cwd, person)
    // The directory was found already.
    renameSync(rig.dir, `${rig.dir}-away`)
    symlinkSync(rig.home, rig.dir)
    await expect(begun).rejects.toMatchObject({ code: 'REFUSED', reason: 'path' })
  })

  it('of a project without memories has a beginning and an end', async () => {
    const rig = await memoryRig()
    expect(linesOf(await exportOf(rig, rig.cwd)).map(({ kind }) => kind)).toEqual(['header', 'end'])
  })

  it('holds what others wrote around memoryd, and bytes that are no text', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('One.'))
    const theirs = topic('By an editor.')
    writeFileSync(join(rig.dir, 'a.md'), theirs)
    const bytes = Buffer.from([0xff, 0xfe, 0x0a])
    writeFileSync(join(rig.dir, 'raw.md'), bytes)
    const lines = linesOf(await exportOf(rig, rig.cwd))
    expect(lines).toContainEqual({ kind: 'file', file: 'a.md', content: theirs })
    expect(lines).toContainEqual({
      kind: 'file',
      file: 'raw.md',
      content: bytes.toString('base64'),
      encoding: 'base64',
    })
    expect(
      rig.memory.history.changes(rig.cwd, person, { file: undefined, limit: 2, after: undefined }).items,
    ).toMatchObject([{ actor: 'external' }, { actor: 'external' }])
  })

  it('tells which files it could not read, and leaves out what is no memory', async () => {
    const rig = await memoryRig()
    await put(rig, 'a.md', topic('One.'))
    mkdirSync(join(rig.dir, 'logs/2026'), { recursive: true })
    writeFileSync(join(rig.dir, 'logs/2026/day.md'), 'log')
    writeFileSync(join(rig.dir, 'notes.txt'), 'text')
    writeFileSync(join(rig.home, 'elsewhere.md'), topic('Not ours.'))
    linkSync(join(rig.home, 'elsewhere.md'), join(rig.dir, 'hard.md'))
    symlinkSync(join(rig.home, 'elsewhere.md'), join(rig.dir, 'soft.md'))
    const lines = linesOf(await exportOf(rig, rig.cwd))
    expect(lines.filter(({ kind }) => kind === 'file').map(({ file }) => file)).toEqual(['MEMORY.md', 'a.md'])
    expect(lines.at(-1)?.left).toEqual([
      { file: 'hard.md', reason: expect.stringContaining('hard link') },
      { file: 'soft.md', reason: expect.stringContaining('no plain file') },
    ])
  })

  it('is of one moment: what happens while it is read is not in it', async () => {
    const rig = await memoryRig()
    for (let n = 10; n < 25; n++) await put(rig, `a${n}.md`, topic(`${n} ${'words '.repeat(1_500)}`, `Number ${n}`))
    const before = await exportOf(rig, rig.cwd)
    const pieces = (await rig.memory.exporting.start(rig.cwd, person))[Symbol.asyncIterator]()
    let text = (await pieces.next()).value as string
    expect(text.includes('"file":"a24.md"')).toBe(false)
    await put(rig, 'a24.md', topic('Changed meanwhile.'))
    await put(rig, 'new.md', topic('New meanwhile.'))
    await rig.memory.forget(rig.cwd, person, 'a23.md', { reject: true, ifHash: undefined })
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) text += next.value
    expect(text === before).toBe(true)
  })

  it('breaks off rather than hand out less than there was', async () => {
    const rig = await memoryRig()
    for (let n = 0; n < 9; n++) await put(rig, `a${n}.md`, topic(`${n} ${'words '.repeat(1_500)}`))
    const pieces = (await rig.memory.exporting.start(rig.cwd, person))[Symbol.asyncIterator]()
    await pieces.next()
    rmSync(rig.dir, { recursive: true })
    rig.store.history.prepare(`UPDATE changes SET dir = '/elsewhere'`).run()
    const rest = async () => {
      for (let next = await pieces.next(); !next.done; ) next = await pieces.next()
    }
    await expect(rest()).rejects.toMatchObject({ code: 'CONFLICT' })
  })
})
