/** The real SDK against the scripted server, as the daemon puts it together. */

import { createSender } from '../../daemon/models/anthropic.ts'
import { type Access, fingerprintOf } from '../../daemon/models/models.ts'
import { checkAnswer, type Message, type ModelRequest, prepare } from '../../daemon/models/wire.ts'
import { type Clock, createClock } from '../../daemon/platform/clock.ts'

export const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })

export const hello: ModelRequest = {
  model: 'claude-haiku-5-5',
  system: [{ type: 'text', text: 'Be brief.' }],
  tools: [{ name: 'Read', description: 'Reads a file.', inputSchema: { type: 'object', properties: {} } }],
  messages: [user('Hello.')],
  maxTokens: 1_000,
}

export const accessTo = (url: string, value = 'test-key'): Access => ({
  baseUrl: url,
  key: { kind: 'api-key', value, fingerprint: fingerprintOf(value) },
})

type Around = { key?: string; signal?: AbortSignal; idleMs?: number; clock?: Clock }

/** Prepares and sends, outside of any budget. */
export async function ask(url: string, request: ModelRequest = hello, around: Around = {}) {
  const { signal = new AbortController().signal, idleMs = 5_000, clock = createClock() } = around
  const send = createSender(clock)
  const params = await prepare(request)
  return checkAnswer(await send(params, { access: accessTo(url, around.key), idleMs, signal }), request.outputSchema)
}
