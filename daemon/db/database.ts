/** Opens, migrates and checks a SQLite file. All pragmas stand here. */
import { existsSync, lstatSync, lutimesSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import Database from 'better-sqlite3'
import { MemoryError } from '../../schema/errors.ts'
import { message, syncPath, windowsOf } from '../platform/files.ts'
import { aborted, beginThread, threadFile } from '../platform/process.ts'

export type Db = Database.Database

export function openDatabase(file: string): Db {
  const db = new Database(file, { timeout: 5_000 })
  try {
    db.pragma('journal_mode = WAL')
    // Not the driver's NORMAL: with it a power cut loses commits that were already acknowledged.
    db.pragma('synchronous = FULL')
    db.pragma('foreign_keys = ON')
    // The WAL is cut back after each checkpoint, so that one busy day does not occupy the disk for ever.
    db.pragma('journal_size_limit = 16777216')
    // As a service there is no writable folder for temporary files.
    db.pragma('temp_store = MEMORY')
  } catch (error) {
    db.close()
    throw error
  }
  return db
}

/** For what is read of transcripts: a power cut may take back whole transactions, cursors with rows and jobs. */
export function prepareForBulk(db: Db): void {
  db.pragma('synchronous = NORMAL')
  db.pragma('cache_size = -8192')
  db.pragma('wal_autocheckpoint = 4000')
}

/** The thread that reads transcripts writes most of the log: it makes the checkpoints, earlier than the main thread would. */
export function leaveCheckpoints(db: Db): void {
  db.pragma('wal_autocheckpoint = 8000')
}

export function openForReading(file: string): Db {
  return new Database(file, { readonly: true, fileMustExist: true, timeout: 5_000 })
}

/** For what may be lost in a power cut but not with the process: the write is not waited for. */
export function withoutWaiting<T>(db: Db, write: () => T): T {
  // Inside a transaction SQLite refuses this pragma; the commit decides about syncing.
  if (db.inTransaction) return write()
  // By `exec`: `pragma()` prepares a statement each time, which costs more than the write.
  db.exec('PRAGMA synchronous = NORMAL')
  try {
    return write()
  } finally {
    db.exec('PRAGMA synchronous = FULL')
  }
}

/** Syncs what `withoutWaiting` wrote, off the main thread. SQLite holds no lock on the WAL that closing it could drop. */
export async function untilOnDisk(db: Db): Promise<void> {
  const log = await open(`${db.name}-wal`, 'r')
  try {
    await log.datasync()
  } finally {
    await log.close()
  }
}

/** Closes the database when the work with it ends, and returns what it gave. */
export function closing<T>(db: Db, act: (db: Db) => T): T {
  try {
    return act(db)
  } finally {
    db.close()
  }
}

export type Migration = (db: Db) => void

export function schemaVersion(db: Db): number {
  return numberIn(db, 'user_version')
}

/** All pending steps in one transaction, so a kill leaves the old schema or the new one. */
export function migrate(db: Db, file: string, migrations: readonly Migration[], backUp: (from: number) => void): void {
  const current = schemaVersion(db)
  if (current > migrations.length || current < 0)
    throw new MemoryError('SETUP', `${file} has schema ${current}, this version knows up to ${migrations.length}`, {
      hint: 'a newer memoryd wrote it: run that version, or put back a backup made before the upgrade',
    })
  if (current === migrations.length) return
  if (current > 0) backUp(current)
  db.transaction(() => {
    for (const step of migrations.slice(current)) step(db)
    db.pragma(`user_version = ${migrations.length}`)
  })()
}

/** `current` is asked each time: a damaged index is replaced while the daemon runs. */
export function preparedIn<T>(current: () => Db, prepare: (db: Db) => T): () => T {
  const prepared = new WeakMap<Db, T>()
  return () => {
    const db = current()
    const known = prepared.get(db) ?? prepare(db)
    prepared.set(db, known)
    return known
  }
}

export function hasTable(db: Db, name: string): boolean {
  return db.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`).get(name) !== undefined
}

/** What was deleted stands in free pages and in the WAL until both are written anew. Tells whether they could be. */
export function sweepFreePages(db: Db): 'swept' | 'busy' {
  db.exec('VACUUM')
  return emptyWal(db) === 'emptied' ? 'swept' : 'busy'
}

export function emptyWal(db: Db): 'emptied' | 'busy' {
  const [result] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]
  return result?.busy === 0 ? 'emptied' : 'busy'
}

/** A number that SQLite keeps about the file, such as `page_count`. */
export function numberIn(db: Db, pragma: string): number {
  return Number(db.pragma(pragma, { simple: true }))
}

/** Folds the WAL into the file, so that the file alone is complete after a clean stop. */
export function closeDatabase(db: Db): void {
  if (!db.open) return
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}

export function isCorruption(error: unknown): boolean {
  const code = error instanceof Database.SqliteError ? error.code : ''
  return code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB'
}

export type Layout = ReturnType<typeof storeLayout>

export function storeLayout(stateDir: string) {
  return {
    history: join(stateDir, 'history.db'),
    index: join(stateDir, 'index.db'),
    backups: join(stateDir, 'backups'),
    corrupt: join(stateDir, 'corrupt'),
  }
}

export function quickCheck(db: Db, table?: string): string[] {
  try {
    const rows = db.pragma(`quick_check(${table ? `"${table}"` : 10})`) as { quick_check: string }[]
    return rows.map((row) => row.quick_check.replace(/\s+/g, ' ')).filter((line) => line !== 'ok')
  } catch (error) {
    if (isCorruption(error)) return [(error as Error).message]
    throw error
  }
}

/** Returns its new path. The WAL goes first: beside another database it would be replayed into that one. */
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

function freeName(base: string): string {
  for (let n = 0; ; n++) {
    const name = n === 0 ? `${base}.db` : `${base}-${n}.db`
    if (!existsSync(name) && !existsSync(`${name}-wal`)) return name
  }
}

/** The WAL goes first here as well. */
export function removeDatabase(file: string): void {
  for (const tail of ['-wal', '-shm', '-journal', '']) rmSync(file + tail, { force: true })
}

/** Throws when the disk does not give it whole. `held`: its descriptor while it is open here; closing another drops SQLite's locks. */
export function readThrough(file: string, held?: number): void {
  for (const path of [file, `${file}-wal`])
    try {
      if (!statSync(path, { throwIfNoEntry: false })?.isFile()) continue
      for (const _ of windowsOf(path, 0, path === file ? held : undefined));
    } catch (error) {
      throw Object.assign(error as Error, { message: `${path} cannot be read (${message(error)}); check its disk` })
    }
}

/** What is wrong with a database file; empty when sound. SQLite calls a page damaged that the disk did not give: it is asked again. */
export function problemsOf(file: string, open: typeof openDatabase, more?: (db: Db) => string[], held?: number) {
  for (let isLast = false; ; isLast = true) {
    let db: Db | undefined
    try {
      db = open(file)
      const problems = [...quickCheck(db), ...(more?.(db) ?? [])]
      if (isLast || problems.length === 0) return problems
    } catch (error) {
      if (isLast && !isCorruption(error)) throw error
      if (isLast) return [message(error)]
    } finally {
      db?.close()
    }
    readThrough(file, held)
  }
}

/** In a thread of its own: over gigabytes it takes seconds. Given up when the signal aborts, with nothing found. */
export function checkInWorker(file: string, held: number, signal: AbortSignal): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const worker = beginThread(threadFile('./check-worker.ts', import.meta.url), { file, held })
    worker.once('message', (problems: string[]) => resolve(problems))
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the database check ended without a result')))
    void aborted(signal).then(() => {
      resolve([])
      void worker.terminate()
    })
  })
}
