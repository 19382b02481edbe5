import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createMoves, everythingIn, holdsNothing, inodeOf, renameFolder } from '../../daemon/memory/move.ts'
import { createPauses } from '../../daemon/projects/projects.ts'
import { tree } from '../support/carry.ts'
import { makeHome } from '../support/home.ts'
import { agent, memoryRig, person, type Rig, topic } from '../support/memory.ts'

const put = (rig: Rig, file: string, content: string, cwd = rig.cwd) =>
  rig.memory.writing.put(cwd, person, { file, content }, 'test')
const changesOf = (rig: Pick<Rig, 'memory'>, cwd: string, file?: string) =>
  rig.memory.history.changes(cwd, person, { file, limit: 999, after: undefined }).items
const SAID = 'The staging database may be wiped at any time'

/** A project that had memories, a rejection and a change that waits, and stands somewhere else now. */
async function moved(options: Parameters<typeof memoryRig>[0] = { review: 'required' }) {
  const rig = await memoryRig(options)
  await put(rig, 'a.md', topic('One.', 'Alpha'))
  await put(rig, 'a.md', topic('Two.', 'Alpha'))
  await put(rig, 'sub/b.md', topic('Three.', 'Beta'))
  await put(rig, 'wrong.md', topic(SAID))
  await rig.memory.writing.forget(rig.cwd, person, 'wrong.md', { reject: true, ifHash: undefined })
  await rig.memory.writing.put(rig.cwd, agent, { file: 'waits.md', content: topic('Waits.') }, 'agent')
  mkdirSync(join(rig.dir, 'logs'))
  writeFileSync(join(rig.dir, 'logs/day.md'), 'a log')
  writeFileSync(join(rig.dir, '.consolidate-lock'), '1')
  createPauses(rig.store.history).add(join(rig.cwd, 'inner'), 1)
  const to = join(rig.home, 'elsewhere')
  const toDir = join(dirname(rig.dir), to.replaceAll('/', '-'))
  renameSync(rig.cwd, to)
  return { ...rig, rig, to, toDir }
}
const move = (rig: Pick<Rig, 'memory' | 'cwd'>, to: string, from = rig.cwd) =>
  rig.memory.carrying().moving.move({ from, to }, person)
const dirsOf = ({ store }: Pick<Rig, 'store'>) => store.history.prepare('SELECT dir, root FROM directories').all()

