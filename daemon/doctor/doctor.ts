/** Looks at everything on this machine that memoryd stands on, with or without a running daemon. Repairs nothing. */
import { accessSync, constants, existsSync, lstatSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import type { Environment, Places } from '../../schema/rendezvous.ts'
import { isUsable, listBackups, newestUsableBackup } from '../db/backup.ts'
import { isCorruption, openForReading, quickCheck, storeLayout } from '../db/database.ts'
import { historyMigrations } from '../db/history-schema.ts'
import { indexMigrations } from '../db/index-schema.ts'
import { schemaVersion } from '../db/migrate.ts'
import { restoreBackup } from '../db/repair.ts'
import { waitsForPurge } from '../housekeeping/purge.ts'
import { createClock } from '../platform/clock.ts'
import { ensurePrivateFolder, message, privateFolderProblem } from '../platform/files.ts'
import { isLocked, readHolder, takeProcessLock } from '../platform/process-lock.ts'
import { isListening } from '../platform/socket.ts'
import { readSettings } from '../settings/live-settings.ts'
import { type Finding, jobFinding, keyFinding, memoryFindings } from './checks.ts'

const LOW_SPACE_BYTES = 200_000_000
const FULL_BYTES = 1_000_000
const FEW_FILES = 16
const FEW_WATCHES = 8_192

export type Ground = { places: Places; env: Environment }

export async function inspect({ places, env }: Ground): Promise<Finding[]> {
  const { stateDir, socketPath } = places
  const layout = storeLayout(stateDir)
  const folder = folderFinding('state folder', stateDir)
  const apart = dirname(socketPath) !== stateDir
  const usable = folder.state === 'ok' && existsSync(stateDir)
  return [
    ...configuration(places, env),
    folder,
    ...(apart ? [folderFinding('socket folder', dirname(socketPath))] : []),
    ...(folder.state === 'ok' ? [await explained('socket', () => socket(places))] : []),
    ...(usable
      ? await Promise.all([
          explained('history.db', () => database('history.db', layout.history, historyMigrations.length)),
          explained('index.db', () => database('index.db', layout.index, indexMigrations.length)),
          explained('jobs', () => jobFinding(layout.index, { nowMs: createClock().now(), awake: isLocked(stateDir) })),
          explained('backups', () => backups(layout.backups)),
          explained('disk', () => space(stateDir)),
        ])
      : []),
    ...(usable ? memoryFindings(layout.history) : []),
    ...watches(),
  ]
}

/** A check that cannot be made is a finding too. */
async function explained(check: string, look: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await look()
  } catch (error) {
    const { hint = 'make it accessible to you, or move it away' } = error as { hint?: string }
    return { check, state: 'problem', message: message(error), remedy: hint }
  }
}

function configuration({ configFile, home }: Places, env: Environment): Finding[] {
  const check = 'configuration'
  try {
    const settings = readSettings(configFile, env, home)
    const message = existsSync(configFile) ? `${configFile} is valid` : `none at ${configFile}: defaults are in force`
    return [{ check, state: 'ok', message }, keyFinding(settings, env)]
  } catch (error) {
    const remedy = (error as { hint?: string }).hint ?? 'correct it'
    return [{ check, state: 'problem', message: message(error), remedy }]
  }
}

function folderFinding(check: string, folder: string): Finding {
  try {
    const stats = statSync(folder, { throwIfNoEntry: false })
    if (!stats) return missingFolder(check, folder)
    const trouble = privateFolderProblem(folder, stats, process.getuid?.() ?? -1)
    if (trouble) return { check, state: 'problem', message: trouble.problem, remedy: trouble.remedy }
    return { check, state: 'ok', message: `${folder} is yours alone` }
  } catch (error) {
    return { check, state: 'problem', message: message(error), remedy: `make ${dirname(folder)} accessible to you` }
  }
}

function missingFolder(check: string, folder: string): Finding {
  if (lstatSync(folder, { throwIfNoEntry: false }))
    return { check, state: 'problem', message: `${folder} is a link to nowhere`, remedy: `rm ${folder}` }
  let above = dirname(folder)
  while (!existsSync(above)) above = dirname(above)
  try {
    accessSync(above, constants.W_OK | constants.X_OK)
    return { check, state: 'ok', message: `${folder} is not there yet; the daemon makes it` }
  } catch {
    const remedy = `make ${above} writable for you, or name another place`
    return { check, state: 'problem', message: `${folder} cannot be made: ${above} is closed to you`, remedy }
  }
}

