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
import { createMoveTable, holdsNothing, inodeOf, renameFolder } from '../../daemon/memory/move.ts'
import { createPauses } from '../../daemon/projects/projects.ts'
import { createShownMemories } from '../../daemon/recall/given.ts'
import { exportOf, importInto, tree } from '../support/carry.ts'
import { makeHome } from '../support/home.ts'
import { agent, memoryRig, person, type Rig, topic } from '../support/memory.ts'

const put = (rig: Rig, file: string, content: string, cwd = rig.cwd) =>
  rig.memory.put(cwd, person, { file, content }, 'test')
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
  await rig.memory.forget(rig.cwd, person, 'wrong.md', { reject: true, ifHash: undefined })
  await rig.memory.put(rig.cwd, agent, { file: 'waits.md', content: topic('Waits.') }, 'agent')
  mkdirSync(join(rig.dir, 'logs'))
  writeFileSync(join(rig.dir, 'logs/day.md'), 'a log')
  writeFileSync(join(rig.dir, '.consolidate-lock'), '1')
  createPauses(rig.store.history).add(join(rig.cwd, 'inner'), 1)
  const to = join(rig.home, 'elsewhere')
  const toDir = rig.dirOf(to)
  renameSync(rig.cwd, to)
  return { ...rig, rig, to, toDir }
}
const move = (rig: Pick<Rig, 'memory' | 'cwd'>, to: string, from = rig.cwd) =>
  rig.memory.moving.move({ from, to }, person)
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
    })
    expect(existsSync(dir)).toBe(false)
    expect(tree(toDir)).toEqual(before)
    expect(changesOf(rig, to)).toEqual(history)
    await expect(rig.memory.remember(to, person, SAID, undefined)).rejects.toMatchObject({ reason: 'rejected-value' })
    const [review] = rig.memory.history.reviews().items
    await rig.memory.review.approve(Number(review?.id))
    expect(rig.memory.reading.get(to, person, 'waits.md', undefined).content).toBe(topic('Waits.'))
    expect(createPauses(rig.store.history).list()).toEqual([join(to, 'inner')])
    expect(dirsOf(rig)).toEqual([{ dir: toDir, root: to }])
    await rig.memory.undo.change(Number(history.find(({ op }) => op === 'update')?.id), 'user')
    expect(tree(toDir)['a.md']).toBe(topic('One.', 'Alpha'))
    await rig.memory.lookEverywhere()
    expect(changesOf(rig, to).filter(({ actor }) => actor === 'external')).toEqual([])
  })

  it('stays where it is when there are memories in the new place, and is told how they can be joined', async () => {
    const { rig, to, toDir, dir } = await moved()
    await put(rig, 'mine.md', topic('Mine.', 'Mine'), to)
    const before = [tree(dir), tree(toDir), changesOf(rig, to)]
    await expect(move(rig, to)).rejects.toMatchObject({
      code: 'CONFLICT',
      hint: `to join them: memoryd export --project ${rig.cwd} | memoryd import --memories - --project ${to}`,
    })
    expect([tree(dir), tree(toDir), changesOf(rig, to)]).toEqual(before)
    expect(await importInto(rig, to, await exportOf(rig, rig.cwd))).toMatchObject({ created: ['a.md', 'sub/b.md'] })
    expect(tree(toDir)).toMatchObject({ 'a.md': topic('Two.', 'Alpha'), 'mine.md': topic('Mine.', 'Mine') })
    await expect(rig.memory.remember(to, person, SAID, undefined)).rejects.toMatchObject({ reason: 'rejected-value' })
  })

  it('takes the place of folders that hold nothing, and stays the same directory', async () => {
    const { rig, to, toDir, dir } = await moved()
    mkdirSync(join(toDir, 'empty/within'), { recursive: true })
    const inode = inodeOf(dir)
    expect(await move(rig, to)).toMatchObject({ how: 'whole' })
    expect([inodeOf(toDir), inodeOf(dir), existsSync(join(toDir, 'empty'))]).toEqual([inode, undefined, false])
  })

  it('is believed to be as it is, though the new place knew other memories of the same names', async () => {
    const { rig, to, toDir } = await moved()
    await put(rig, 'a.md', topic('Mine.', 'Mine'), to)
    await rig.memory.forget(to, person, 'a.md', { reject: false, ifHash: undefined })
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

  it('is believed also where the new place knew one other file', async () => {
    const { rig, to, toDir } = await moved()
    mkdirSync(toDir, { recursive: true })
    writeFileSync(join(toDir, 'a.md'), topic('Mine.', 'Mine'))
    await rig.memory.look(toDir)
    rmSync(join(toDir, 'a.md'))
    await rig.memory.look(toDir)
    expect(await move(rig, to)).toMatchObject({ how: 'whole' })
    const known = changesOf(rig, to)
    expect(known[0]).toMatchObject({ file: 'a.md', op: 'create', reason: 'moved with its project' })
    await rig.memory.lookEverywhere()
    expect(changesOf(rig, to)).toEqual(known)
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

  it('leaves no record of what sessions were shown behind, so that a purge finds it all', async () => {
    const { rig, to, toDir } = await moved()
    const shown = createShownMemories(rig.core)
    shown.add({ sessionId: 's', harness: 'generic' }, rig.dir, 'local', [{ file: 'a.md', bytes: 10 }])
    shown.stop()
    await move(rig, to)
    rig.purges.onPurge(shown.forget)
    const listed = rig.store.history.prepare('SELECT dir, file FROM recalled')
    expect(listed.all()).toEqual([{ dir: toDir, file: 'a.md' }])
    await rig.purges.purge(toDir, person, 'a.md', { reject: false, ifHash: undefined })
    expect(listed.all()).toEqual([])
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
    createMoveTable(rig.store.history).begin(ends, 1, `${dev}:${ino}`)
    rig.store.close()
    const again = await rig.open()
    expect(again.health.failures().map((failure) => failure.message)).toEqual([
      expect.stringContaining('had not happened yet'),
    ])
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
    expect(again.health.failures().map((failure) => failure.message)).toEqual([
      expect.stringContaining('finished the move'),
    ])
    expect(tree(toDir)).toEqual(before)
    expect(changesOf(again, to)).toEqual(history)
    await expect(again.memory.remember(to, person, SAID, undefined)).rejects.toMatchObject({ reason: 'rejected-value' })
  })

  it('is given up where an earlier version had begun to bring files one by one', async () => {
    const { rig, to, toDir, dir } = await moved()
    const before = tree(dir)
    const ends = { fromDir: dir, fromRoot: rig.cwd, toDir, toRoot: to }
    createMoveTable(rig.store.history).begin(ends, 1, undefined)
    rig.store.close()
    const again = await rig.open()
    expect(again.health.failures().map((failure) => failure.message)).toEqual([
      expect.stringContaining('nothing is lost'),
    ])
    expect(tree(dir)).toEqual(before)
    expect(await move({ ...again, cwd: rig.cwd }, to)).toMatchObject({ how: 'whole' })
  })

  it('is finished before the next one begins, when it was the disk', async () => {
    const { rig, to, toDir } = await moved()
    rig.store.history.exec(
      `CREATE TEMP TRIGGER full BEFORE UPDATE OF dir ON main.changes BEGIN SELECT raise(FAIL, 'full'); END`,
    )
    await expect(move(rig, to)).rejects.toThrow('full')
    rig.store.history.exec('DROP TRIGGER full')
    // It is all there by then, and nothing is known of the old place.
    await expect(move(rig, to)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(Object.keys(tree(toDir))).toEqual(expect.arrayContaining(['MEMORY.md', 'a.md', 'sub/b.md']))
    expect(changesOf(rig, to, 'a.md').map(({ op }) => op)).toEqual(['update', 'create'])
  })
})

const diskOf = (folder: string) => statSync(folder, { throwIfNoEntry: false })?.dev
it('does not take for searched what stands in it of a time with other patterns', async () => {
  const { rig, to, toDir } = await moved()
  await put(rig, 'a.md', topic('Here once.'), to)
  await rig.memory.forget(to, person, 'a.md', { reject: false, ifHash: undefined })
  rmSync(toDir, { recursive: true })
  rig.store.history.exec(`UPDATE marks SET name = 'searched 0' WHERE name LIKE 'searched %'`)
  await rig.core.stop(0)
  const next = await rig.open()
  await move({ ...rig, memory: next.memory }, to)
  const { hash } = next.memory.reading.get(to, person, 'a.md')
  expect(next.memory.texts.isSearched(toDir, 'a.md', hash)).toBe(false)
})

const otherDisk = ['/dev/shm', '/tmp'].find((folder) => ![undefined, diskOf(tmpdir())].includes(diskOf(folder))) ?? ''

it('holds nothing but folders until there is a file, a link or a device in it', () => {
  const from = join(makeHome().dir, 'from')
  mkdirSync(join(from, 'a/b'), { recursive: true })
  expect([holdsNothing(from), holdsNothing(`${from}-nowhere`)]).toEqual([true, true])
  symlinkSync('/nowhere', join(from, 'a/link'))
  expect(holdsNothing(from)).toBe(false)
})

it.runIf(otherDisk)('says so where another disk begins, and stays where it is', () => {
  const from = join(makeHome().dir, 'from')
  mkdirSync(join(from, 'a/b'), { recursive: true })
  const other = mkdtempSync(join(otherDisk, 'md-'))
  onTestFinished(() => rmSync(other, { recursive: true }))
  const ends = { fromDir: from, fromRoot: '/old', toDir: join(other, 'to'), toRoot: '/new' }
  expect(() => renameFolder(ends)).toThrow('is on another disk')
  expect(existsSync(join(from, 'a/b'))).toBe(true)
})
