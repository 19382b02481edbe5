/** A model that says what a test tells it to, behind the Responses API on loopback, and keeps what it was asked. */
import { startServer } from './loopback-server.ts'

type Said = { text: string } | { call: string; name: string; input: object }

export type ScriptedResponses = {
  url: string
  /** Bodies of all requests, in order. */
  requests: unknown[]
  /** What it says next, one after the other; then only that it is done. */
  say(...answers: Said[]): void
}

const USAGE = { input: 100, cached: 40, output: 20 }

export async function startResponses(): Promise<ScriptedResponses> {
  const requests: unknown[] = []
  const next: Said[] = []
  const url = await startServer('/responses', (asked, send) => {
    requests.push(asked)
    const id = `resp_${requests.length}`
    send('response.created', { response: { id } })
    send('response.output_item.done', { output_index: 0, item: itemOf(next.shift() ?? { text: 'Done.' }, id) })
    const usage = {
      input_tokens: USAGE.input,
      input_tokens_details: { cached_tokens: USAGE.cached },
      output_tokens: USAGE.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: USAGE.input + USAGE.output,
    }
    send('response.completed', { response: { id, usage } })
  })
  return { url, requests, say: (...answers) => void next.push(...answers) }
}

function itemOf(said: Said, id: string): object {
  if ('text' in said)
    return { type: 'message', role: 'assistant', id: `msg_${id}`, content: [{ type: 'output_text', text: said.text }] }
  const { call, name, input } = said
  return { type: 'function_call', id: `fc_${id}`, call_id: call, name, arguments: JSON.stringify(input) }
}