async function socket({ socketPath, stateDir }: Places): Promise<Finding> {
  const check = 'socket'
  const held = isLocked(stateDir)
  const holder = held ? `pid ${readHolder(stateDir)?.pid ?? 'unknown'}` : undefined
  const stats = lstatSync(socketPath, { throwIfNoEntry: false })
  if (!stats)
    return holder
      ? {
          check,
          state: 'problem',
          message: `a daemon runs (${holder}), but its socket ${socketPath} is gone`,
          remedy: 'memoryd restart',
        }
      : { check, state: 'ok', message: `${socketPath} is not there: no daemon runs` }
  if (!stats.isSocket())
    return { check, state: 'problem', message: `${socketPath} is not a socket`, remedy: 'move it away' }
  const mode = (stats.mode & 0o777).toString(8)
  if (stats.mode & 0o077)
    return {
      check,
      state: 'problem',
      message: `${socketPath} is open to others (mode ${mode})`,
      remedy: 'memoryd restart',
    }
  if (await isListening(socketPath))
    return { check, state: 'ok', message: `${socketPath} accepts connections, mode ${mode}` }
  return holder
    ? {
        check,
        state: 'problem',
        message: `a daemon runs (${holder}), but does not listen at ${socketPath}`,
        remedy: 'memoryd restart',
      }
    : {
        check,
        state: 'warning',
        message: `${socketPath} is stale: left behind by a daemon that was killed`,
        remedy: 'memoryd start (it clears the stale socket away)',
      }
}

function database(check: string, file: string, knownSchema: number): Finding {
  const stats = lstatSync(file, { throwIfNoEntry: false })
  if (!stats) return { check, state: 'ok', message: 'not there yet; the daemon makes it' }
  if (!stats.isFile()) return { check, state: 'problem', message: `${file} is not a file`, remedy: `move ${file} away` }
  if (stats.uid !== process.getuid?.())
    return { check, state: 'problem', message: `${file} belongs to uid ${stats.uid}`, remedy: `chown it to you` }
  const derived = check === 'index.db'
  const repair = derived
    ? 'memoryd restart (it is set aside and rebuilt from the transcripts)'
    : 'memoryd restart (it is set aside and restored from the newest backup plus what can be read), or memoryd doctor --restore'
  try {
    const db = openForReading(file)
    try {
      const problems = quickCheck(db)
      if (problems[0]) return { check, state: 'problem', message: `damaged: ${problems[0]}`, remedy: repair }
      const schema = schemaVersion(db)
      if (schema > knownSchema)
        return {
          check,
          state: 'problem',
          message: `written by a newer memoryd (schema ${schema}, this one knows ${knownSchema})`,
          remedy: derived
            ? `run the newer version, or delete ${file}`
            : 'run the newer version, or memoryd doctor --restore with a backup from before the upgrade',
        }
      if (!derived && schema < 1)
        return { check, state: 'problem', message: 'holds no history of memoryd', remedy: `move ${file} away` }
      return { check, state: 'ok', message: `sound, schema ${schema}` }
    } finally {
      db.close()
    }
  } catch (error) {
    if (isCorruption(error)) return { check, state: 'problem', message: `damaged: ${message(error)}`, remedy: repair }
    return { check, state: 'problem', message: `cannot be read: ${message(error)}`, remedy: `chmod 600 ${file}` }
  }
}

function backups(folder: string): Finding {
  const check = 'backups'
  const files = listBackups(folder)
  if (!files[0]) return { check, state: 'ok', message: 'none yet; the daemon makes one a day' }
  const broken = files.filter((file) => !isUsable(file))
  if (broken[0])
    return {
      check,
      state: 'warning',
      message: `${broken.length} of ${files.length} cannot be used, ${basename(broken[0])} among them`,
      remedy: `delete ${broken[0]}; a new one is made within the hour`,
    }
  return { check, state: 'ok', message: `${files.length}, the newest ${basename(files[0])}` }
}

function space(folder: string): Finding {
  const { bavail, bsize, files, ffree } = statfsSync(folder)
  const free = bavail * bsize
  const megabytes = `${Math.round(free / 1e6)} MB free`
  const remedyFull = `free space on the disk of ${folder}`
  if (free < FULL_BYTES) return { check: 'disk', state: 'problem', message: 'the disk is full', remedy: remedyFull }
  if (files > 0 && ffree < FEW_FILES)
    return { check: 'disk', state: 'problem', message: 'the disk has no room for more files', remedy: remedyFull }
  if (free >= LOW_SPACE_BYTES) return { check: 'disk', state: 'ok', message: megabytes }
  return {
    check: 'disk',
    state: 'warning',
    message: `only ${megabytes}`,
    remedy: `free space on the disk of ${folder}`,
  }
}

/** Linux only; elsewhere there is no such limit to hit. */
function watches(): Finding[] {
  const file = '/proc/sys/fs/inotify/max_user_watches'
  if (!existsSync(file)) return []
  const limit = Number(readFileSync(file, 'utf8'))
  if (limit >= FEW_WATCHES) return [{ check: 'watch limit', state: 'ok', message: `${limit} inotify watches` }]
  const remedy = 'raise fs.inotify.max_user_watches with sysctl; until then changes are found by sweeps'
  return [{ check: 'watch limit', state: 'warning', message: `only ${limit} inotify watches`, remedy }]
}

/** `memoryd doctor --restore`: puts a backup of history.db in place while no daemon runs; the present file is kept. */

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
