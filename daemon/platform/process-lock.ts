/** One daemon per state folder: the holder of its lock. A file beside it names the holder, and stays when it did not stop cleanly. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { MemoryError } from '../../schema/errors.ts'
import { HOLDER_FILE, type Holder } from '../../schema/rendezvous.ts'
import type { Clock } from './clock.ts'
import { message, writeAtomic } from './files.ts'
import { readHolder, takesSignals } from './process.ts'

const LOCK_FILE = 'daemon.lock'

export type Ending = 'clean' | 'unclean'

export type ProcessLock = { lastStop: Ending; release(ending: Ending): void }

/** A daemon that has just taken the lock needs a moment to write its name. */
const HOLDER_WAIT_MS = 2_000
const HOLDER_LOOK_MS = 20

export async function waitForLock(clock: Clock, stateDir: string, self: Holder): Promise<ProcessLock> {
  const startedMs = clock.elapsed()
  for (;;) {
    const lock = takeProcessLock(stateDir, self)
    if (!('heldBy' in lock)) return lock
    const holder = lock.heldBy && takesSignals(lock.heldBy.pid) ? lock.heldBy : undefined
    if (holder || clock.elapsed() - startedMs > HOLDER_WAIT_MS) {
      const who = holder ? `: pid ${holder.pid}, version ${holder.version}, socket ${holder.socket}` : ''
      throw new MemoryError('LOCK_HELD', `memoryd already runs${who}`, {
        hint: `state folder ${stateDir}; to replace it: memoryd restart`,
      })
    }
    await clock.delay(HOLDER_LOOK_MS)
  }
}

export function takeProcessLock(stateDir: string, self: Holder): ProcessLock | { heldBy: Holder | undefined } {
  const unlock = holdFile(join(stateDir, LOCK_FILE))
  if (!unlock) return { heldBy: readHolder(stateDir) }
  const lastStop = readHolder(stateDir) ? 'unclean' : 'clean'
  try {
    writeAtomic(join(stateDir, HOLDER_FILE), `${JSON.stringify(self)}\n`)
  } catch (cause) {
    unlock()
    throw new MemoryError('SETUP', `cannot write to the state folder: ${message(cause)}`, {
      hint: `free space on its disk, make it writable for you, or move ${HOLDER_FILE} away`,
      cause,
    })
  }
  return {
    lastStop,
    release: (ending) => {
      if (ending === 'clean') rmSync(join(stateDir, HOLDER_FILE), { force: true })
      unlock()
    },
  }
}

export function isLocked(stateDir: string): boolean {
  const file = join(stateDir, LOCK_FILE)
  if (!existsSync(file)) return false
  const unlock = holdFile(file)
  unlock?.()
  return !unlock
}

/** An exclusive SQLite lock: the kernel frees it when its holder dies. Returns how to release it, or nothing when it is held. */
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
