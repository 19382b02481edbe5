/** The settings in force: read from the file, reloaded when it changes, the last good ones kept when it is wrong. */
import { readFileSync, statSync } from 'node:fs'
import { MemoryError } from '../../schema/errors.ts'
import { configSchemaFile, type Environment } from '../../schema/rendezvous.ts'
import type { Clock } from '../platform/clock.ts'
import type { Health } from '../platform/health.ts'
import type { Log } from '../platform/log.ts'
import { createWatch, watchRemedy } from '../platform/watch.ts'
import { parseSettings } from './parse.ts'
import type { Settings } from './settings.ts'

type Reloaded = { outcome: 'changed' | 'unchanged' } | { outcome: 'refused'; error: MemoryError }

const LARGEST_FILE_BYTES = 1_000_000
/** An editor's save is over by then. */
const QUIET_MS = 100
const LONGEST_MS = 1_000

/** Throws when the very first read is refused: starting with defaults could ignore a privacy or money setting. */
export function loadSettings(file: string, env: Environment, home: string) {
  let current = readSettings(file, env, home)
  const afterReload: ((reloaded: Reloaded) => void)[] = []
  const afterChange: ((settings: Settings) => void)[] = []

  const readAgain = (): Reloaded => {
    try {
      const next = readSettings(file, env, home)
      if (JSON.stringify(next) === JSON.stringify(current)) return { outcome: 'unchanged' }
      current = next
      return { outcome: 'changed' }
    } catch (error) {
      if (error instanceof MemoryError) return { outcome: 'refused', error }
      return { outcome: 'refused', error: new MemoryError('SETUP', `${file}: ${String(error)}`) }
    }
  }

  return {
    file,
    current: () => current,
    onReload: (listener: (reloaded: Reloaded) => void) => void afterReload.push(listener),
    onChange: (listener: (settings: Settings) => void) => void afterChange.push(listener),
    reload: () => {
      const reloaded = readAgain()
      for (const listener of afterReload) listener(reloaded)
      if (reloaded.outcome === 'changed') for (const listener of afterChange) listener(current)
      return reloaded
    },
  }
}

export type LiveSettings = ReturnType<typeof loadSettings>

/** Takes up a changed configuration while the daemon runs; a refused one is a condition. */
export function watchSettings(settings: LiveSettings, clock: Clock, health: Health, log: Log) {
  const { file } = settings
  settings.onReload((reloaded) => {
    if (reloaded.outcome === 'refused')
      return health.raise('config', `${reloaded.error.message}\nThe settings before it stay in force.`)
    health.clear('config')
    if (reloaded.outcome === 'changed') log.info({ file }, 'settings reloaded')
  })
  const watch = createWatch({
    clock,
    depth: 0,
    quietMs: QUIET_MS,
    longestMs: LONGEST_MS,
    onChange: settings.reload,
    onFailure: (failure) => {
      if (failure) log.warn({ file }, `changed settings are taken up on SIGHUP only: ${watchRemedy(failure)}`)
    },
  })
  // For what was saved while the watch began.
  void watch.set([file]).then(settings.reload)
  return { stop: watch.stop }
}

export function readSettings(file: string, env: Environment, home: string): Settings {
  const parsed = parseSettings(readText(file), { env, home })
  if ('settings' in parsed) return parsed.settings
  const problems = parsed.problems.join('\n').replaceAll('\n', '\n  ')
  throw new MemoryError('SETUP', `${file} is not a valid configuration:\n  ${problems}`, {
    hint: `correct it, or move it away to use the defaults; every key is described in ${configSchemaFile()}`,
  })
}

/** An absent file is an empty one. The file may name commands to run, so it must be one that only the user writes. */
function readText(file: string): string {
  const refuse = (problem: string, hint: string, cause?: unknown) =>
    new MemoryError('SETUP', `the configuration ${file} ${problem}`, { hint, cause })
  try {
    const stats = statSync(file, { throwIfNoEntry: false })
    if (!stats) return '{}'
    if (!stats.isFile()) throw refuse('is not a file', 'move it away')
    if (stats.size > LARGEST_FILE_BYTES) throw refuse(`is ${stats.size} bytes long`, 'it should be a few kilobytes')
    if (!trustedOwners().includes(stats.uid))
      throw refuse(`belongs to uid ${stats.uid}`, 'it must belong to you, since it may name commands to run')
    // Many systems give every user a group of their own and new files to that group: such a file is still the user's.
    const othersWrite = stats.mode & 0o002 || (stats.mode & 0o020 && stats.gid !== process.getgid?.())
    if (othersWrite) throw refuse('can be written by others', `chmod 600 ${file}`)
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
  } catch (cause) {
    if (cause instanceof MemoryError) throw cause
    throw refuse(`cannot be read: ${(cause as Error).message}`, 'make it readable for you', cause)
  }
}

/** The user, root, and root as seen from inside a user service, where its files belong to the overflow uid. */
function trustedOwners(): number[] {
  const OVERFLOW_UID = 65_534
  return [process.getuid?.() ?? -1, 0, OVERFLOW_UID]
}