describe('a project that was moved', () => {
  it('takes its whole directory along, with journal, rejections, reviews and pauses', async () => {
    const { rig, to, toDir, dir } = await moved()
    const before = tree(dir)
    const history = changesOf(rig, rig.cwd)
    expect(await move(rig, to)).toEqual({
      root: to,
      dir: toDir,
      how: 'whole',
      files: ['MEMORY.md', 'a.md', 'sub/b.md'],
      skipped: [],
      renamed: [],
      stayed: [],
    })
    expect(existsSync(dir)).toBe(false)
    expect(tree(toDir)).toEqual(before)
    expect(changesOf(rig, to)).toEqual(history)
    await expect(rig.memory.writing.remember(to, person, SAID, undefined)).rejects.toMatchObject({
      reason: 'rejected-value',
    })
    const [review] = rig.memory.history.reviews().items
    await rig.memory.reviewing.approve(Number(review?.id))
    expect(rig.memory.reading.get(to, person, 'waits.md', undefined).content).toBe(topic('Waits.'))
    expect(createPauses(rig.store.history).list()).toEqual([join(to, 'inner')])
    expect(dirsOf(rig)).toEqual([{ dir: toDir, root: to }])
    await rig.memory.undo.change(Number(history.find(({ op }) => op === 'update')?.id), 'user')
    expect(tree(toDir)['a.md']).toBe(topic('One.', 'Alpha'))
    await rig.memory.lookEverywhere()
    expect(changesOf(rig, to).filter(({ actor }) => actor === 'external')).toEqual([])
  })

  it('joins what is in the new place: same skipped, others under a free name, what cannot come stays and is told', async () => {
    const { rig, to, toDir, dir } = await moved()
    await put(rig, 'a.md', topic('Mine.', 'Mine'), to)
    await put(rig, 'same.md', topic('The same.', 'Same'), to)
    await put(rig, 'no.md', topic('Said no to this one.'), to)
    await rig.memory.writing.forget(to, person, 'no.md', { reject: true, ifHash: undefined })
    const key = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
    writeFileSync(join(dir, 'same.md'), topic('The same.', 'Same'))
    writeFileSync(join(dir, 'rejected.md'), topic('Said no to this one.'))
    writeFileSync(join(dir, 'secret.md'), topic(`The token is ${key}`))
    writeFileSync(join(dir, 'shapeless.md'), 'without front matter\n')
    const done = await move(rig, to)
    expect(done).toEqual({
      root: to,
      dir: toDir,
      how: 'merged',
      runId: expect.stringMatching(/^move-20260101T000000Z-/),
      files: ['a_2.md', 'shapeless.md', 'sub/b.md'],
      skipped: ['same.md'],
      renamed: [{ file: 'a.md', as: 'a_2.md' }],
      stayed: [
        { file: '.consolidate-lock', reason: 'it is no memory' },
        { file: 'MEMORY.md', reason: 'it is the index of what stayed' },
        { file: 'logs/day.md', reason: 'it is no memory' },
        { file: 'rejected.md', reason: expect.stringContaining('rejected') },
        { file: 'secret.md', reason: expect.stringContaining('credential') },
      ],
    })
    expect(Object.keys(tree(dir))).toEqual(done.stayed.map(({ file }) => file))
    expect(tree(dir)['secret.md']).toContain(key)
    expect(tree(toDir)).toMatchObject({
      'a.md': topic('Mine.', 'Mine'),
      'a_2.md': topic('Two.', 'Alpha'),
      'sub/b.md': topic('Three.', 'Beta'),
      'shapeless.md': 'without front matter\n',
    })
    expect(tree(toDir)['MEMORY.md']).toContain('[Alpha](a_2.md)')
    expect(changesOf(rig, to, 'a_2.md').map(({ op, reason }) => `${op} ${reason}`)).toEqual([
      `create moved from ${rig.cwd}`,
      'update test',
      'create test',
    ])
    expect(changesOf(rig, to, 'wrong.md').map(({ op }) => op)).toEqual(['delete', 'create'])
    await expect(rig.memory.writing.remember(to, person, SAID, undefined)).rejects.toMatchObject({
      reason: 'rejected-value',
    })
    const { length } = changesOf(rig, to)
    await rig.memory.lookEverywhere()
    expect(changesOf(rig, to)).toHaveLength(length)
    expect(dirsOf(rig)).toEqual([{ dir: toDir, root: to }])
  })

  it('leaves no old directory behind when everything could follow into the new one', async () => {
    const { rig, to, toDir, dir } = await moved()
    rmSync(join(dir, 'logs'), { recursive: true })
    rmSync(join(dir, '.consolidate-lock'))
    await put(rig, 'mine.md', topic('Mine.'), to)
    expect(await move(rig, to)).toMatchObject({ how: 'merged', files: ['a.md', 'sub/b.md'], stayed: [] })
    expect(existsSync(dir)).toBe(false)
    expect(Object.keys(tree(toDir))).toEqual(['MEMORY.md', 'a.md', 'mine.md', 'sub/b.md'])
  })

  it('is believed to be as it is, though the new place knew other memories of the same names', async () => {
    const { rig, to, toDir } = await moved()
    await put(rig, 'a.md', topic('Mine.', 'Mine'), to)
    await rig.memory.writing.forget(to, person, 'a.md', { reject: false, ifHash: undefined })
    rmSync(join(toDir, 'MEMORY.md'))
    await rig.memory.lookEverywhere()
    expect(await move(rig, to)).toMatchObject({ how: 'whole' })
    const known = changesOf(rig, to)
    await rig.memory.lookEverywhere()
    expect(changesOf(rig, to)).toEqual(known)
    expect(known.slice(0, 2)).toMatchObject([
      { file: 'MEMORY.md', op: 'create', reason: 'moved with its project' },
      { file: 'a.md', op: 'create', reason: 'moved with its project' },
    ])
  })

  it('brings the history of what is gone, under a name of its own where another has it', async () => {
    const { rig, to } = await moved()
    await put(rig, 'wrong.md', topic('Right.', 'Right'), to)
    await move(rig, to)
    expect(changesOf(rig, to, 'wrong.md').map(({ op }) => op)).toEqual(['create'])
    expect(changesOf(rig, to, 'wrong_2.md').map(({ op }) => op)).toEqual(['delete', 'create'])
  })

  it('never mixes the history of what is gone with that of what takes its name', async () => {
    const rig = await memoryRig()
    for (const file of ['a.md', 'a_2.md']) await put(rig, file, topic(`${file}.`, file))
    await rig.memory.writing.forget(rig.cwd, person, 'a_2.md', { reject: false, ifHash: undefined })
    const to = join(rig.home, 'elsewhere')
    renameSync(rig.cwd, to)
    await put(rig, 'a.md', topic('Mine.', 'Mine'), to)
    expect(await move(rig, to)).toMatchObject({ renamed: [{ file: 'a.md', as: 'a_2.md' }] })
    expect(changesOf(rig, to, 'a_2.md').map(({ op }) => op)).toEqual(['create', 'create'])
    expect(changesOf(rig, to, 'a_2_2.md').map(({ op }) => op)).toEqual(['delete', 'create'])
  })

  it('has only its name changed where both have one directory', async () => {
    const { rig, to, toDir, dir } = await moved()
    mkdirSync(dirname(toDir), { recursive: true })
    symlinkSync(dir, toDir)
    const history = changesOf(rig, rig.cwd)
    expect(await move(rig, to)).toMatchObject({ how: 'followed', files: [], dir: toDir })
    expect(changesOf(rig, to)).toEqual(expect.arrayContaining(history))
    expect(changesOf(rig, rig.cwd)).toEqual([])
    expect(readFileSync(join(dir, 'a.md'), 'utf8')).toBe(topic('Two.', 'Alpha'))
  })

  it('is refused what would take from a living project or lead nowhere', async () => {
    const { rig, to, toDir, dir } = await moved()
    const refusals: [string, { from?: string; to?: string }, object][] = [
      ['no new place', { to: join(rig.home, 'nowhere') }, { code: 'NOT_FOUND' }],
      ['never heard of', { from: join(rig.home, 'never') }, { code: 'NOT_FOUND' }],
      ['still there', { from: to, to: rig.home }, { code: 'CONFLICT' }],
    ]
    for (const [what, ends, expected] of refusals)
      await expect(move(rig, ends.to ?? to, ends.from ?? rig.cwd), what).rejects.toMatchObject(expected)
    rig.store.history.prepare('INSERT INTO directories VALUES (?, ?)').run(dir, rig.home)
    await expect(move(rig, to)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining(rig.home) })
    rig.store.history.prepare('DELETE FROM directories WHERE root = ?').run(rig.home)
    renameSync(dir, join(rig.home, 'real'))
    symlinkSync(join(rig.home, 'real'), dir)
    await expect(move(rig, to)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('is a link'),
    })
    expect(existsSync(toDir)).toBe(false)
    expect(Object.keys(tree(join(rig.home, 'real')))).toContain('a.md')
  })

  it('may have left a link where it was', async () => {
    const { rig, to } = await moved()
    symlinkSync(to, rig.cwd)
    expect(await move(rig, to)).toMatchObject({ how: 'whole' })
  })
})

