/** Notices a broken database file and puts it out of the way, keeping every byte. */
import { existsSync, lstatSync, lutimesSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { syncPath } from '../platform/files.ts'
import { type Db, isCorruption } from './database.ts'

/** What SQLite finds wrong with the whole file, or with one table of it; empty when sound. */
export function quickCheck(db: Db, table?: string): string[] {
  try {
    const rows = db.pragma(`quick_check(${table ? `"${table}"` : 10})`) as { quick_check: string }[]
    return rows.map((row) => row.quick_check.replace(/\s+/g, ' ')).filter((line) => line !== 'ok')
  } catch (error) {
    if (isCorruption(error)) return [(error as Error).message]
    throw error
  }
}

/**
 * Moves a database into the folder for broken ones and returns its new path. The WAL goes first: a WAL without its
 * database is harmless, while a WAL beside another database would be replayed into it.
 */
export function setAside(file: string, folder: string, nowMs: number): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const stamp = new Date(nowMs).toISOString().replace(/[:.]/g, '')
  const target = freeName(join(folder, `${basename(file, '.db')}-${stamp}`))
  rmSync(`${file}-shm`, { force: true })
  for (const tail of ['-wal', '']) {
    if (!lstatSync(file + tail, { throwIfNoEntry: false })) continue
    renameSync(file + tail, target + tail)
    // Retention counts from the day it was set aside, not from the day it was last written.
    lutimesSync(target + tail, nowMs / 1000, nowMs / 1000)
  }
  syncPath(folder)
  return target
}

/** Two files of one name may be set aside within a day, or by a clock that was set back. */
function freeName(base: string): string {
  for (let n = 0; ; n++) {
    const name = n === 0 ? `${base}.db` : `${base}-${n}.db`
    if (!existsSync(name) && !existsSync(`${name}-wal`)) return name
  }
}

/** What is wrong with a database file that nobody has open for us; empty when sound. */
export function problemsOf(file: string, open: (file: string) => Db, more: (db: Db) => string[] = () => []): string[] {
  let db: Db | undefined
  try {
    db = open(file)
    return [...quickCheck(db), ...more(db)]
  } catch (error) {
    if (isCorruption(error)) return [(error as Error).message]
    throw error
  } finally {
    db?.close()
  }
}
