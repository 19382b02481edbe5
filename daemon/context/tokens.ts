/**
 * Counts tokens: what the last response used, and an estimate for what came after it. Errs on the side of too many. Pure,
 * but for remembering what it counted.
 */
import { hash } from 'node:crypto'
import { shapeOf } from '../platform/json-shape.ts'
import { BYTES_PER_TOKEN } from '../platform/tokens.ts'
import { type Block, blocksOf, isText, type Message, recordOf, resultIdOf, toolUsesOf } from './message.ts'

/** As the API tells it. */
export type WireUsage = {
  input_tokens?: number | null | undefined
  cache_read_input_tokens?: number | null | undefined
  cache_creation_input_tokens?: number | null | undefined
  output_tokens?: number | null | undefined
}

export type Breakdown = {
  user: number
  assistant: number
  toolRequests: number
  toolResults: number
  attachments: number
  /** Of the tool results: what was read again later. */
  duplicateReads: number
}

const JSON_BYTES_PER_TOKEN = 2
const FLAT_TOKENS = 2_000
/** A text that would take up more than this once it is parsed is not parsed: it counts as what it looks like. */
const CAP_VALUES = 200_000
const CAP_DEPTH = 500
const CAP_COUNTED = 5_000

/** An estimate that rests on nothing but bytes is taken a third higher. */
export function padded(tokens: number): number {
  return Math.ceil((tokens * 4) / 3)
}

export function usageTokens(usage: WireUsage): number {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = usage
  return (
    (input_tokens ?? 0) + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0) + (output_tokens ?? 0)
  )
}

export function textTokens(text: string): number {
  const bytes = Buffer.byteLength(text)
  return Math.ceil(bytes / (isJson(text) ? JSON_BYTES_PER_TOKEN : BYTES_PER_TOKEN))
}

function isJson(text: string): boolean {
  const ends = `${firstSign(text)}${lastSign(text)}`
  if (ends !== '{}' && ends !== '[]') return false
  const { depth, values } = shapeOf(text)
  if (depth > CAP_DEPTH || values > CAP_VALUES) return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function firstSign(text: string): string {
  return /^[\t\n\r ]*([[{])/.exec(text.slice(0, 1_000))?.[1] ?? ''
}

function lastSign(text: string): string {
  return /([\]}])[\t\n\r ]*$/.exec(text.slice(-1_000))?.[1] ?? ''
}

export type Counter = {
  /** Of one block, as it is. */
  block(block: Block): number
  message(message: Message): number
  /** Of a list that no response has counted yet. */
  messages(messages: readonly Message[]): number
}

/** What tools returned is counted once, however often it is sent: it is most of a conversation and never changes. */
export function createCounter(): Counter {
  const counted = new Map<string, number>()
  const result = (block: Block): number => {
    const { content } = block
    if (typeof content !== 'string')
      return Array.isArray(content) ? sum(content.map((part) => plain(recordOf(part) as Block))) : 0
    if (content.length < 1_000) return textTokens(content)
    const key = `${resultIdOf(block)} ${hash('sha1', content)}`
    const before = counted.get(key)
    if (before !== undefined) return before
    const tokens = textTokens(content)
    if (counted.size >= CAP_COUNTED) counted.clear()
    counted.set(key, tokens)
    return tokens
  }
  const block = (each: Block) => (each.type === 'tool_result' ? result(each) : plain(each))
  const known = new WeakMap<Message, number>()
  // Messages are never changed, only replaced.
  const message = (each: Message) => {
    const before = known.get(each)
    if (before !== undefined) return before
    const { content } = each
    const tokens = typeof content === 'string' ? textTokens(content) : sum(content.map(block))
    known.set(each, tokens)
    return tokens
  }
  return { block, message, messages: (messages) => padded(sum(messages.map(message))) }
}

function plain(block: Block): number {
  if (isText(block)) return textTokens(block.text)
  switch (block.type) {
    case 'image':
    case 'document':
      return FLAT_TOKENS
    case 'tool_use':
      return Math.ceil(
        Buffer.byteLength(String(block.name)) / BYTES_PER_TOKEN +
          Buffer.byteLength(JSON.stringify(block.input) ?? '') / JSON_BYTES_PER_TOKEN,
      )
    case 'thinking':
      return textTokens(String(block.thinking ?? ''))
    case 'redacted_thinking':
      return textTokens(String(block.data ?? ''))
    default:
      return Math.ceil(Buffer.byteLength(JSON.stringify(block)) / JSON_BYTES_PER_TOKEN)
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

/** How full the context is: what the last response used, and what came after the last answer. */
export function tokensInContext(counter: Counter, messages: readonly Message[], usage: WireUsage | undefined): number {
  if (!usage) return counter.messages(messages)
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  return usageTokens(usage) + sum(messages.slice(last + 1).map(counter.message))
}

const READS = ['Read', 'NotebookRead']
/** What a harness or this program put beside what was said. */
const ATTACHED = /^\s*<(system-reminder|memoryd-context)\b/

export function breakdownOf(counter: Counter, messages: readonly Message[]): Breakdown {
  const parts: Breakdown = { user: 0, assistant: 0, toolRequests: 0, toolResults: 0, attachments: 0, duplicateReads: 0 }
  const uses = toolUsesOf(messages)
  const readLast = new Map<string, number>()
  for (const { role, content } of messages)
    for (const block of blocksOf(content)) {
      const tokens = counter.block(block)
      parts[partOf(block, role)] += tokens
      const use = uses.get(resultIdOf(block) ?? '')
      if (!use || !READS.includes(use.name)) continue
      const what = JSON.stringify(use.input)
      parts.duplicateReads += readLast.get(what) ?? 0
      readLast.set(what, tokens)
    }
  return parts
}

function partOf(block: Block, role: Message['role']): Exclude<keyof Breakdown, 'duplicateReads'> {
  if (block.type === 'tool_use' || block.type === 'server_tool_use') return 'toolRequests'
  if (/tool_result$/.test(block.type)) return 'toolResults'
  if (block.type === 'image' || block.type === 'document') return 'attachments'
  if (role === 'system' || (isText(block) && role === 'user' && ATTACHED.test(block.text))) return 'attachments'
  return role === 'assistant' ? 'assistant' : 'user'
}
