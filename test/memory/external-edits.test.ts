import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AFTER_START_MS } from '../../daemon/core.ts'
import { createExternalEdits, MOST_WATCHED } from '../../daemon/memory/external-edits.ts'
import { createJournal } from '../../daemon/memory/journal.ts'
import { MOST_FILES } from '../../daemon/memory/scan.ts'
import { createCredentialNames } from '../../daemon/memory/write-checks.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { createProjects } from '../../daemon/projects/projects.ts'
import { manualTime } from '../support/clock.ts'
import { testCore } from '../support/core.ts'
import { memoryRig, person, type Rig, topic } from '../support/memory.ts'
import { createTestWriter } from '../support/writer.ts'

const HOUR_MS = 3_600_000
const by = { actor: 'agent:test', reason: 'test' }

/** Looks at a directory of its own; `compared` are the files of the last look that were read. */
async function looking({ aheadMs = HOUR_MS } = {}) {
  const time = manualTime(Date.now() + aheadMs)
  const { core, home } = await testCore({ time })
  const dir = join(home.dir, 'above', 'memory')
  mkdirSync(dir, { recursive: true })
  const journal = createJournal(core.db.history)
  const writer = createTestWriter(core, journal)
  const projects = createProjects(core)
  let compared: string[] = []
  const tip: typeof journal.tip = (...of) => {
    compared.push(of[1])
    return journal.tip(...of)
  }
  const told: string[][] = []
  const editsOver = (over: Partial<typeof journal>) =>
    createExternalEdits(core, projects, writer, { ...journal, ...over }, createCredentialNames())
  const external = editsOver({ tip })
  external.onChange((_dir, files) => told.push(files))
  return {
    home: home.dir,
    dir,
    writer,
    journal,
    editsOver,
    pass: time.pass,
    told,
    write: (file: string, content = topic(file)) => writeFileSync(join(dir, file), content),
    look: async (names?: string[]) => {
      compared = []
      return (await external.look(dir, names)).sort()
    },
    compared: () => compared.sort(),
    /** What was journaled, oldest first. */
    entries: () =>
      journal
        .list({ dir, limit: 10_000 })
        .reverse()
        .map(({ op, file, actor }) => `${op} ${file} ${actor}`),
  }
}

describe('a look', () => {
  it('reads a file again only when its stamp has changed', async () => {
    const { write, look, compared, dir } = await looking()
    // As large and, to the eye, as old as before: only the time of change cannot be set.
    const writeOld = (content: string) => {
      write('b.md', content)
      utimesSync(join(dir, 'b.md'), new Date(0), new Date(0))
    }
    write('a.md')
    writeOld('one')
    expect(await look()).toEqual(['a.md', 'b.md'])
    expect(await look()).toEqual([])
    expect(compared()).toEqual([])
    writeOld('two')
    expect(await look()).toEqual(['b.md'])
    expect(compared()).toEqual(['b.md'])
  })

  it('does not trust the stamp of a file that was changed just now', async () => {
    const { write, look, compared, pass } = await looking({ aheadMs: 0 })
    write('a.md')
    expect(await look()).toEqual(['a.md'])
    await look()
    expect(compared()).toEqual(['a.md'])
    pass(10_000)
    await look()
    await look()
    expect(compared()).toEqual([])
  })

  it('at names compares those of memories only', async () => {
    const { write, look, compared, dir } = await looking()
    mkdirSync(join(dir, 'logs'))
    for (const file of ['a.md', 'b.md', '.hidden.md', 'x.txt', 'logs/c.md']) write(file)
    expect(await look(['a.md', '.hidden.md', 'x.txt', 'logs/c.md', '../above/memory/b.md'])).toEqual(['a.md'])
    expect(compared()).toEqual(['a.md'])
    expect(await look()).toEqual(['b.md'])
  })

  it('finds again what went and came back with the stamp it had', async () => {
    const { write, look, dir, home } = await looking()
    write('a.md')
    await look()
    renameSync(join(dir, 'a.md'), join(home, 'a.md'))
    expect(await look(['a.md'])).toEqual(['a.md'])
    renameSync(join(home, 'a.md'), join(dir, 'a.md'))
    expect(await look()).toEqual(['a.md'])
  })

  it('at two hundred files lets others have their turn', async () => {
    const { write, look } = await looking()
    for (let n = 0; n < 200; n++) write(`${n}.md`)
    let turns = 0
    const counting = setInterval(() => turns++, 0)
    expect(await look()).toHaveLength(200)
    clearInterval(counting)
    expect(turns).toBeGreaterThanOrEqual(4)
  })

  it('journals what was read before it fails, and the rest the next time', async () => {
    const { write, dir, editsOver, journal } = await looking()
    for (let n = 0; n < 120; n++) write(`${n}.md`)
    let left = 1
    const told: number[] = []
    const append: typeof journal.append = (changes) => {
      if (left-- === 0) throw new Error('disk full')
      return journal.append(changes)
    }
    const external = editsOver({ append })
    external.onChange((_dir, files) => told.push(files.length))
    await expect(external.look(dir)).rejects.toThrow('disk full')
    left = 10
    await external.look(dir)
    expect(told).toEqual([20, 100])
    expect(journal.files(dir)).toHaveLength(120)
  })
})

