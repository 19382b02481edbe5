import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { backUpBeforeMigration, dailyBackups, isUsable, listBackups } from '../../daemon/db/backup.ts'
import { openDatabase, schemaVersion, storeLayout } from '../../daemon/db/database.ts'
import { openDatabases } from '../../daemon/db/databases.ts'
import { historyMigrations } from '../../daemon/db/history-schema.ts'
import { repairHistory, restoreBackup } from '../../daemon/db/repair.ts'
import { createPauses } from '../../daemon/projects/projects.ts'
import { overwritePage, pageWith } from '../support/damage.ts'
import { makeHome } from '../support/home.ts'

/** A database with our table and any schema version. */
function openStoreAt(file: string, schema: number): void {
  const db = openDatabase(file)
  db.exec('CREATE TABLE pauses (project TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT')
  db.pragma(`user_version = ${schema}`)
  db.close()
}

const NOW = Date.UTC(2026, 0, 15, 12)
const DAY = 86_400_000

function stateFolder() {
  const { dir } = makeHome()
  const layout = storeLayout(join(dir, 'state'))
  const open = (now = NOW) => openDatabases(join(dir, 'state'), now)
  /** A history with so many pauses that they fill several pages. */
  const fill = (from: number, to: number) => {
    const store = open()
    const pauses = createPauses(store.history)
    store.history.transaction(() => {
      for (let n = from; n < to; n++) pauses.add(`/project/${String(n).padStart(6, '0')}`, n)
    })()
    return store
  }
  const projects = () => {
    const store = open()
    const list = createPauses(store.history).list()
    store.close()
    return { list, repairs: store.repairs }
  }
  return { layout, open, fill, projects }
}

it('a copy made before a migration holds everything and its old schema', () => {
  const { fill, layout } = stateFolder()
  const store = fill(0, 10)
  backUpBeforeMigration(store.history, layout.backups, 1)
  store.close()
  const copy = openDatabase(listBackups(layout.backups)[0] as string)
  expect([createPauses(copy).list().length, schemaVersion(copy)]).toEqual([10, historyMigrations.length])
  copy.close()
})

