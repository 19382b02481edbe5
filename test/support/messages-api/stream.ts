/** A message as the API sends it: the events of a stream, or one JSON value. Pure. */
import { randomBytes } from 'node:crypto'
import type { Said, SaidBlock } from './answers.ts'
import { type CacheUsage, tokensOf } from './prefix-cache.ts'

export type StreamEvent = { type: string } & Record<string, unknown>

type Heading = { model: string; usage: CacheUsage }

const CHUNK_CHARACTERS = 40

export function wholeMessage(said: Said, heading: Heading): Record<string, unknown> {
  const stop_reason = said.stop ?? 'end_turn'
  const usage = { ...usageOf(heading.usage), output_tokens: outputTokens(said) }
  return { ...emptyMessage(heading), content: said.content.map(shown), stop_reason, usage }
}

export function eventsOf(said: Said, heading: Heading): StreamEvent[] {
  const message = { ...emptyMessage(heading), usage: { ...usageOf(heading.usage), output_tokens: 1 } }
  const delta = { stop_reason: said.stop ?? 'end_turn', stop_sequence: null, stop_details: null, container: null }
  return [
    { type: 'message_start', message },
    { type: 'ping' },
    ...said.content.flatMap(eventsOfBlock),
    { type: 'message_delta', delta, usage: { output_tokens: outputTokens(said) } },
    { type: 'message_stop' },
  ]
}

export function asText({ type, ...data }: StreamEvent): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
}

function outputTokens({ content, outputTokens }: Said): number {
  return outputTokens ?? content.reduce((sum, block) => sum + tokensOf(block), 0)
}

function emptyMessage({ model }: Heading) {
  const id = `msg_${randomBytes(9).toString('hex')}`
  const nothing = { stop_reason: null, stop_sequence: null, stop_details: null, container: null, diagnostics: null }
  return { id, type: 'message', role: 'assistant', model, content: [], ...nothing }
}

function usageOf({ input, read, written5m, written1h }: CacheUsage) {
  return {
    input_tokens: input,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written5m + written1h,
    cache_creation: { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h },
    service_tier: 'standard',
  }
}

/** The API adds fields that a request may send back or leave out. */
function shown(block: SaidBlock): Record<string, unknown> {
  if (block.type === 'text') return { citations: null, ...block }
  return block.type === 'tool_use' ? { ...block, caller: { type: 'direct' } } : block
}

function eventsOfBlock(block: SaidBlock, index: number): StreamEvent[] {
  const begun = (content_block: unknown) => ({ type: 'content_block_start', index, content_block })
  const deltas = (chunks: string[], delta: (chunk: string) => unknown) =>
    chunks.map((chunk) => ({ type: 'content_block_delta', index, delta: delta(chunk) }))
  const ended = { type: 'content_block_stop', index }
  if (block.type === 'text') {
    const parts = deltas(inChunks(block.text), (text) => ({ type: 'text_delta', text }))
    return [begun(shown({ ...block, text: '' })), ...parts, ended]
  }
  if (block.type === 'tool_use') {
    const json = inChunks(JSON.stringify(block.input))
    const parts = deltas(['', ...json], (partial_json) => ({ type: 'input_json_delta', partial_json }))
    return [begun(shown({ ...block, input: {} })), ...parts, ended]
  }
  const parts = deltas(inChunks(block.thinking), (thinking) => ({ type: 'thinking_delta', thinking }))
  const signed = deltas([block.signature], (signature) => ({ type: 'signature_delta', signature }))
  return [begun({ type: 'thinking', thinking: '', signature: '' }), ...parts, ...signed, ended]
}

function inChunks(text: string): string[] {
  const characters = [...text]
  const chunks: string[] = []
  for (let from = 0; from < characters.length; from += CHUNK_CHARACTERS)
    chunks.push(characters.slice(from, from + CHUNK_CHARACTERS).join(''))
  return chunks
}