describe('a move that a kill interrupts', () => {
  const killAt = (rig: Rig, sql: string) => rig.store.history.exec(sql)

  it('is undone when the directory had not been renamed yet', async () => {
    const { rig, to, toDir, dir } = await moved()
    const before = tree(dir)
    const { ino, dev } = lstatSync(dir, { bigint: true })
    const ends = { fromDir: dir, fromRoot: rig.cwd, toDir, toRoot: to }
    createMoves(rig.store.history).begin({ ...ends, at: 1, inode: `${dev}:${ino}`, files: [] })
    rig.store.close()
    const again = await rig.open()
    expect(await again.memory.finishMoves()).toEqual([expect.stringContaining('had not happened yet')])
    expect(tree(dir)).toEqual(before)
    expect(existsSync(toDir)).toBe(false)
    expect(await move({ ...again, cwd: rig.cwd }, to)).toMatchObject({ how: 'whole' })
  })

  it('is finished when the directory had been renamed', async () => {
    const { rig, to, toDir, dir } = await moved()
    const before = tree(dir)
    const history = changesOf(rig, rig.cwd)
    killAt(rig, `CREATE TEMP TRIGGER kill BEFORE UPDATE OF dir ON main.changes BEGIN SELECT raise(FAIL, 'killed'); END`)
    await expect(move(rig, to)).rejects.toThrow('killed')
    expect(existsSync(dir)).toBe(false)
    rig.store.close()
    const again = await rig.open()
    expect(await again.memory.finishMoves()).toEqual([expect.stringContaining('finished the move')])
    expect(tree(toDir)).toEqual(before)
    expect(changesOf(again, to)).toEqual(history)
    expect(await again.memory.finishMoves()).toEqual([expect.any(String)])
    await expect(again.memory.writing.remember(to, person, SAID, undefined)).rejects.toMatchObject({
      reason: 'rejected-value',
    })
  })

  it.each([
    ['before anything followed', `BEFORE UPDATE OF dir ON main.changes`],
    ['before the old ones were taken away', `BEFORE INSERT ON main.changes WHEN NEW.reason LIKE 'moved to %'`],
    ['before it was over', `BEFORE DELETE ON main.moves`],
  ])('is finished when memories had joined others and it ended %s', async (_when, moment) => {
    const { rig, to, toDir, dir } = await moved()
    await put(rig, 'a.md', topic('Mine.', 'Mine'), to)
    killAt(rig, `CREATE TEMP TRIGGER kill ${moment} BEGIN SELECT raise(FAIL, 'killed'); END`)
    await expect(move(rig, to)).rejects.toThrow('killed')
    rig.store.close()
    const again = await rig.open()
    expect(await again.memory.finishMoves()).toEqual([`finished the move of the memories of ${rig.cwd} to ${to}`])
    expect(await again.memory.finishMoves()).toEqual([])
    expect(Object.keys(tree(dir))).toEqual(['.consolidate-lock', 'logs/day.md'])
    expect(tree(toDir)).toMatchObject({ 'a_2.md': topic('Two.', 'Alpha'), 'sub/b.md': topic('Three.', 'Beta') })
    expect(changesOf(again, to, 'a_2.md').map(({ op }) => op)).toEqual(['create', 'update', 'create'])
    expect(changesOf(again, to, 'a.md').map(({ op }) => op)).toEqual(['create'])
    await again.memory.lookEverywhere()
    expect(changesOf(again, to).filter(({ actor }) => actor === 'external')).toEqual([])
  })

  it('keeps what somebody changed in the old place meanwhile', async () => {
    const { rig, to, dir } = await moved()
    await put(rig, 'mine.md', topic('Mine.', 'Mine'), to)
    killAt(rig, `CREATE TEMP TRIGGER kill BEFORE UPDATE OF dir ON main.changes BEGIN SELECT raise(FAIL, 'killed'); END`)
    await expect(move(rig, to)).rejects.toThrow('killed')
    rig.store.close()
    writeFileSync(join(dir, 'a.md'), topic('Saved meanwhile.'))
    const again = await rig.open()
    expect(await again.memory.finishMoves()).toEqual([expect.stringContaining('finished the move')])
    expect(Object.keys(tree(dir))).toEqual(['.consolidate-lock', 'MEMORY.md', 'a.md', 'logs/day.md'])
    expect(tree(dir)['a.md']).toBe(topic('Saved meanwhile.'))
  })
})

