/** A fork as the daemon puts it together: the real SDK against the scripted server, the real gate, a real store. */
import { type CacheWatch, createCacheWatch } from '../../daemon/agent/cache-watch.ts'
import { createForks, type Task } from '../../daemon/agent/fork.ts'
import type { Said } from '../../daemon/agent/message-text.ts'
import { renderedPrefix } from '../../daemon/agent/prefix.ts'
import { createRendering } from '../../daemon/agent/rendering.ts'
import { costInNanos, factsOf } from '../../daemon/llm/models.ts'
import { redactSecrets } from '../../daemon/secrets/redact.ts'
import { createRenderings } from '../../daemon/store/renderings.ts'
import { ask } from '../llm/asking.ts'
import type { Options } from '../support/messages-api/server.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'
import { agentGround } from './rig.ts'

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
  const redact = async (text: string) => (await redactSecrets(text)).text
  const { clock } = ground
  const cacheWatch: CacheWatch = createCacheWatch({ clock })
  const rendering = createRendering({
    renderings: createRenderings(ground.store.history),
    redact,
    clock,
    onBreak: ({ session }, because) => cacheWatch.announce(session, because),
  })
  const fork = createForks({
    call: (request, { signal }) => ask(api.url, request, { signal, clock, redact: redactSecrets }),
    cacheWatch,
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
  const prefixOf = async (messages: readonly Said[], model = MODEL) =>
    renderedPrefix(
      { key: 's', model, keep: '1h' },
      await rendering.render({ key: { harness: 'h', session: 's' }, messages, notes: () => 'notes' }),
    )
  const abort = new AbortController()
  const run = (task: Pick<Task, 'prefix'> & Partial<Task>) =>
    fork({
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
  return { ...ground, api, logged, denied, cacheWatch, rendering, prefixOf, run, abort }
}
