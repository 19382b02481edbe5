/** Models: whether one may be asked, and providers that redact what is sent and keep to the budget. */
import type { CostList } from '../../schema/job.ts'
import type { Core } from '../core.ts'
import { message } from '../platform/files.ts'
import { createSender } from './anthropic.ts'
import { type Ask, createBudget, createLedger, type Grouping, type Over, type Purpose } from './budget.ts'
import { type Access, createKeys, type NoAccess } from './keys.ts'
import {
  checkAnswer,
  failure,
  type ModelFailure,
  type ModelRequest,
  type Prepared,
  type Provider,
  prepare,
  type SentTools,
} from './wire.ts'

export type Models = ReturnType<typeof createModels>

const LOOK_AGAIN_MS = 30_000

export function createModels(core: Core) {
  const { settings, clock, health } = core
  const keys = createKeys(core)
  const budget = createBudget(core, createLedger(core.db.history))
  const send = createSender(clock)
  const sentTools: SentTools = new WeakMap()
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
  // A key may come later: a keychain that was locked, a file that is being made, a command that is asked once more.
  const looking = clock.every(LOOK_AGAIN_MS, look, (error) => health.raise('key', message(error)))

  const call = async (request: ModelRequest, purpose: Purpose, signal: AbortSignal) => {
    if (!budget.allowed()) return failure('offline', 'the budget allows for no model at all', { spent: 'nothing' })
    const access = await keys.find()
    note(access)
    if (!('key' in access)) return offline(access)
    const prepared = await prepare(request, sentTools)
    const ask = askOf(prepared)
    if ('failed' in ask) return ask
    const idleMs = settings.current().model.idleSeconds * 1_000
    const asked = async () =>
      checkAnswer(await send(prepared.params, { access, idleMs, signal }), prepared.outputSchema)
    const result = await budget.spend({ ...purpose, ...ask }, asked)
    if ('over' in result) return over(result)
    if (!('failed' in result)) return result
    if (result.failed === 'auth') keys.refused()
    // A server may repeat what it was sent, and the message of a failure is shown to the user and kept with the job.
    return { ...result, message: result.message.replaceAll(access.key.value, '[key]') }
  }

  return {
    mode: () => note(keys.known()),
    /** Why no model may be asked just now. */
    waits: (): { postponed: string; untilMs?: number } | undefined => {
      if (note(keys.known()) === 'offline') return { postponed: 'offline' }
      const over = budget.usedUp()
      return (
        over && {
          postponed: `the day's ${over.over === 'usd' ? 'dollars' : 'tokens'} are used up`,
          untilMs: over.untilMs,
        }
      )
    },
    /** Where requests go and the fingerprint of the key they go with; undefined when offline. */
    door: (): { baseUrl: string; fingerprint: string } | undefined => {
      const found = keys.known()
      return 'key' in found ? { baseUrl: found.baseUrl, fingerprint: found.key.fingerprint } : undefined
    },
    provider: (purpose: Purpose): Provider => ({ call: (request, { signal }) => call(request, purpose, signal) }),
    budget: budget.budget,
    cost: (by: Grouping, days: number): CostList => ({ ...budget.cost(by, days), today: budget.budget() }),
    /** Something may have changed: looks again, and runs the user's command for the key where there is one. */
    refresh: async (): Promise<void> => void note(await keys.find()),
    onModeChange: (listener: () => void) => void modeListeners.push(listener),
    stop: (): void => {
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
  const why = found.none === 'problem' ? `${found.problem}; ${found.remedy}` : 'there is no key to a model'
  return failure('offline', why, { spent: 'nothing' })
}

function over({ over, untilMs }: Over): ModelFailure {
  const what = over === 'usd' ? 'dollars' : 'tokens'
  return failure('budget', `the day's ${what} are used up, or would be by this call`, { untilMs, spent: 'nothing' })
}