describe('a move that the disk interrupts', () => {
  it.each([
    ['as a whole', undefined, ['MEMORY.md', 'a.md', 'sub/b.md']],
    ['to join others', 'mine.md', ['MEMORY.md', 'a.md', 'mine.md', 'sub/b.md']],
  ])('is finished before the next one begins, %s', async (_how, own, files) => {
    const { rig, to, toDir } = await moved()
    if (own) await put(rig, own, topic('Mine.', 'Mine'), to)
    rig.store.history.exec(
      `CREATE TEMP TRIGGER full BEFORE UPDATE OF dir ON main.changes BEGIN SELECT raise(FAIL, 'full'); END`,
    )
    await expect(move(rig, to)).rejects.toThrow('full')
    rig.store.history.exec('DROP TRIGGER full')
    // The second time it is all there: nothing is known of the old place, or nothing is left to bring.
    const again = await move(rig, to).catch(({ code }: { code: string }) => code)
    if (own) expect(again).toMatchObject({ how: 'merged', files: [], skipped: [] })
    else expect(again).toBe('NOT_FOUND')
    expect(Object.keys(tree(toDir)).filter((file) => /^(?!logs).*\.md$/.test(file))).toEqual(files)
    expect(changesOf(rig, to, 'a.md').map(({ op }) => op)).toEqual(
      own ? ['create', 'update', 'create'] : ['update', 'create'],
    )
    expect(changesOf(rig, to, 'a_2.md')).toEqual([])
  })
})

