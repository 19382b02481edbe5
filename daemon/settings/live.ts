/** The settings in force: read from the file, reloaded when it changes, the last good ones kept when it is wrong. */
import { readFileSync, statSync } from 'node:fs'
import { MemoryError } from '../../schema/errors.ts'
import type { Environment } from '../../schema/rendezvous.ts'
import { parseSettings } from './parse.ts'
import type { Settings } from './settings.ts'

export type LiveSettings = {
  current(): Settings
  /** Called with the new settings after a reload that changed them. */
  onChange(listener: (settings: Settings) => void): void
  /** Reads the file again. Refusal keeps what was in force. */
  reload(): { outcome: 'changed' | 'unchanged' } | { outcome: 'refused'; error: MemoryError }
}

const LARGEST_FILE_BYTES = 1_000_000

/** Throws when the very first read is refused: starting with defaults could ignore a privacy or money setting. */
export function loadSettings(file: string, env: Environment, home: string): LiveSettings {
  let current = readSettings(file, env, home)
  const listeners: ((settings: Settings) => void)[] = []
  return {
    current: () => current,
    onChange: (listener) => void listeners.push(listener),
    reload: () => {
      try {
        const next = readSettings(file, env, home)
        if (JSON.stringify(next) === JSON.stringify(current)) return { outcome: 'unchanged' }
        current = next
        for (const listener of listeners) listener(next)
        return { outcome: 'changed' }
      } catch (error) {
        // Whatever a file does to us, the settings before it stay in force.
        const words = error instanceof MemoryError ? error : new MemoryError('SETUP', `${file}: ${String(error)}`)
        return { outcome: 'refused', error: words }
      }
    },
  }
}

export function readSettings(file: string, env: Environment, home: string): Settings {
  const parsed = parseSettings(readText(file), { env, home })
  if ('settings' in parsed) return parsed.settings
  throw new MemoryError('SETUP', `${file} is not a valid configuration:\n${indent(parsed.problems)}`, {
    hint: `correct it, or move it away to use the defaults; every key is described in schema/config.schema.json`,
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

/** The user, root, and root as it is seen from inside a user service, where its files belong to nobody. */
function trustedOwners(): number[] {
  const NOBODY = 65_534
  return [process.getuid?.() ?? -1, 0, NOBODY]
}

function indent(lines: string[]): string {
  return lines
    .flatMap((line) => line.split('\n'))
    .map((line) => `  ${line}`)
    .join('\n')
}