describe('a directory', () => {
  it('that is removed has lost its files, and has them again when it is back as it was', async () => {
    const { write, look, entries, dir, home, told } = await looking()
    write('a.md')
    mkdirSync(join(dir, 'team'))
    write('team/b.md')
    await look()
    renameSync(join(home, 'above'), join(home, 'away'))
    expect(await look(['a.md'])).toEqual(['a.md', 'team/b.md'])
    expect(await look()).toEqual([])
    renameSync(join(home, 'away'), join(home, 'above'))
    expect(await look()).toEqual(['a.md', 'team/b.md'])
    expect(entries().slice(2).sort()).toEqual([
      'create a.md external',
      'create team/b.md external',
      'delete a.md external',
      'delete team/b.md external',
    ])
    expect(told).toHaveLength(3)
  })

  it('is not made by a look', async () => {
    const { look, dir, home } = await looking()
    rmSync(join(home, 'above'), { recursive: true })
    expect(await look()).toEqual([])
    expect(() => renameSync(dir, `${dir}.x`)).toThrow('ENOENT')
  })

  it.each([
    ['itself', (home: string) => join(home, 'above', 'memory')],
    ['the folder above it', (home: string) => join(home, 'above')],
  ])('behind a link that leads nowhere (%s) is not taken for removed', async (_what, placeOf) => {
    const { write, look, entries, home } = await looking()
    write('a.md')
    await look()
    const place = placeOf(home)
    renameSync(place, join(home, 'disk'))
    symlinkSync(join(home, 'not-mounted'), place)
    expect(await look()).toEqual([])
    rmSync(place)
    symlinkSync(join(home, 'disk'), place)
    expect(await look()).toEqual([])
    expect(entries()).toEqual(['create a.md external'])
  })

  it('that has become a plain file has lost its files', async () => {
    const { write, look, dir } = await looking()
    write('a.md')
    await look()
    rmSync(dir, { recursive: true })
    writeFileSync(dir, 'in the place of a directory')
    expect(await look()).toEqual(['a.md'])
  })

  it('that leads to a forbidden place is not read, and nothing in it is taken for removed', async () => {
    const { write, look, compared, dir, home } = await looking()
    write('a.md')
    await look()
    renameSync(dir, join(home, 'away'))
    writeFileSync(join(home, 'private.md'), 'private')
    symlinkSync(home, dir)
    expect([...(await look()), ...(await look(['private.md', 'a.md']))]).toEqual([])
    expect(compared()).toEqual([])
  })

  it('with more files than are listed loses none of them, and those that are named are noticed', async () => {
    const { write, look, entries, writer, dir } = await looking()
    const count = MOST_FILES + 200
    for (let n = 0; n < count; n++) write(`${n}.md`, `${n}`)
    expect(await look()).toHaveLength(MOST_FILES)
    const all = Array.from({ length: count }, (_, n) => `${n}.md`)
    expect(await look(all)).toHaveLength(200)
    await writer.write(dir, [{ file: 'ours.md', content: topic('Ours.') }], by)
    expect(await look()).toEqual([])
    expect(entries().filter((entry) => entry.startsWith('delete'))).toEqual([])
    rmSync(join(dir, '17.md'))
    rmSync(join(dir, `${count - 1}.md`))
    expect(await look()).toEqual(['17.md', `${count - 1}.md`].sort())
  })

  it('may hold files that cannot be read: they are neither ours nor gone', async () => {
    const { write, look, entries, dir, home } = await looking()
    write('a.md')
    await look()
    linkSync(join(dir, 'a.md'), join(home, 'another-name'))
    symlinkSync(join(home, 'another-name'), join(dir, 'link.md'))
    write('huge.md', 'x'.repeat(2_000_000))
    write('new.md')
    expect(await look()).toEqual(['new.md'])
    expect(await look(['a.md', 'link.md', 'huge.md', 'new.md'])).toEqual([])
    expect(entries()).toEqual(['create a.md external', 'create new.md external'])
  })
})

