/**
 * The key to the model and the server it is for: from the environment, a file or a command of the user's, in that order. A file is
 * read each time, a command is run again when its answer is old or was refused. Only the fingerprint of a key is ever logged.
 */
import { hash } from 'node:crypto'
import type { Environment } from '../../schema/rendezvous.ts'
import type { Core } from '../core.ts'
import { readPrivateFile } from '../platform/files.ts'
import { runCommand } from '../platform/process.ts'

export type Key = { kind: 'api-key' | 'token'; value: string; fingerprint: string }

/** Where the model is and with which key. */
export type Access = { key: Key; baseUrl: string }
/** Nothing is set, it is on its way, or something is wrong with it. */
export type NoAccess = { none: 'unset' } | { none: 'pending' } | { none: 'problem'; problem: string; remedy: string }

const COMMAND_TIMEOUT_MS = 10_000
const COMMAND_KEEPS_MS = 5 * 60_000
/** A command that fails is not run for every question that is asked meanwhile. */
const FAILURE_KEEPS_MS = 30_000
const LONGEST_KEY = 8_192
const USUAL_URL = 'https://api.anthropic.com'

export function createKeys({ env, settings, clock }: Core) {
  const ofEnvironment = fromEnvironment(env)
  let said: { command: string; key: Key | NoAccess; untilMs: number } | undefined
  const stopping = new AbortController()
  let running: { command: string; done: Promise<Key | NoAccess> } | undefined

  const ask = (command: string): Promise<Key | NoAccess> => {
    if (running?.command === command) return running.done
    const limits = { clock, timeoutMs: COMMAND_TIMEOUT_MS, maxBytes: LONGEST_KEY, signal: stopping.signal }
    const done = runCommand(command, limits).then((outcome) => {
      const key =
        'output' in outcome
          ? keyOf('api-key', outcome.output, 'model.apiKeyCommand', 'it should print the key and nothing else')
          : problem(`model.apiKeyCommand ${outcome.trouble}`, 'run it by hand to see what it says')
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

  const withoutCommand = (): Key | NoAccess | { command: string } => {
    if (ofEnvironment) return ofEnvironment
    const { apiKeyFile, apiKeyCommand } = settings.current().model
    if (apiKeyFile !== null) return fromFile(apiKeyFile)
    return apiKeyCommand === null ? { none: 'unset' } : { command: apiKeyCommand }
  }

  const known = (): Key | NoAccess => {
    const found = withoutCommand()
    if (!('command' in found)) return found
    return said?.command === found.command ? said.key : { none: 'pending' }
  }
  const find = async (): Promise<Key | NoAccess> => {
    const found = withoutCommand()
    if (!('command' in found)) return found
    const fresh = said?.command === found.command && clock.elapsed() < said.untilMs
    return fresh && said ? said.key : ask(found.command)
  }
  const withUrl = (key: Key | NoAccess): Access | NoAccess => {
    if ('none' in key) return key
    const from = env.ANTHROPIC_BASE_URL ? 'ANTHROPIC_BASE_URL' : 'model.baseUrl'
    const server = serverAt(env.ANTHROPIC_BASE_URL || settings.current().model.baseUrl || USUAL_URL)
    return 'unfit' in server ? problem(`${from} ${server.unfit}`, server.remedy) : { key, baseUrl: server.url }
  }

  return {
    /** What is known without waiting. */
    known: () => withUrl(known()),
    /** Waits for the command, where there is one and its last answer is old. */
    find: async () => withUrl(await find()),
    /** The server refused the key: a command is asked again. */
    refused: (): void => {
      said = undefined
    },
    /** Ends a command that still runs. */
    stop: () => stopping.abort(),
  }
}

function fromEnvironment({ ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN }: Environment): Key | NoAccess | undefined {
  const remedy = 'set it to the key alone, or unset it'
  if (ANTHROPIC_API_KEY) return keyOf('api-key', ANTHROPIC_API_KEY, 'ANTHROPIC_API_KEY', remedy)
  return ANTHROPIC_AUTH_TOKEN ? keyOf('token', ANTHROPIC_AUTH_TOKEN, 'ANTHROPIC_AUTH_TOKEN', remedy) : undefined
}

function fromFile(path: string): Key | NoAccess {
  const read = readPrivateFile(path)
  if ('trouble' in read) return problem(`model.apiKeyFile: ${read.trouble}`, read.remedy)
  return keyOf('api-key', read.text, `model.apiKeyFile ${path}`, 'it should hold the key alone')
}

/** What cannot stand in a header is no key; what it says instead is not repeated. */
function keyOf(kind: Key['kind'], text: string, from: string, remedy: string): Key | NoAccess {
  const value = text.trim()
  if (value === '') return problem(`${from} is empty`, remedy)
  if (value.length > LONGEST_KEY) return problem(`${from} is too long for a key`, remedy)
  if (!/^[\x21-\x7e]+$/.test(value)) return problem(`${from} holds more than a key`, remedy)
  return { kind, value, fingerprint: fingerprintOf(value) }
}

export function fingerprintOf(key: string): string {
  return hash('sha256', key).slice(0, 16)
}

function problem(what: string, remedy: string): NoAccess {
  return { none: 'problem', problem: what, remedy }
}

function serverAt(text: string): { url: string } | { unfit: string; remedy: string } {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    return { unfit: 'is not the address of a server', remedy: 'it should begin with https:// or http://' }
  const { username, password } = new URL(text)
  // It would stand in every message about a failure.
  if (username || password)
    return { unfit: 'has a name or a password in it', remedy: 'leave them out; the key goes into apiKeyFile' }
  return { url: text.replace(/\/+$/, '') }
}
