/** A model that says what a test tells it to, behind the Messages API on loopback, and keeps what it was asked. */
import { type Send, startServer } from './loopback-server.ts'

type Text = { type: 'text'; text: string }
type ToolUse = { type: 'tool_use'; id: string; name: string; input: object }
export type Answer = readonly (Text | ToolUse)[]

export type ModelRequest = {
  model: string
  system?: string | { text: string }[]
  messages: { role: string; content: string | { type: string; text?: string }[] }[]
  tools?: unknown[]
}

export type ScriptedModel = {
  url: string
  /** Requests of a conversation, in order; what a client asks besides is answered and not kept. */
  requests: ModelRequest[]
  /** What it says next, one after the other; then only that it is done. */
  say(...answers: Answer[]): void
}

const DONE: Answer = [{ type: 'text', text: 'Done.' }]

export async function startModel(): Promise<ScriptedModel> {
  const requests: ModelRequest[] = []
  const next: Answer[] = []
  let answers = 0
  const url = await startServer('/v1/messages', (body, send) => {
    const asked = body as ModelRequest
    const message = { id: `msg_scripted_${++answers}`, model: asked.model }
    if (!asked.tools?.length) return stream(send, message, DONE)
    requests.push(asked)
    stream(send, message, next.shift() ?? DONE)
  })
  return { url, requests, say: (...answers) => void next.push(...answers) }
}

/** One block after the other, each opened, filled and closed. */
function stream(send: Send, said: { id: string; model: string }, answer: Answer): void {
  const message = { ...said, type: 'message', role: 'assistant', content: [], stop_reason: null, stop_sequence: null }
  const usage = { input_tokens: 1, output_tokens: 1 }
  send('message_start', { message: { ...message, usage } })
  for (const [index, block] of answer.entries()) {
    const [content_block, delta] =
      block.type === 'text'
        ? [
            { ...block, text: '' },
            { type: 'text_delta', text: block.text },
          ]
        : [
            { ...block, input: {} },
            { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
          ]
    send('content_block_start', { index, content_block })
    send('content_block_delta', { index, delta })
    send('content_block_stop', { index })
  }
  const stop_reason = answer.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'
  send('message_delta', { delta: { stop_reason, stop_sequence: null }, usage })
  send('message_stop')
}
