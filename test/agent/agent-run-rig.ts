/** A fork as the daemon puts it together: the real SDK against the scripted server, the real gate, a real store. */
import { createAgent } from '../../daemon/agent/agent.ts'
import type { Task } from '../../daemon/agent/agent-run.ts'
import type { Own } from '../../daemon/agent/prefix.ts'
import type { Said } from '../../daemon/agent/rendering.ts'
import { fingerprintOf } from '../../daemon/models/keys.ts'
import { costInNanos, factsOf } from '../../daemon/models/models.ts'
import { redact as redactText } from '../../daemon/secrets/redact.ts'
import { ask } from '../models/asking.ts'
import type { Options } from '../support/messages-api/server.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'
import { agentGround } from './rig.ts'

export const key = { harness: 'h', session: 's' }
export const MODEL = 'claude-haiku-5-5'

export function said(n: number, text = `Message ${n}: ${'some words of it '.repeat(60)}`): Said {
  const who = n % 2 === 1 ? { by: 'person' as const, startsTurn: true as const } : { by: 'agent' as const }
  return { id: `u${n}`, text, toolCalls: [], toolResults: [], at: Date.UTC(2026, 0, 1), ...who }
}
export const conversation = (count: number) => Array.from({ length: count }, (_, n) => said(n + 1))

export async function forkRig(options: Options = {}) {
  const ground = agentGround()
  const api = await startMessagesApi(options)
  const logged: unknown[] = []
  const denied: unknown[] = []
  const redact = async (text: string) => (await redactText(text)).text
  const { clock } = ground
  const own: Own = { prefix: 'rendered', endpoint: api.url, fingerprint: fingerprintOf('test-key') }
  const purposes: unknown[] = []
  const agent = createAgent({
    history: ground.store.history,
    provider: (purpose) => {
      purposes.push(purpose)
      return { call: (request, { signal }) => ask(api.url, request, { signal, clock, redact: redactText }) }
    },
    own: () => own,
    clock,
    searchPath: '/usr/bin:/bin',
    redact,
    priceOf: (model, usage) => {
      const nanos = costInNanos(usage, factsOf(model))
      return nanos === undefined ? undefined : nanos / 1e9
    },
    log: (facts) => logged.push(facts),
    onDenied: (facts) => denied.push(facts),
  })
  const told = (messages: readonly Said[], model = MODEL) =>
    agent.told({ key, messages, notes: () => 'notes', model, keep: '1h' })
  const prefixOf = async (messages: readonly Said[], model = MODEL) => (await told(messages, model)).prefix
  const abort = new AbortController()
  const run = (task: Pick<Task, 'prefix'> & Partial<Task>) =>
    agent.run({
      job: 'extraction',
      directive: 'Save what matters.',
      policy: { may: 'memory' },
      reach: ground.reach,
      limits: { turns: 5, outputTokens: 20_000, wallMs: 60_000 },
      maxTokens: 4_000,
      atTurnLimit: 'apply',
      check: ground.check,
      cite: (ids) => ({
        evidence: ids.map((id) => ({ sessionId: 's', messageIds: [id], excerpt: '', at: '2026-01-01T00:00:00.000Z' })),
      }),
      apply: (drafts) => ground.gate.apply(ground.memory, drafts, ground.by),
      stillOurs: () => true,
      signal: abort.signal,
      ...task,
    })
  return { ...ground, api, logged, denied, purposes, agent, own, told, prefixOf, run, abort }
}
