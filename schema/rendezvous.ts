/** Where daemon and clients meet: versions, headers, the places derived from the environment, and the file that names the daemon. */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MemoryError } from './errors.ts'

/** Raised when an old client could misread an answer; added fields do not count. */
export const PROTOCOL = 1
export const PROTOCOL_HEADER = 'x-memoryd-protocol'

/** sockaddr_un holds 104 bytes on macOS, one of them the closing NUL; Node cuts longer paths without a word. */
export const MAX_SOCKET_BYTES = 103

/** Variables of other programs that settings depend on; a service is given them when it is installed. */
export const settingsVariables = ['CLAUDE_CONFIG_DIR'] as const

export type Environment = Record<string, string | undefined>

export type Places = { home: string; configFile: string; stateDir: string; socketPath: string; logFile: string }

/** Relative XDG values are ignored, as the XDG rules ask. */
export function findPlaces(env: Environment): Places {
  const home = findHome(env)
  const xdg = (name: string, fallback: string) => {
    const value = env[name]
    return value && isAbsolute(value) ? value : fallback
  }
  const own = (name: string) => {
    const value = env[name]
    if (!value) return undefined
    if (isAbsolute(value) && !value.includes('\0')) return value
    throw new MemoryError('SETUP', `${name} must be an absolute path, got ${JSON.stringify(value)}`, {
      hint: `unset ${name} or give it a path that starts with /`,
    })
  }

  const configFile =
    own('MEMORYD_CONFIG') ?? join(xdg('XDG_CONFIG_HOME', join(home, '.config')), 'memoryd', 'config.json')
  const stateDir = own('MEMORYD_STATE_DIR') ?? join(xdg('XDG_STATE_HOME', join(home, '.local', 'state')), 'memoryd')
  const runtimeDir = xdg('XDG_RUNTIME_DIR', '')
  const socketPath =
    own('MEMORYD_SOCKET') ?? (runtimeDir ? join(runtimeDir, 'memoryd', 'memoryd.sock') : join(stateDir, 'memoryd.sock'))

  const bytes = Buffer.byteLength(socketPath)
  if (bytes > MAX_SOCKET_BYTES)
    throw new MemoryError('SETUP', `the socket path is ${bytes} bytes long, at most ${MAX_SOCKET_BYTES} work`, {
      hint: `set MEMORYD_SOCKET to a shorter path than ${socketPath}`,
    })
  return { home, configFile, stateDir, socketPath, logFile: join(stateDir, 'logs', 'memoryd.log') }
}

function findHome(env: Environment): string {
  const home = env.HOME || homeOfUser()
  if (home && isAbsolute(home)) return home
  const problem = home ? `HOME must be an absolute path, got ${JSON.stringify(home)}` : 'HOME is not set'
  throw new MemoryError('SETUP', problem, { hint: 'set HOME to your home folder' })
}

function homeOfUser(): string | undefined {
  try {
    return homedir()
  } catch {
    return undefined
  }
}

export const HOLDER_FILE = 'daemon.json'

export type Holder = { pid: number; version: string; socket: string; startedAt: string }

/** Undefined for a torn or foreign file. */
export function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, version, socket, startedAt } = JSON.parse(text) as Holder
    const isWhole = [version, socket, startedAt].every((each) => typeof each === 'string')
    return isWhole && Number.isInteger(pid) && pid > 0 ? { pid, version, socket, startedAt } : undefined
  } catch {
    return undefined
  }
}

/** The version in package.json: one folder up from `schema/` as from `dist/`. */
export function configSchemaFile(): string {
  return fileURLToPath(new URL('../schema/config.schema.json', import.meta.url))
}

export function readVersion(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}
