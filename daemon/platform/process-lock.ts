/**
 * One daemon per state folder. The lock is an exclusive SQLite lock, which the kernel frees when the holder dies however
 * it dies; a small file beside it tells others who holds it, and that the last holder did not stop cleanly.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { MemoryError } from '../../schema/errors.ts'
import { HOLDER_FILE, type Holder, parseHolder } from '../../schema/holder.ts'
import { message, writeAtomic } from './files.ts'

const LOCK_FILE = 'daemon.lock'

export type ProcessLock = { lastStop: 'clean' | 'unclean'; release(): void }

export function takeProcessLock(stateDir: string, self: Holder): ProcessLock | { heldBy: Holder | undefined } {
  const file = join(stateDir, LOCK_FILE)
  const unlock = lockExclusively(file)
  if (!unlock) return { heldBy: readHolder(stateDir) }
  const lastStop = readHolder(stateDir) ? 'unclean' : 'clean'
  try {
    writeAtomic(join(stateDir, HOLDER_FILE), `${JSON.stringify(self)}\n`)
  } catch (cause) {
    unlock()
    throw new MemoryError('SETUP', `cannot write to the state folder: ${message(cause)}`, {
      hint: 'free space on its disk, or make it writable for you',
      cause,
    })
  }
  return {
    lastStop,
    release: () => {
      rmSync(join(stateDir, HOLDER_FILE), { force: true })
      unlock()
    },
  }
}

/** For those outside: whether a living process holds the lock. */
export function isLocked(stateDir: string): boolean {
  const file = join(stateDir, LOCK_FILE)
  if (!existsSync(file)) return false
  const unlock = lockExclusively(file)
  unlock?.()
  return !unlock
}

export function readHolder(stateDir: string): Holder | undefined {
  try {
    return parseHolder(readFileSync(join(stateDir, HOLDER_FILE), 'utf8'))
  } catch {
    return undefined
  }
}

function lockExclusively(file: string): (() => void) | undefined {
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
      hint: `check that the state folder is writable and not full; ${LOCK_FILE} is empty and may be deleted when no daemon runs`,
      cause,
    })
  }
}
