/** Copies of history.db: one a day, one before each schema change, and the newest one that is sound. */
import { lstatSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { filesIn, syncPath, windowsOf } from '../platform/files.ts'
import {
  closing,
  type Db,
  hasTable,
  type Layout,
  openDatabase,
  openForReading,
  problemsOf,
  removeDatabase,
  schemaVersion,
} from './database.ts'
import { historyMigrations } from './history-schema.ts'

export function dailyBackupName(nowMs: number): string {
  return `history-${new Date(nowMs).toISOString().slice(0, 10)}.db`
}

/** Copies in steps, between requests; the copy appears under its name only when it is whole and on disk. */
export async function backUp(db: Db, folder: string, name: string): Promise<void> {
  const temporary = prepare(folder, name)
  try {
    await db.backup(temporary)
    // A backup is a single file: no WAL of its own that could be lost on the way.
    closing(openDatabase(temporary), (copy) => copy.pragma('journal_mode = DELETE'))
    // A copy of a damaged file must not push a sound one out.
    if (!isUsable(temporary)) throw new Error('the copy is damaged; is history.db?')
    publish(temporary, folder, name)
  } catch (error) {
    removeDatabase(temporary)
    throw error
  }
}

/** At start, before the first request, a plain synchronous copy is simpler and safer. */
export function backUpBeforeMigration(db: Db, folder: string, fromSchema: number): void {
  const name = `history-schema-${fromSchema}.db`
  const temporary = prepare(folder, name)
  db.prepare('VACUUM INTO ?').run(temporary)
  publish(temporary, folder, name)
}

export function dailyBackups(folder: string): string[] {
  return listBackups(folder).filter(isDaily)
}

export function migrationBackups(folder: string): string[] {
  return listBackups(folder).filter((file) => !isDaily(file))
}

function isDaily(file: string): boolean {
  return /^history-\d{4}-\d\d-\d\d\.db$/.test(basename(file))
}

export function listBackups(folder: string): string[] {
  const files = filesIn(folder).filter((file) => /^history-.*\.db$/.test(basename(file)))
  const newestFirst = files.sort().reverse()
  return [...newestFirst.filter(isDaily), ...newestFirst.filter((file) => !isDaily(file))]
}

/** One dated later than today comes from a clock that was ahead: how old it is is unknown, so it is the last resort. */
export function newestUsableBackup(folder: string, nowMs: number): string | undefined {
  const today = dailyBackupName(nowMs)
  const files = listBackups(folder)
  const fromTheFuture = (file: string) => isDaily(file) && basename(file) > today
  return [...files.filter((file) => !fromTheFuture(file)), ...files.filter(fromTheFuture)].find(isUsable)
}

export function isUsable(file: string): boolean {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return false
  const problems = problemsOf(file, openForReading, (db) => {
    const version = schemaVersion(db)
    const isOurs = version >= 1 && version <= historyMigrations.length && hasTable(db, 'pauses')
    return isOurs ? [] : ['is not a history of ours']
  })
  return problems.length === 0
}

function prepare(folder: string, name: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const temporary = join(folder, `${name}.tmp`)
  rmSync(temporary, { force: true })
  return temporary
}

function publish(temporary: string, folder: string, name: string): void {
  syncPath(temporary)
  renameSync(temporary, join(folder, name))
  syncPath(folder)
}

/** Every copy of history.db in the state folder: backups, and what was set aside. A link is not a copy of ours. */
export function listCopies({ backups, corrupt }: Layout): string[] {
  // A WAL whose database is gone stands for it.
  const aside = new Set(filesIn(corrupt).map((file) => file.replace(/-(?:wal|shm|journal)$/, '')))
  return [...listBackups(backups), ...aside].filter((file) => isPlain(file) || isPlain(`${file}-wal`))
}

/** Whether one of these stands in the bytes of a database or its WAL: free pages keep what was deleted. */
export function holdsBytes(file: string, phrases: readonly string[]): boolean {
  const needles = phrases.map((phrase) => Buffer.from(phrase))
  return needles.length > 0 && [file, `${file}-wal`].some((each) => isPlain(each) && hasBytes(each, needles))
}

function hasBytes(file: string, needles: readonly Buffer[]): boolean {
  for (const bytes of windowsOf(file, Math.max(...needles.map((needle) => needle.length))))
    if (needles.some((needle) => bytes.includes(needle))) return true
  return false
}

function isPlain(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isFile() === true
}
