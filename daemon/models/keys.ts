/**
 * The key to the model: from the environment, a file or a command of the user's, in that order. A file is read anew each
 * time, a command is run again when what it said has grown old or was refused. A key is never logged, only its fingerprint.
 */
import { hash } from 'node:crypto'
import type { Clock } from '../platform/clock.ts'
import { readPrivateFile } from '../platform/files.ts'
import { runCommand } from '../platform/process.ts'

export type Key = { kind: 'api-key' | 'token'; value: string; fingerprint: string }

/** Nothing is set, it is on its way, or something is wrong with it. */
export type NoKey = { none: 'unset' } | { none: 'pending' } | { none: 'trouble'; trouble: string; remedy: string }

export type Keys = {
  /** What is known without waiting. */
  known(): Key | NoKey
  /** Waits for the command, where there is one and its last word is old. */
  find(): Promise<Key | NoKey>
  /** The key did not open the door: a command is asked again. */
  refused(): void
  /** A command that still runs is ended. */
  stop(): void
}

type Deps = {
  env: { ANTHROPIC_API_KEY?: string | undefined; ANTHROPIC_AUTH_TOKEN?: string | undefined }
  settings: () => { apiKeyFile: string | null; apiKeyCommand: string | null }
  clock: Clock
}

const COMMAND_TIMEOUT_MS = 10_000
const COMMAND_KEEPS_MS = 5 * 60_000
/** A command that fails is not run for every question that is asked meanwhile. */
const FAILURE_KEEPS_MS = 30_000
const LONGEST_KEY = 8_192

export function createKeys({ env, settings, clock }: Deps): Keys {
  const ofEnvironment = fromEnvironment(env)
  let said: { command: string; key: Key | NoKey; untilMs: number } | undefined
  const stopping = new AbortController()
  let running: { command: string; done: Promise<Key | NoKey> } | undefined

  const ask = (command: string): Promise<Key | NoKey> => {
    if (running?.command === command) return running.done
    const limits = { clock, timeoutMs: COMMAND_TIMEOUT_MS, maxBytes: LONGEST_KEY, signal: stopping.signal }
    const done = runCommand(command, limits).then((outcome) => {
      const key =
        'output' in outcome
          ? keyOf('api-key', outcome.output, 'model.apiKeyCommand', 'it should print the key and nothing else')
          : trouble(`model.apiKeyCommand ${outcome.trouble}`, 'run it by hand to see what it says')
      const keepsMs = 'none' in key ? FAILURE_KEEPS_MS : COMMAND_KEEPS_MS
      if (running?.command === command) {
        said = { command, key, untilMs: clock.elapsed() + keepsMs }
        running = undefined
      }
      return key
    })
    running = { command, done }
    return done
  }

  const withoutCommand = (): Key | NoKey | { command: string } => {
    if (ofEnvironment) return ofEnvironment
    const { apiKeyFile, apiKeyCommand } = settings()
    if (apiKeyFile !== null) return fromFile(apiKeyFile)
    return apiKeyCommand === null ? { none: 'unset' } : { command: apiKeyCommand }
  }

  return {
    known: () => {
      const found = withoutCommand()
      if (!('command' in found)) return found
      return said?.command === found.command ? said.key : { none: 'pending' }
    },
    find: async () => {
      const found = withoutCommand()
      if (!('command' in found)) return found
      const fresh = said?.command === found.command && clock.elapsed() < said.untilMs
      return fresh && said ? said.key : ask(found.command)
    },
    refused: () => {
      said = undefined
    },
    stop: () => stopping.abort(),
  }
}

function fromEnvironment({ ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN }: Deps['env']): Key | NoKey | undefined {
  const remedy = 'set it to the key alone, or unset it'
  if (ANTHROPIC_API_KEY) return keyOf('api-key', ANTHROPIC_API_KEY, 'ANTHROPIC_API_KEY', remedy)
  return ANTHROPIC_AUTH_TOKEN ? keyOf('token', ANTHROPIC_AUTH_TOKEN, 'ANTHROPIC_AUTH_TOKEN', remedy) : undefined
}

function fromFile(path: string): Key | NoKey {
  const read = readPrivateFile(path)
  if ('trouble' in read) return trouble(`model.apiKeyFile: ${read.trouble}`, read.remedy)
  return keyOf('api-key', read.text, `model.apiKeyFile ${path}`, 'it should hold the key alone')
}

/** What cannot stand in a header is no key; what it says instead is not repeated. */
function keyOf(kind: Key['kind'], text: string, from: string, remedy: string): Key | NoKey {
  const value = text.trim()
  if (value === '') return trouble(`${from} is empty`, remedy)
  if (value.length > LONGEST_KEY) return trouble(`${from} is too long for a key`, remedy)
  if (!/^[\x21-\x7e]+$/.test(value)) return trouble(`${from} holds more than a key`, remedy)
  return { kind, value, fingerprint: fingerprintOf(value) }
}

export function fingerprintOf(key: string): string {
  return hash('sha256', key).slice(0, 16)
}

function trouble(what: string, remedy: string): NoKey {
  return { none: 'trouble', trouble: what, remedy }
}

/** Where the model is and with which key: both only from the user's own environment and configuration. */

export type Access = { key: Key; baseUrl: string }
export type NoAccess = NoKey

export type AccessFinder = {
  known(): Access | NoAccess
  find(): Promise<Access | NoAccess>
}

type AccessDeps = { keys: Keys; env: { ANTHROPIC_BASE_URL?: string | undefined }; baseUrl: () => string | null }

const USUAL_URL = 'https://api.anthropic.com'

export function createAccess({ keys, env, baseUrl }: AccessDeps): AccessFinder {
  const withPlace = (key: Key | NoKey): Access | NoAccess => {
    if ('none' in key) return key
    const from = env.ANTHROPIC_BASE_URL ? 'ANTHROPIC_BASE_URL' : 'model.baseUrl'
    const place = placeOf(env.ANTHROPIC_BASE_URL || baseUrl() || USUAL_URL)
    if ('unfit' in place) return { none: 'trouble', trouble: `${from} ${place.unfit}`, remedy: place.remedy }
    return { key, baseUrl: place.url }
  }
  return { known: () => withPlace(keys.known()), find: async () => withPlace(await keys.find()) }
}

function placeOf(text: string): { url: string } | { unfit: string; remedy: string } {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    return { unfit: 'is not the address of a server', remedy: 'it should begin with https:// or http://' }
  const { username, password } = new URL(text)
  // It would stand in every message about a failure.
  if (username || password)
    return { unfit: 'has a name or a password in it', remedy: 'leave them out; the key goes into apiKeyFile' }
  return { url: text.replace(/\/+$/, '') }
}
