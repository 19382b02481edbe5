/** Models: whether one may be asked, with which key, and providers that redact what is sent and keep to the budget. */
import { hash } from 'node:crypto'
import type { CostList } from '../../schema/job.ts'
import type { Environment } from '../../schema/rendezvous.ts'
import type { Core } from '../core.ts'
import { message, readPrivateFile } from '../platform/files.ts'
import { runCommand } from '../platform/process.ts'
import { createSender } from './anthropic.ts'
import { type Ask, createBudget, createLedger, type Grouping, type Over, type Purpose } from './budget.ts'
import {
  checkAnswer,
  failure,
  type ModelFailure,
  type ModelRequest,
  type Params,
  type Provider,
  prepare,
} from './wire.ts'

export type Models = ReturnType<typeof createModels>

const LOOK_AGAIN_MS = 30_000

export function createModels(core: Core) {
  const { settings, clock, health } = core
  const keys = createKeys(core)
  const budget = createBudget(core, createLedger(core.db.history))
  const send = createSender(clock)
  const modeListeners: (() => void)[] = []
  let last: 'online' | 'offline' | undefined

  const note = (found: Access | NoAccess): 'online' | 'offline' => {
    if ('key' in found || found.none === 'unset') health.clear('key')
    else if (found.none === 'problem') health.raise('key', `${found.problem}; ${found.remedy}`)
    const mode = 'key' in found && budget.allowed() ? 'online' : 'offline'
    const before = last
    last = mode
    if (before !== undefined && before !== mode) {
      health.announce('mode')
      for (const listener of modeListeners) listener()
    }
    return mode
  }

  const look = async () => {
    const found = keys.known()
    if ('key' in found ? last !== 'online' : found.none !== 'unset') note(await keys.find())
  }
  const looking = clock.every(LOOK_AGAIN_MS, look, (error) => health.raise('key', message(error)))

  const call = async (request: ModelRequest, purpose: Purpose, signal: AbortSignal) => {
    if (!budget.allowed()) return failure('offline', 'the budget allows for no model at all', { spent: 'nothing' })
    const access = await keys.find()
    note(access)
    if (!('key' in access)) return offline(access)
    const params = await prepare(request)
    const ask = askOf(params)
    if ('failed' in ask) return ask
    const idleMs = settings.current().model.idleSeconds * 1_000
    const result = await budget.spend({ ...purpose, ...ask }, async () =>
      checkAnswer(await send(params, { access, idleMs, signal }), request.outputSchema),
    )
    if ('over' in result)
      return failure('budget', `${moneyOf(result)} are used up, or would be by this call`, {
        untilMs: result.untilMs,
        spent: 'nothing',
      })
    if (!('failed' in result)) return result
    if (result.failed === 'auth') keys.refused()
    // A server may repeat the key in its message, which is shown to the user and kept with the job.
    return { ...result, message: result.message.replaceAll(access.key.value, '[key]') }
  }

  return {
    mode: () => note(keys.known()),
    waits: (): { postponed: string; untilMs?: number } | undefined => {
      if (note(keys.known()) === 'offline') return { postponed: 'offline' }
      const over = budget.usedUp()
      return over && { postponed: `${moneyOf(over)} are used up`, untilMs: over.untilMs }
    },
    door: () => {
      const found = keys.known()
      return 'key' in found ? { baseUrl: found.baseUrl, fingerprint: found.key.fingerprint } : undefined
    },
    provider: (purpose: Purpose): Provider => ({ call: (request, { signal }) => call(request, purpose, signal) }),
    budget: budget.budget,
    cost: (by: Grouping, days: number): CostList => ({ ...budget.cost(by, days), today: budget.budget() }),
    refresh: async (): Promise<void> => void note(await keys.find()),
    onModeChange: (listener: () => void) => void modeListeners.push(listener),
    stop: (): void => {
      looking.stop()
      keys.stop()
    },
  }
}

/** The parameters of a harness are hostile input: a wrong limit must not become a cost of nothing. */
function askOf(params: Params): Omit<Ask, keyof Purpose> | ModelFailure {
  const { model, max_tokens: maxTokens } = params as { model: unknown; max_tokens: unknown }
  if (typeof model !== 'string' || typeof maxTokens !== 'number' || !Number.isSafeInteger(maxTokens) || maxTokens < 1)
    return failure('bad-request', 'a request needs a model and a limit of output', { spent: 'nothing' })
  const text = JSON.stringify(params)
  return { model, maxTokens, bytes: Buffer.byteLength(text), kept: keptFor(text) }
}

/** For the most a call can cost, all of it counts as written to the cache. */
function keptFor(params: string): Ask['kept'] {
  if (!params.includes('"cache_control"')) return undefined
  return params.includes('"ttl":"1h"') ? '1h' : '5m'
}

function offline(found: NoAccess): ModelFailure {
  const why = found.none === 'problem' ? `${found.problem}; ${found.remedy}` : 'there is no key to a model'
  return failure('offline', why, { spent: 'nothing' })
}

function moneyOf({ over }: Over): string {
  return `the day's ${over === 'usd' ? 'dollars' : 'tokens'}`
}

type Key = { kind: 'api-key' | 'token'; value: string; fingerprint: string }

export type Access = { key: Key; baseUrl: string }
export type NoAccess = { none: 'unset' } | { none: 'pending' } | { none: 'problem'; problem: string; remedy: string }

const COMMAND_TIMEOUT_MS = 10_000
const COMMAND_KEEPS_MS = 5 * 60_000
const FAILURE_KEEPS_MS = 30_000
const LONGEST_KEY = 8_192
const USUAL_URL = 'https://api.anthropic.com'

/** From the environment, a file or a command of the user's, in that order. Only the fingerprint of a key is ever logged. */
export function createKeys({ env, settings, clock }: Core) {
  const ofEnvironment = fromEnvironment(env)
  const stopping = new AbortController()
  let printed: { command: string; key: Key | NoAccess; untilMs: number } | undefined
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
        printed = { command, key, untilMs: clock.elapsed() + keepsMs }
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

  const withUrl = (key: Key | NoAccess): Access | NoAccess => {
    if ('none' in key) return key
    const from = env.ANTHROPIC_BASE_URL ? 'ANTHROPIC_BASE_URL' : 'model.baseUrl'
    const server = serverAt(env.ANTHROPIC_BASE_URL || settings.current().model.baseUrl || USUAL_URL)
    return 'unfit' in server ? problem(`${from} ${server.unfit}`, server.remedy) : { key, baseUrl: server.url }
  }

  return {
    known: (): Access | NoAccess => {
      const found = withoutCommand()
      if (!('command' in found)) return withUrl(found)
      return printed?.command === found.command ? withUrl(printed.key) : { none: 'pending' }
    },
    find: async (): Promise<Access | NoAccess> => {
      const found = withoutCommand()
      if (!('command' in found)) return withUrl(found)
      const isFresh = printed?.command === found.command && clock.elapsed() < printed.untilMs
      return withUrl(isFresh && printed ? printed.key : await ask(found.command))
    },
    refused: (): void => {
      printed = undefined
    },
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

/** What cannot stand in a header is no key. Its text is not repeated. */
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
  if (username || password)
    return { unfit: 'has a name or a password in it', remedy: 'leave them out; the key goes into apiKeyFile' }
  return { url: text.replace(/\/+$/, '') }
}
