import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createExternal } from '../../daemon/memory/external-edits.ts'
import { createJournal } from '../../daemon/memory/journal.ts'
import { MOST_FILES } from '../../daemon/memory/scan.ts'
import { createCredentialNames } from '../../daemon/memory/write-checks.ts'
import { manualTime } from '../support/clock.ts'
import { testCore } from '../support/core.ts'
import { topic } from '../support/memory.ts'
import { createTestWriter } from '../support/writer.ts'

const HOUR_MS = 3_600_000
const by = { actor: 'agent:test', reason: 'test' }

/** Looks at a directory of its own; `compared` are the files of the last look that were read. */
async function looking({
  isPlace = () => true,
  aheadMs = HOUR_MS,
}: {
  isPlace?: () => boolean
  aheadMs?: number
} = {}) {
  const time = manualTime(Date.now() + aheadMs)
  const { core, home } = await testCore({ time })
  const dir = join(home.dir, 'above', 'memory')
  mkdirSync(dir, { recursive: true })
  const journal = createJournal(core.db.history)
  const writer = createTestWriter(core, journal)
  const { clock } = core
  let compared: string[] = []
  const tip: typeof journal.tip = (...of) => {
    compared.push(of[1])
    return journal.tip(...of)
  }
  const told: string[][] = []
  const external = createExternal({
    writer,
    journal: { ...journal, tip },
    clock,
    names: createCredentialNames(),
    isPlace,
    onChange: (_dir, files) => told.push(files),
  })
  return {
    home: home.dir,
    dir,
    writer,
    journal,
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
    const { write, dir, writer, journal } = await looking()
    for (let n = 0; n < 120; n++) write(`${n}.md`)
    let left = 1
    const told: number[] = []
    const append: typeof journal.append = (changes) => {
      if (left-- === 0) throw new Error('disk full')
      return journal.append(changes)
    }
    const external = createExternal({
      writer,
      journal: { ...journal, append },
      clock: manualTime().clock,
      names: createCredentialNames(),
      isPlace: () => true,
      onChange: (_dir, files) => told.push(files.length),
    })
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
    let allowed = true
    const { write, look, compared, dir, home } = await looking({ isPlace: () => allowed })
    write('a.md')
    await look()
    renameSync(dir, join(home, 'away'))
    writeFileSync(join(home, 'private.md'), 'private')
    symlinkSync(home, dir)
    allowed = false
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