const OTHER_DISK = '/dev/shm'
const elsewhere = existsSync(OTHER_DISK) && statSync(OTHER_DISK).dev !== statSync(tmpdir()).dev

function folder() {
  const { dir } = makeHome()
  const from = join(dir, 'from')
  mkdirSync(join(from, 'a/b'), { recursive: true })
  return { dir, from, to: join(dir, 'x/y/to') }
}

it('holds nothing but folders until there is a file, a link or a device in it', () => {
  const { from } = folder()
  expect([holdsNothing(from), holdsNothing(`${from}-nowhere`)]).toEqual([true, true])
  symlinkSync('/nowhere', join(from, 'a/link'))
  expect(holdsNothing(from)).toBe(false)
  writeFileSync(join(from, 'a/b/file'), '')
  expect(everythingIn(from, 10)).toEqual(['a/b/file', 'a/link'])
  expect(everythingIn(from, 1)).toEqual(['a/b/file'])
})

it('is renamed in place of folders that hold nothing, and stays the same directory', () => {
  const { from, to } = folder()
  writeFileSync(join(from, 'file'), 'x')
  mkdirSync(join(to, 'empty/within'), { recursive: true })
  const inode = inodeOf(from)
  expect(renameFolder(from, to)).toBe('renamed')
  expect([inodeOf(to), inodeOf(from), everythingIn(to, 10)]).toEqual([inode, undefined, ['file']])
})

it('takes the place of no file', () => {
  const { from, to } = folder()
  mkdirSync(to, { recursive: true })
  writeFileSync(join(to, 'file'), 'x')
  expect(() => renameFolder(from, to)).toThrow(/ENOTEMPTY/)
  expect([existsSync(from), existsSync(join(to, 'file'))]).toEqual([true, true])
})

it.runIf(elsewhere)('says so where another disk begins, and stays where it is', () => {
  const { from } = folder()
  const shm = mkdtempSync(join(OTHER_DISK, 'md-'))
  onTestFinished(() => rmSync(shm, { recursive: true }))
  expect(renameFolder(from, join(shm, 'to'))).toBe('other-disk')
  expect(existsSync(join(from, 'a/b'))).toBe(true)
})
