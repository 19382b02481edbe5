/** `memoryd doctor --restore`: puts a backup of history.db in place while no daemon runs; the present file is kept. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import type { Places } from '../../schema/rendezvous.ts'
import { isUsable, newestUsableBackup } from '../db/backup.ts'
import { storeLayout } from '../db/database.ts'
import { restoreBackup } from '../db/repair.ts'
import { waitsForPurge } from '../housekeeping/purge.ts'
import { ensurePrivateFolder } from '../platform/files.ts'
import { takeProcessLock } from '../platform/process-lock.ts'

export type Restored = { backup: string; setAside: string }

/** `chosen` is a backup the user named; without one the newest sound backup is taken. */
export function restoreHistory(places: Places, chosen: string | undefined, version: string, nowMs: number): Restored {
  const { stateDir, socketPath } = places
  process.umask(0o077)
  ensurePrivateFolder(stateDir, 'state')
  const startedAt = new Date(nowMs).toISOString()
  const lock = takeProcessLock(stateDir, { pid: process.pid, version, socket: socketPath, startedAt })
  if ('heldBy' in lock)
    throw new MemoryError('LOCK_HELD', `memoryd runs (pid ${lock.heldBy?.pid ?? 'unknown'})`, {
      hint: 'run: memoryd stop, then this again',
    })
  try {
    const layout = storeLayout(stateDir)
    const backup = chosen === undefined ? newestUsableBackup(layout.backups, nowMs) : resolve(chosen)
    if (!backup)
      throw new MemoryError('NOT_FOUND', `there is no usable backup in ${layout.backups}`, {
        hint: 'a damaged history.db is repaired as far as it can be read when the daemon starts: memoryd start',
      })
    if (!existsSync(backup)) throw new MemoryError('NOT_FOUND', `there is no file ${backup}`)
    if (!isUsable(backup))
      throw new MemoryError('REFUSED', `${backup} is not a usable backup of history.db`, { hint: 'name another one' })
    if (waitsForPurge(layout.history))
      throw new MemoryError('CONFLICT', 'a memory is being purged, and the backups may still hold it', {
        hint: 'run: memoryd start, then memoryd stop, then this again',
      })
    return { backup, setAside: restoreBackup(layout, backup, nowMs) }
  } finally {
    lock.release(lock.lastStop)
  }
}