describe('the store', () => {
  it('keeps one backup a day, whole and in a single file', async () => {
    const { fill, open, layout } = stateFolder()
    const store = fill(0, 10)
    expect(await store.backUpDaily(NOW)).toBe('made')
    expect(await store.backUpDaily(NOW + 1_000)).toBe('exists')
    expect(await store.backUpDaily(NOW + DAY)).toBe('made')
    store.close()
    expect(readdirSync(layout.backups).sort()).toEqual(['history-2026-01-15.db', 'history-2026-01-16.db'])
    expect(dailyBackups(layout.backups).every(isUsable)).toBe(true)
    open().close()
  })

  it('leaves nothing in the way after a clean stop', () => {
    const { fill, layout } = stateFolder()
    fill(0, 10).close()
    expect(['-wal', '-shm'].filter((tail) => existsSync(layout.history + tail))).toEqual([])
  })

  it('restores a damaged history from its backup plus every row that can still be read', async () => {
    const { fill, layout, projects } = stateFolder()
    const store = fill(0, 300)
    await store.backUpDaily(NOW)
    store.close()
    fill(300, 2_000).close()
    overwritePage(layout.history, pageWith(layout.history, '/project/001000'))

    const { list, repairs } = projects()
    expect(repairs).toEqual([
      expect.stringMatching(/^history.db was damaged .* restored from .*history-2026-01-15.db with \d+ rows/),
    ])
    // The first 300 are in the backup, the newest stand behind the damaged page.
    expect(list).toEqual(expect.arrayContaining(['/project/000000', '/project/000299', '/project/001999']))
    expect(list.length).toBeGreaterThan(1_500)
    expect(readdirSync(layout.corrupt).filter((name) => name.endsWith('.db'))).toHaveLength(1)
    expect(projects().repairs).toEqual([])
  })

  it('keeps what was resumed after the backup resumed when that table is undamaged', async () => {
    const { fill, layout, open, projects } = stateFolder()
    const store = fill(0, 3)
    await store.backUpDaily(NOW)
    createPauses(store.history).remove('/project/000001')
    store.history.exec('CREATE TABLE other (x TEXT) STRICT')
    store.history.exec('INSERT INTO other SELECT hex(randomblob(2000)) FROM pauses, pauses AS b')
    store.close()
    overwritePage(layout.history, readFileSync(layout.history).length / 4096)
    expect(projects()).toMatchObject({ list: ['/project/000000', '/project/000002'], repairs: [expect.any(String)] })
    open().close()
  })

  it('begins anew, keeping the file, when neither backup nor rows can be read', () => {
    const { fill, layout, projects } = stateFolder()
    fill(0, 10).close()
    writeFileSync(layout.history, 'this is not a database, and long enough to be seen as none '.repeat(20))
    expect(projects()).toMatchObject({ list: [], repairs: [expect.stringContaining('begun anew')] })
    expect(readFileSync(join(layout.corrupt, readdirSync(layout.corrupt)[0] as string), 'utf8')).toContain(
      'not a database',
    )
  })

  it('passes over a backup that is damaged itself', async () => {
    const { fill, layout, projects } = stateFolder()
    const store = fill(0, 2_000)
    await store.backUpDaily(NOW)
    await store.backUpDaily(NOW + DAY)
    store.close()
    overwritePage(listBackups(layout.backups)[0] as string, 3)
    overwritePage(layout.history, 1)
    const { list, repairs } = projects()
    expect(repairs[0]).toContain('history-2026-01-15.db')
    expect(list).toHaveLength(2_000)
  })

  it('keeps what it set aside for as long as retention says, however old the file was', () => {
    const { fill, layout, open } = stateFolder()
    fill(0, 10).close()
    overwritePage(layout.history, 1)
    utimesSync(layout.history, 0, 0)
    open().close()
    const kept = readdirSync(layout.corrupt).map((name) => statSync(join(layout.corrupt, name)).mtimeMs)
    expect(kept.every((modified) => modified === NOW)).toBe(true)
  })

  it.each([
    ['emptied', (file: string) => writeFileSync(file, ''), 'it was empty'],
    ['gone', (file: string) => rmSync(file), 'it was missing'],
  ])('restores a history that was %s though there is a backup', async (_what, spoil, words) => {
    const { fill, layout, projects } = stateFolder()
    const store = fill(0, 10)
    await store.backUpDaily(NOW)
    store.close()
    spoil(layout.history)
    const { list, repairs } = projects()
    expect(list).toHaveLength(10)
    expect(repairs[0]).toContain(words)
  })

  it('takes the newest backup it can use: not an empty, foreign, newer, unreadable or future one', async () => {
    const { fill, layout, projects } = stateFolder()
    const store = fill(0, 10)
    await store.backUpDaily(NOW)
    store.close()
    const put = (name: string, make: (file: string) => void) => make(join(layout.backups, name))
    put('history-2026-01-14.db', (file) => writeFileSync(file, ''))
    put('history-2099-01-01.db', (file) => openStoreAt(file, 1))
    put('history-2098-01-01.db', (file) => mkdirSync(file))
    put('history-2097-01-01.db', (file) => symlinkSync('/nowhere', file))
    put('history-2096-01-01.db', (file) => openStoreAt(file, 99))
    overwritePage(layout.history, 1)
    const { list, repairs } = projects()
    expect(repairs[0]).toContain('history-2026-01-15.db')
    expect(list).toHaveLength(10)
  })

  it('makes no backup of a damaged history, which would push out a sound one', async () => {
    const { fill, layout } = stateFolder()
    const store = fill(0, 2_000)
    await store.backUpDaily(NOW)
    store.history.pragma('wal_checkpoint(TRUNCATE)')
    store.history.pragma('shrink_memory')
    overwritePage(layout.history, 5)
    await expect(store.backUpDaily(NOW + DAY)).rejects.toThrow()
    expect(readdirSync(layout.backups)).toEqual(['history-2026-01-15.db'])
    store.close()
  })

  it('starts with a new index whatever stands in the place of the old one', () => {
    const { open, layout } = stateFolder()
    open().close()
    rmSync(layout.index)
    mkdirSync(layout.index)
    const store = open()
    expect(store.repairs).toEqual([expect.stringContaining('index.db')])
    store.close()
  })

  it('completes a repair that was interrupted between setting aside and putting in place', async () => {
    const { fill, layout, projects } = stateFolder()
    const store = fill(0, 500)
    await store.backUpDaily(NOW)
    store.close()
    overwritePage(layout.history, 3)
    repairHistory(layout, listBackups(layout.backups)[0], NOW)
    // As if killed after the damaged file had moved away and before the rebuilt one took its place.
    renameSync(layout.history, `${layout.history}.rebuilt`)
    const { list, repairs } = projects()
    expect(list).toHaveLength(500)
    expect(repairs[0]).toContain('finished an interrupted repair')
  })

  it('discards a half-built replacement of a repair that was interrupted earlier', () => {
    const { fill, layout, projects } = stateFolder()
    fill(0, 500).close()
    writeFileSync(`${layout.history}.building`, 'half')
    overwritePage(layout.history, 1)
    expect(projects().repairs).toHaveLength(1)
    expect(existsSync(`${layout.history}.building`)).toBe(false)
  })

  it('sets a damaged index aside and begins a new one', () => {
    const { open, layout } = stateFolder()
    open().close()
    writeFileSync(layout.index, 'no database at all, yet longer than a header '.repeat(10))
    const store = open()
    expect(store.repairs).toEqual([expect.stringContaining('index.db was damaged')])
    expect(store.index().pragma('quick_check', { simple: true })).toBe('ok')
    store.close()
  })

  it('puts a chosen backup in place and keeps the present file', async () => {
    const { fill, layout, projects } = stateFolder()
    const store = fill(0, 5)
    await store.backUpDaily(NOW)
    store.close()
    fill(5, 9).close()
    const aside = restoreBackup(layout, listBackups(layout.backups)[0] as string, NOW)
    expect(projects().list).toHaveLength(5)
    const old = openDatabase(aside)
    expect(createPauses(old).list()).toHaveLength(9)
    old.close()
  })
})

it('leaves the copying of what a thread has read of transcripts to that thread', () => {
  const { open, layout } = stateFolder()
  const store = open()
  const reader = openDatabase(layout.index)
  const sizeAfter = (db: ReturnType<typeof openDatabase>, kilobytes: number) => {
    db.prepare('INSERT INTO filled (text) VALUES (zeroblob(?))').run(kilobytes * 1_024)
    return statSync(layout.index).size
  }
  reader.exec('CREATE TABLE filled (text BLOB)')
  const emptied = statSync(layout.index).size
  expect(sizeAfter(store.index(), 6_000)).toBe(emptied)
  expect(sizeAfter(reader, 1)).toBeGreaterThan(6_000_000)
  reader.close()
  store.close()
})
