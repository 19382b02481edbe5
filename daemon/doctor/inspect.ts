/** Looks at everything on this machine that memoryd stands on, with or without a running daemon. Changes nothing. */
import { existsSync, lstatSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Environment, Places } from '../../schema/rendezvous.ts'
import { readSettings } from '../config/live.ts'
import { message, privateFolderTrouble } from '../platform/files.ts'
import { isLocked, readHolder } from '../platform/process-lock.ts'
import { someoneAnswers } from '../platform/socket.ts'
import { isSound, listBackups } from '../store/backup.ts'
import { isCorruption, openForReading } from '../store/database.ts'
import { quickCheck } from '../store/integrity.ts'
import { storeLayout } from '../store/layout.ts'
import { schemaVersion } from '../store/migrations.ts'
import { historyMigrations, indexMigrations } from '../store/tables.ts'
import type { Finding } from './finding.ts'

const LOW_SPACE_BYTES = 200_000_000
const FEW_WATCHES = 8_192

export type Ground = { places: Places; env: Environment }

export async function inspect({ places, env }: Ground): Promise<Finding[]> {
  const { stateDir, socketPath } = places
  const layout = storeLayout(stateDir)
  const folder = folderFinding('state folder', stateDir)
  return [
    configuration(places, env),
    folder,
    ...(dirname(socketPath) === stateDir ? [] : [folderFinding('socket folder', dirname(socketPath))]),
    ...(folder.state === 'problem' ? [] : [await socket(places)]),
    ...(folder.state === 'problem' || !existsSync(stateDir)
      ? []
      : [
          database('history.db', layout.history, historyMigrations.length),
          database('index.db', layout.index, indexMigrations.length),
          backups(layout.backups),
          space(stateDir),
        ]),
    ...watches(),
  ]
}

function configuration({ configFile, home }: Places, env: Environment): Finding {
  const check = 'configuration'
  try {
    readSettings(configFile, env, home)
    const message = existsSync(configFile) ? `${configFile} is valid` : `none at ${configFile}: defaults are in force`
    return { check, state: 'ok', message }
  } catch (error) {
    const remedy = (error as { hint?: string }).hint ?? 'correct it'
    return { check, state: 'problem', message: message(error), remedy }
  }
}

function folderFinding(check: string, folder: string): Finding {
  try {
    const stats = statSync(folder, { throwIfNoEntry: false })
    if (!stats) return { check, state: 'ok', message: `${folder} is not there yet; the daemon makes it` }
    const trouble = privateFolderTrouble(folder, stats, process.getuid?.() ?? -1)
    if (trouble) return { check, state: 'problem', message: trouble.problem, remedy: trouble.remedy }
    return { check, state: 'ok', message: `${folder} is yours alone` }
  } catch (error) {
    return { check, state: 'problem', message: message(error), remedy: `make ${dirname(folder)} accessible to you` }
  }
}

async function socket({ socketPath, stateDir }: Places): Promise<Finding> {
  const check = 'socket'
  try {
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
    if (await someoneAnswers(socketPath))
      return { check, state: 'ok', message: `${socketPath} accepts connections, mode ${mode}` }
    return holder
      ? {
          check,
          state: 'problem',
          message: `a daemon runs (${holder}), but nobody listens at ${socketPath}`,
          remedy: 'memoryd restart',
        }
      : {
          check,
          state: 'warning',
          message: `${socketPath} is stale: left behind by a daemon that was killed`,
          remedy: 'memoryd start (it clears the stale socket away)',
        }
  } catch (error) {
    return { check, state: 'problem', message: message(error), remedy: 'make the folders above accessible to you' }
  }
}

function database(check: string, file: string, knownSchema: number): Finding {
  if (!existsSync(file)) return { check, state: 'ok', message: 'not there yet; the daemon makes it' }
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
          remedy: 'run the newer version, or memoryd doctor --restore with a backup from before the upgrade',
        }
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
  const broken = files.filter((file) => !isSound(file))
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
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const megabytes = `${Math.round(free / 1e6)} MB free`
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
