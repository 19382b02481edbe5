/** The model as the rest of the daemon sees it: online or not, and whoever asks gets a provider that minds the budget. */
import type { Clock } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import { createTurns } from '../platform/queue.ts'
import type { Sender } from './anthropic.ts'
import { type Ask, type Caps, createMoney, type Ledger, type Money, type Over, type Purpose } from './budget.ts'
import { type Access, createAccess, createKeys, type NoAccess } from './keys.ts'
import type { OwnModels } from './prices.ts'
import {
  failure,
  judged,
  type ModelFailure,
  type ModelRequest,
  type Prepared,
  type Provider,
  prepare,
  type Redact,
  type SentTools,
  supportedSchema,
} from './wire.ts'

export type Model = Pick<Money, 'budget' | 'totals'> & {
  mode(): 'online' | 'offline'
  /** Why whoever needs a model has to wait just now. */
  waits(): { wait: string; untilMs?: number } | undefined
  /** Where questions go and the fingerprint of the key they go with; undefined when offline. */
  door(): { baseUrl: string; fingerprint: string } | undefined
  provider(purpose: Purpose): Provider
  /** Something may have changed: looks anew, and runs the user's command for the key where there is one. */
  refresh(): Promise<void>
  stop(): void
}

type Deps = {
  env: Partial<Record<'ANTHROPIC_API_KEY' | 'ANTHROPIC_AUTH_TOKEN' | 'ANTHROPIC_BASE_URL', string | undefined>>
  settings: () => {
    model: { baseUrl: string | null; apiKeyFile: string | null; apiKeyCommand: string | null; idleSeconds: number }
    budget: Caps
    models: OwnModels
  }
  ledger: Ledger
  send: Sender
  clock: Clock
  redact: Redact
  /** A key was meant to be there and cannot be used; undefined once that is over. */
  onTrouble(trouble: string | undefined): void
  onModeChange(): void
}

const LOOK_AGAIN_MS = 30_000

export function createModel({ env, settings, ledger, send, clock, redact, onTrouble, onModeChange }: Deps): Model {
  const keys = createKeys({ env, settings: () => settings().model, clock })
  const access = createAccess({ keys, env, baseUrl: () => settings().model.baseUrl })
  const money = createMoney({ ledger, clock, caps: () => settings().budget, models: () => settings().models })
  const sentTools: SentTools = new WeakMap()
  let last: 'online' | 'offline' | undefined

  const look = async () => {
    const found = access.known()
    if ('key' in found ? last === 'online' : found.none === 'unset') return
    note(await access.find())
  }
  // A key may come later: a keychain that was locked, a file that is being made, a command that is asked once more.
  const looking = clock.every(LOOK_AGAIN_MS, look, (error) => onTrouble(message(error)))

  const note = (found: Access | NoAccess) => {
    if ('key' in found) onTrouble(undefined)
    else if (found.none === 'trouble') onTrouble(`${found.trouble}; ${found.remedy}`)
    else if (found.none === 'unset') onTrouble(undefined)
    const mode = 'key' in found && money.allowed() ? 'online' : 'offline'
    const before = last
    last = mode
    if (before !== undefined && before !== mode) onModeChange()
    return mode
  }

  const call = async (request: ModelRequest, purpose: Purpose, signal: AbortSignal) => {
    if (!money.allowed()) return failure('offline', 'the budget allows for no model at all', { spent: 'nothing' })
    const found = await access.find()
    note(found)
    if (!('key' in found)) return offline(found)
    const turns = createTurns()
    const inTurns: Redact = async (text) => {
      await turns(text.length)
      return redact(text)
    }
    const prepared = await prepare(request, { redact: inTurns, supportedSchema, sentTools })
    const ask = askOf(prepared)
    if ('failed' in ask) return ask
    const idleMs = settings().model.idleSeconds * 1_000
    const asked = async () =>
      judged(await send(prepared.params, { access: found, idleMs, signal }), prepared.outputSchema)
    const result = await money.spend({ ...purpose, ...ask }, asked)
    if ('over' in result) return over(result)
    if (!('failed' in result)) return result
    if (result.failed === 'auth') keys.refused()
    // A server may say back what it was sent, and what a failure says is shown to people and kept with the job.
    return { ...result, message: result.message.replaceAll(found.key.value, '[key]') }
  }

  return {
    mode: () => note(access.known()),
    waits: () => {
      if (note(access.known()) === 'offline') return { wait: 'offline' }
      const over = money.usedUp()
      return (
        over && { wait: `the day's ${over.over === 'usd' ? 'dollars' : 'tokens'} are used up`, untilMs: over.untilMs }
      )
    },
    door: () => {
      const found = access.known()
      return 'key' in found ? { baseUrl: found.baseUrl, fingerprint: found.key.fingerprint } : undefined
    },
    provider: (purpose) => ({ call: (request, { signal }) => call(request, purpose, signal) }),
    budget: money.budget,
    totals: money.totals,
    refresh: async () => {
      note(await access.find())
    },
    stop: () => {
      looking.stop()
      keys.stop()
    },
  }
}

/** What a harness handed over is as hostile as any input: a limit that is none must not become a cost of nothing. */
function askOf({ params }: Prepared): Omit<Ask, keyof Purpose> | ModelFailure {
  const { model, max_tokens: maxTokens } = params as { model: unknown; max_tokens: unknown }
  if (typeof model !== 'string' || typeof maxTokens !== 'number' || !Number.isSafeInteger(maxTokens) || maxTokens < 1)
    return failure('bad-request', 'a request needs a model and a limit of output', { spent: 'nothing' })
  const text = JSON.stringify(params)
  return { model, maxTokens, bytes: Buffer.byteLength(text), kept: keptFor(text) }
}

/** Where a mark is, everything up to it is written to the cache; how far that is does not matter for the most of it. */
function keptFor(params: string): Ask['kept'] {
  if (!params.includes('"cache_control"')) return undefined
  return params.includes('"ttl":"1h"') ? '1h' : '5m'
}

function offline(found: NoAccess): ModelFailure {
  const why = found.none === 'trouble' ? `${found.trouble}; ${found.remedy}` : 'there is no key to a model'
  return failure('offline', why, { spent: 'nothing' })
}

function over({ over, untilMs }: Over): ModelFailure {
  const what = over === 'usd' ? 'dollars' : 'tokens'
  return failure('budget', `the day's ${what} are used up, or would be by this call`, { untilMs, spent: 'nothing' })
}