describe('edits of other programs', () => {
  const SWEEP_MS = 30_000
  const SWEEPS_OF_TEN_MINUTES = 20
  const never = new AbortController().signal
  const changes = ({ memory, cwd }: Rig) =>
    memory.history
      .changes(cwd, person, { file: undefined, limit: undefined, after: undefined })
      .items.map(({ op, file, actor }) => `${op} ${file} ${actor}`)
      .reverse()
  const put = (rig: Rig, file: string, content: string, cwd = rig.cwd) =>
    rig.memory.put(cwd, person, { file, content, expect: undefined }, 'test')
  const until = async (isOver: () => boolean) => {
    while (!isOver()) await turn()
  }
  const started = async (options: Parameters<typeof memoryRig>[0] = {}) => {
    const rig = await memoryRig(options)
    onTestFinished(() => rig.memory.stop(AbortSignal.abort()))
    return rig
  }
  /** A rig whose directory is watched, by the machine's own clock. */
  const watching = async () => {
    const rig = await started({ time: { ...manualTime(), clock: createClock() } })
    await put(rig, 'a.md', topic('One.'))
    rig.memory.start()
    await new Promise<void>((due) => rig.time.clock.after(AFTER_START_MS, due))
    await rig.memory.lookEverywhere()
    return rig
  }
  const begin = async (rig: Rig) => {
    rig.memory.start()
    rig.time.pass(AFTER_START_MS)
    await rig.memory.lookEverywhere()
  }
  const nextChange = ({ memory }: Rig) =>
    new Promise<{ files: string[]; actor: string }>((resolve) => {
      memory.onChange((_dir, files, actor) => resolve({ files, actor }))
    })
  const sweep = async (rig: Rig, times = 1) => {
    for (let n = 0; n < times; n++) {
      rig.time.pass(SWEEP_MS)
      for (let turns = 0; turns < 20; turns++) await turn()
    }
  }

  it('are noticed in a watched directory, in its folders as well; names that are no memory are not', async () => {
    const rig = await watching()
    for (const file of ['.hidden.md', 'a.md~', '4913', '.memoryd-1-2.tmp']) writeFileSync(join(rig.dir, file), 'x')
    const edited = nextChange(rig)
    writeFileSync(join(rig.dir, 'a.md'), topic('In an editor.'))
    expect(await edited).toEqual({ files: ['a.md'], actor: 'external' })
    const made = nextChange(rig)
    mkdirSync(join(rig.dir, 'deep'))
    writeFileSync(join(rig.dir, 'deep', 'b.md'), topic('Two.'))
    expect(await made).toEqual({ files: ['deep/b.md'], actor: 'external' })
  })

  it('are told from our own writes, which leave nothing to journal', async () => {
    const rig = await watching()
    await put(rig, 'a.md', topic('Two.'))
    const edited = nextChange(rig)
    writeFileSync(join(rig.dir, 'theirs.md'), topic('Theirs.'))
    expect(await edited).toEqual({ files: ['theirs.md'], actor: 'external' })
    expect(changes(rig)).toEqual(['create a.md user', 'update a.md user', 'create theirs.md external'])
  })

  it('are noticed in a directory from its first use on', async () => {
    const rig = await watching()
    const cwd = join(rig.home, 'other')
    const dir = rig.dirOf(cwd)
    mkdirSync(dir, { recursive: true })
    writeFileSync(join(dir, 'x.md'), topic('There before.'))
    const found = nextChange(rig)
    rig.projects.find(cwd, person)
    expect(await found).toEqual({ files: ['x.md'], actor: 'external' })
    const edited = nextChange(rig)
    writeFileSync(join(dir, 'x.md'), topic('Edited.'))
    expect(await edited).toEqual({ files: ['x.md'], actor: 'external' })
  })

  it('are noticed in a new directory that is used before anything is watched', async () => {
    const rig = await started()
    mkdirSync(rig.dir, { recursive: true })
    writeFileSync(join(rig.dir, 'x.md'), topic('There before.'))
    const found = nextChange(rig)
    rig.projects.find(rig.cwd, person)
    expect(await found).toEqual({ files: ['x.md'], actor: 'external' })
  })

  it('are noticed within ten minutes where the watch missed them', async () => {
    const rig = await started()
    await put(rig, 'a.md', topic('One.'))
    await begin(rig)
    // The test's clock stands still, so that no change that the watch sees is quiet for long enough.
    writeFileSync(join(rig.dir, 'a.md'), topic('In an editor.'))
    await sweep(rig, SWEEPS_OF_TEN_MINUTES)
    await until(() => changes(rig).length === 2)
    expect(changes(rig)).toEqual(['create a.md user', 'update a.md external'])
  })

  it('are noticed at every sweep in directories beyond those that are watched, also in one that was not there', async () => {
    const rig = await started()
    const folders = Array.from({ length: MOST_WATCHED + 3 }, (_, n) => join(rig.home, `d${n}`))
    for (const folder of folders) {
      mkdirSync(rig.dirOf(folder), { recursive: true })
      rig.projects.find(folder, person)
    }
    // Those that were used first.
    const [gone = '', ...others] = folders.slice(0, 3).map(rig.dirOf)
    rmSync(gone, { recursive: true })
    await begin(rig)
    for (const round of [1, 2]) {
      mkdirSync(gone, { recursive: true })
      for (const dir of [gone, ...others]) writeFileSync(join(dir, 'x.md'), topic(`Round ${round}.`))
      rig.saved.length = 0
      await sweep(rig)
      await until(() => rig.saved.length === 3)
      expect(rig.saved.map(({ dir }) => dir).sort()).toEqual([gone, ...others].sort())
    }
  })

  it('that could not be journaled are at the next sweep, and the failure is logged once', async () => {
    const rig = await started()
    await put(rig, 'a.md', topic('One.'))
    await begin(rig)
    rig.store.history.exec(`CREATE TEMP TRIGGER full BEFORE INSERT ON main.changes
      BEGIN SELECT RAISE(FAIL, 'no more changes'); END`)
    writeFileSync(join(rig.dir, 'a.md'), topic('In an editor.'))
    await sweep(rig, SWEEPS_OF_TEN_MINUTES + 2)
    rig.store.history.exec('DROP TRIGGER full')
    await sweep(rig)
    await until(() => changes(rig).length === 2)
    expect(rig.errors()).toEqual(['a memory directory could not be looked through'])
  })

  it('behind a link to a forbidden place are not read', async () => {
    const rig = await started()
    await put(rig, 'a.md', topic('One.'))
    rmSync(rig.dir, { recursive: true })
    writeFileSync(join(rig.home, 'private.md'), topic('Private.'))
    symlinkSync(rig.home, rig.dir)
    await begin(rig)
    await sweep(rig, SWEEPS_OF_TEN_MINUTES)
    await rig.memory.stop(never)
    expect(rig.saved.map(({ actor }) => actor)).toEqual(['user'])
    expect(rig.errors()).toEqual([])
  })

  it('are noticed at the next sweep in a directory that was behind such a link', async () => {
    const rig = await started()
    await put(rig, 'a.md', topic('One.'))
    renameSync(rig.dir, `${rig.dir}.away`)
    symlinkSync(rig.home, rig.dir)
    await begin(rig)
    rmSync(rig.dir)
    renameSync(`${rig.dir}.away`, rig.dir)
    writeFileSync(join(rig.dir, 'b.md'), topic('Back.'))
    await sweep(rig)
    await until(() => changes(rig).length === 2)
    expect(changes(rig)).toEqual(['create a.md user', 'create b.md external'])
  })

  it('are not noticed once memory has stopped, which waits for a look that is under way', async () => {
    const rig = await started()
    await put(rig, 'a.md', topic('One.'))
    writeFileSync(join(rig.dir, 'a.md'), topic('In an editor.'))
    void rig.memory.lookEverywhere()
    await Promise.resolve()
    await rig.memory.stop(never)
    expect(changes(rig)).toEqual(['create a.md user', 'update a.md external'])
    writeFileSync(join(rig.dir, 'a.md'), topic('Again.'))
    await sweep(rig, SWEEPS_OF_TEN_MINUTES)
    expect(changes(rig)).toHaveLength(2)
  })
})
