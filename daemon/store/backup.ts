/** Copies of history.db: one a day, one before each schema change, and the newest one that is sound. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { syncPath } from '../platform/files.ts'
import { type Db, openDatabase, openForReading } from './database.ts'
import { problemsOf } from './integrity.ts'

const DAILY = /^history-\d{4}-\d\d-\d\d\.db$/

export function dailyBackupName(nowMs: number): string {
  return `history-${new Date(nowMs).toISOString().slice(0, 10)}.db`
}

/** Copies in steps, so that nobody waits for it; the copy appears under its name only when it is whole and on disk. */
export async function backUp(db: Db, folder: string, name: string): Promise<void> {
  await replaceWhole(folder, name, async (temporary) => void (await db.backup(temporary)))
}

/** At start, before anyone is served, a plain synchronous copy is simpler and safer. */
export function backUpBeforeMigration(db: Db, folder: string, fromSchema: number): void {
  const name = `history-schema-${fromSchema}.db`
  const temporary = prepare(folder, name)
  db.prepare('VACUUM INTO ?').run(temporary)
  publish(temporary, folder, name)
}

export function dailyBackups(folder: string): string[] {
  return listBackups(folder).filter((file) => DAILY.test(basename(file)))
}

export function migrationBackups(folder: string): string[] {
  return listBackups(folder).filter((file) => !DAILY.test(basename(file)))
}

/** Daily ones newest first, then those made before a schema change. */
export function listBackups(folder: string): string[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => /^history-.*\.db$/.test(name))
  const daily = names.filter((name) => DAILY.test(name))
  const others = names.filter((name) => !DAILY.test(name))
  return [...daily.sort().reverse(), ...others.sort().reverse()].map((name) => join(folder, name))
}

export function newestSoundBackup(folder: string): string | undefined {
  return listBackups(folder).find(isSound)
}

export function isSound(file: string): boolean {
  return problemsOf(file, openForReading).length === 0
}

async function replaceWhole(folder: string, name: string, fill: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = prepare(folder, name)
  try {
    await fill(temporary)
    settle(temporary)
    publish(temporary, folder, name)
  } catch (error) {
    for (const tail of ['', '-wal', '-shm', '-journal']) rmSync(`${temporary}${tail}`, { force: true })
    throw error
  }
}

function prepare(folder: string, name: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const temporary = join(folder, `${name}.tmp`)
  rmSync(temporary, { force: true })
  return temporary
}

/** A backup is a single file: no WAL of its own that could be lost on the way. */
function settle(file: string): void {
  const db = openDatabase(file)
  try {
    db.pragma('journal_mode = DELETE')
  } finally {
    db.close()
  }
}

function publish(temporary: string, folder: string, name: string): void {
  syncPath(temporary)
  renameSync(temporary, join(folder, name))
  syncPath(folder)
}
