/** Opens a SQLite file the way every file of ours is opened. All pragmas live here. */
import { open } from 'node:fs/promises'
import Database from 'better-sqlite3'

export type Db = Database.Database

/**
 * FULL, not the driver's NORMAL: with NORMAL a power cut loses commits that were already acknowledged.
 * The WAL is cut back after each checkpoint so that one busy day does not occupy the disk for ever.
 */
export function openDatabase(file: string): Db {
  const db = new Database(file, { timeout: 5_000 })
  try {
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = FULL')
    db.pragma('foreign_keys = ON')
    db.pragma('journal_size_limit = 16777216')
    // As a service there is no writable folder for temporary files.
    db.pragma('temp_store = MEMORY')
  } catch (error) {
    db.close()
    throw error
  }
  return db
}

/**
 * For the connection that writes what is read of transcripts, without end: pages that are written again and again are written
 * once. A power cut may take back the last of its transactions as a whole, the places with the rows and what they make due:
 * reading goes on from there.
 */
export function prepareForBulk(db: Db): void {
  db.pragma('synchronous = NORMAL')
  db.pragma('cache_size = -8192')
  db.pragma('wal_autocheckpoint = 4000')
}

/** Never creates, migrates or repairs. */
export function openForReading(file: string): Db {
  return new Database(file, { readonly: true, fileMustExist: true, timeout: 5_000 })
}

/** For what may be lost in a power cut but not with the process: the write is not waited for. */
export function withoutWaiting<T>(db: Db, write: () => T): T {
  // Within a transaction it is waited for with everything else.
  const mode = db.inTransaction ? undefined : 'NORMAL'
  // Not by `pragma()`, which leaves a statement behind each time: nothing of this waits, and that costs more than the write.
  if (mode) db.exec(`PRAGMA synchronous = ${mode}`)
  try {
    return write()
  } finally {
    if (mode) db.exec('PRAGMA synchronous = FULL')
  }
}

/**
 * What was written without waiting is on the disk for good after this, as if it had been waited for, but nobody else waits:
 * the log that all of it stands in is synced by another thread. SQLite holds no lock on that file that this could lose.
 */
export async function untilOnDisk(db: Db): Promise<void> {
  const log = await open(`${db.name}-wal`, 'r')
  try {
    await log.datasync()
  } finally {
    await log.close()
  }
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
  const [result] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]
  return result?.busy === 0 ? 'swept' : 'busy'
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

export function sqliteCode(error: unknown): string | undefined {
  return error instanceof Database.SqliteError ? error.code : undefined
}

/** The file's content is broken, as opposed to a full disk or a missing permission. */
export function isCorruption(error: unknown): boolean {
  const code = sqliteCode(error) ?? ''
  return code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB'
}
