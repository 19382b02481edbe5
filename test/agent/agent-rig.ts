/** Runs as the daemon makes them: the real SDK against the scripted server, the real memory writer, a real core. */
import { createAgentRunner, type Task } from '../../daemon/agent/agent.ts'
import type { SessionMessage } from '../../daemon/agent/rendering.ts'
import { createModels } from '../../daemon/models/models.ts'
import { createMessageTable } from '../../daemon/sessions/message-table.ts'
import type { Options } from '../support/messages-api/server.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'
import { agentGround } from './rig.ts'

export const key = { harness: 'h', sessionId: 's' }
export const MODEL = 'claude-haiku-5-5'

export function said(n: number, text = `Message ${n}: ${'some words of it '.repeat(60)}`): SessionMessage {
  const who = n % 2 === 1 ? { by: 'person' as const, startsTurn: true as const } : { by: 'agent' as const }
  return { id: `u${n}`, text, toolCalls: [], toolResults: [], at: Date.UTC(2026, 0, 1), ...who }
}
export const conversation = (count: number) => Array.from({ length: count }, (_, n) => said(n + 1))

export async function agentRig(options: Options = {}, prefix: 'rendered' | 'harness' = 'rendered') {
  const api = await startMessagesApi(options)
  const ground = await agentGround({
    settings: { extraction: { prefix } },
    env: { ANTHROPIC_API_KEY: 'test-key', ANTHROPIC_BASE_URL: api.url },
  })
  const { core, task } = ground
  const models = createModels(core)
  const agent = createAgentRunner(core, models, createMessageTable(core.db.index))
  const shared = (messages: readonly SessionMessage[], model = MODEL) =>
    agent.prefixOf({ key, model, notes: () => 'notes' }, messages, '1h')
  const prefixOf = async (messages: readonly SessionMessage[], model = MODEL) => (await shared(messages, model)).prefix
  const abort = new AbortController()
  const run = (more: Pick<Task, 'prefix'> & Partial<Task>) => agent.run({ ...task, signal: abort.signal, ...more })
  return { ...ground, api, models, agent, shared, prefixOf, run, abort }
}
