/** Looks at everything on this machine that memoryd stands on, with or without a running daemon. Repairs nothing. */
import { accessSync, constants, existsSync, lstatSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import type { Environment, Places } from '../../schema/rendezvous.ts'
import { isUsable, listBackups, newestUsableBackup } from '../db/backup.ts'
import { closing, openForReading, problemsOf, schemaVersion, storeLayout } from '../db/database.ts'
import { historyMigrations } from '../db/history-schema.ts'
import { indexMigrations } from '../db/index-schema.ts'
import { restoreBackup } from '../db/repair.ts'
import { waitsForPurge } from '../housekeeping/purge.ts'
import { createClock } from '../platform/clock.ts'
import { ensurePrivateFolder, message, privateFolderProblem } from '../platform/files.ts'
import { readHolder } from '../platform/process.ts'
import { isLocked, takeProcessLock } from '../platform/process-lock.ts'
import { isListening } from '../platform/socket.ts'
import { readSettings } from '../settings/live-settings.ts'
import { type Finding, jobFinding, keyFinding, memoryFindings, ok, problem, warning } from './checks.ts'

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

async function explained(check: string, look: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await look()
  } catch (error) {
    const { hint = 'make it accessible to you, or move it away' } = error as { hint?: string }
    return problem(check, message(error), hint)
  }
}

export function configuration({ configFile, home }: Places, env: Environment): Finding[] {
  const check = 'configuration'
  try {
    const settings = readSettings(configFile, env, home)
    const found = existsSync(configFile) ? `${configFile} is valid` : `none at ${configFile}: defaults are in force`
    return [ok(check, found), keyFinding(settings, env)]
  } catch (error) {
    return [problem(check, message(error), (error as { hint?: string }).hint ?? 'correct it')]
  }
}

function folderFinding(check: string, folder: string): Finding {
  try {
    const stats = statSync(folder, { throwIfNoEntry: false })
    if (!stats) return missingFolder(check, folder)
    const trouble = privateFolderProblem(folder, stats, process.getuid?.() ?? -1)
    return trouble ? problem(check, trouble.problem, trouble.remedy) : ok(check, `${folder} is yours alone`)
  } catch (error) {
    return problem(check, message(error), `make ${dirname(folder)} accessible to you`)
  }
}

function missingFolder(check: string, folder: string): Finding {
  if (lstatSync(folder, { throwIfNoEntry: false }))
    return problem(check, `${folder} is a link to nowhere`, `rm ${folder}`)
  let above = dirname(folder)
  while (!existsSync(above)) above = dirname(above)
  try {
    accessSync(above, constants.W_OK | constants.X_OK)
    return ok(check, `${folder} is not there yet; the daemon makes it`)
  } catch {
    const remedy = `make ${above} writable for you, or name another place`
    return problem(check, `${folder} cannot be made: ${above} is closed to you`, remedy)
  }
}

async function socket({ socketPath, stateDir }: Places): Promise<Finding> {
  const check = 'socket'
  const holder = isLocked(stateDir) ? `pid ${readHolder(stateDir)?.pid ?? 'unknown'}` : undefined
  const stats = lstatSync(socketPath, { throwIfNoEntry: false })
  if (!stats)
    return holder
      ? problem(check, `a daemon runs (${holder}), but its socket ${socketPath} is gone`, 'memoryd restart')
      : ok(check, `${socketPath} is not there: no daemon runs`)
  if (!stats.isSocket()) return problem(check, `${socketPath} is not a socket`, 'move it away')
  const mode = (stats.mode & 0o777).toString(8)
  if (stats.mode & 0o077) return problem(check, `${socketPath} is open to others (mode ${mode})`, 'memoryd restart')
  if (await isListening(socketPath)) return ok(check, `${socketPath} accepts connections, mode ${mode}`)
  if (holder)
    return problem(check, `a daemon runs (${holder}), but does not listen at ${socketPath}`, 'memoryd restart')
  const stale = `${socketPath} is stale: left behind by a daemon that was killed`
  return warning(check, stale, 'memoryd start (it clears the stale socket away)')
}

function database(check: 'history.db' | 'index.db', file: string, knownSchema: number): Finding {
  const stats = lstatSync(file, { throwIfNoEntry: false })
  if (!stats) return ok(check, 'not there yet; the daemon makes it')
  if (!stats.isFile()) return problem(check, `${file} is not a file`, `move ${file} away`)
  if (stats.uid !== process.getuid?.()) return problem(check, `${file} belongs to uid ${stats.uid}`, 'chown it to you')
  const derived = check === 'index.db'
  const repair = derived
    ? 'memoryd restart (it is set aside and rebuilt from the transcripts)'
    : 'memoryd restart (it is set aside and restored from the newest backup plus what can be read), or memoryd doctor --restore'
  try {
    const problems = problemsOf(file, openForReading)
    if (problems[0]) return problem(check, `damaged: ${problems[0]}`, repair)
    const schema = closing(openForReading(file), schemaVersion)
    if (schema > knownSchema) {
      const remedy = derived
        ? `run the newer version, or delete ${file}`
        : 'run the newer version, or memoryd doctor --restore with a backup from before the upgrade'
      return problem(check, `written by a newer memoryd (schema ${schema}, this one knows ${knownSchema})`, remedy)
    }
    if (!derived && schema < 1) return problem(check, 'holds no history of memoryd', `move ${file} away`)
    return ok(check, `sound, schema ${schema}`)
  } catch (error) {
    return problem(check, message(error), `see that its disk is well, then: chmod 600 ${file}`)
  }
}

function backups(folder: string): Finding {
  const check = 'backups'
  const files = listBackups(folder)
  if (!files[0]) return ok(check, 'none yet; the daemon makes one a day')
  const broken = files.filter((file) => !isUsable(file))
  if (!broken[0]) return ok(check, `${files.length}, the newest ${basename(files[0])}`)
  const found = `${broken.length} of ${files.length} cannot be used, ${basename(broken[0])} among them`
  return warning(check, found, `delete ${broken[0]}; a new one is made within the hour`)
}

function space(folder: string): Finding {
  const check = 'disk'
  const { bavail, bsize, files, ffree } = statfsSync(folder)
  const free = bavail * bsize
  const megabytes = `${Math.round(free / 1e6)} MB free`
  const remedy = `free space on the disk of ${folder}`
  if (free < FULL_BYTES) return problem(check, 'the disk is full', remedy)
  if (files > 0 && ffree < FEW_FILES) return problem(check, 'the disk has no room for more files', remedy)
  return free < LOW_SPACE_BYTES ? warning(check, `only ${megabytes}`, remedy) : ok(check, megabytes)
}

/** Linux only; elsewhere there is no such limit to hit. */
function watches(): Finding[] {
  const check = 'watch limit'
  const file = '/proc/sys/fs/inotify/max_user_watches'
  if (!existsSync(file)) return []
  const limit = Number(readFileSync(file, 'utf8'))
  if (limit >= FEW_WATCHES) return [ok(check, `${limit} inotify watches`)]
  const remedy = 'raise fs.inotify.max_user_watches with sysctl; until then changes are found by sweeps'
  return [warning(check, `only ${limit} inotify watches`, remedy)]
}

/** `memoryd doctor --restore`. `chosen`: a backup the user named; without one the newest sound backup is taken. */
export function restoreHistory(places: Places, chosen: string | undefined, version: string, nowMs: number) {
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
