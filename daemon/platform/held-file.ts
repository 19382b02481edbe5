/**
 * A lock that the kernel frees when its holder dies, however it dies: an exclusive SQLite lock on a small file. Holds other
 * processes off, and other holders in this one.
 */
import Database from 'better-sqlite3'
import { MemoryError } from '../../schema/errors.ts'
import { message } from './files.ts'

/** Takes it and returns how to let go of it; nothing when somebody else has it. Never waits. */
export function holdFile(file: string): (() => void) | undefined {
  let db: Database.Database | undefined
  try {
    db = new Database(file, { timeout: 0 })
    db.exec('BEGIN EXCLUSIVE')
    const held = db
    return () => held.close()
  } catch (cause) {
    db?.close()
    if (cause instanceof Database.SqliteError && cause.code.startsWith('SQLITE_BUSY')) return undefined
    throw new MemoryError('SETUP', `cannot lock ${file}: ${message(cause)}`, {
      hint: 'check that the state folder is writable and not full; the file is empty and may be deleted when no daemon runs',
      cause,
    })
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
