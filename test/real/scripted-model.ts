/** A model that says what a test tells it to, behind the Messages API on loopback, and keeps what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

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

const MOST_BYTES = 32_000_000
const DONE: Answer = [{ type: 'text', text: 'Done.' }]

export async function startModel(): Promise<ScriptedModel> {
  const requests: ModelRequest[] = []
  const next: Answer[] = []
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy())
  })
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await readBody(request)
    if (request.method !== 'POST' || new URL(request.url ?? '/', 'http://model').pathname !== '/v1/messages')
      return void response.writeHead(404).end('{"type":"error","error":{"type":"not_found_error","message":"no"}}')
    const asked = JSON.parse(text) as ModelRequest
    if (!asked.tools?.length) return stream(response, asked.model, DONE)
    requests.push(asked)
    stream(response, asked.model, next.shift() ?? DONE)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, requests, say: (...answers) => void next.push(...answers) }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length
    if (bytes > MOST_BYTES) throw new Error('the request is too large')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString()
}

/** One block after the other, each opened, filled and closed. */
function stream(response: ServerResponse, model: string, answer: Answer): void {
  const send = (type: string, data: object = {}) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  const usage = { input_tokens: 1, output_tokens: 1 }
  const message = { id: 'msg_scripted', type: 'message', role: 'assistant', model, content: [], stop_reason: null }
  send('message_start', { message: { ...message, stop_sequence: null, usage } })
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
  response.end()
}
