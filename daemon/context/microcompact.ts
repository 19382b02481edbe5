/** Clears old results of tools, with no model. Never touches words, thoughts, or results of tools it does not know. */
import { padded } from '../platform/text.ts'
import { type Block, blocksOf, isText, type Message, resultIdOf, toolUsesOf } from './messages.ts'
import { standsForConversation } from './summary.ts'
import type { Counter } from './token-count.ts'

export const CLEARED = '[Old tool result content cleared]'

const CLEARABLE = ['Read', 'Bash', 'Grep', 'Glob', 'WebSearch', 'WebFetch', 'Edit', 'Write']

const GAP_MS = 60 * 60_000
const KEEP_BY_TIME = 5
const KEEP_BY_SIZE = 3
const CLEARABLE_TOKENS = 40_000
const FREED_TOKENS = 20_000

type Result = { toolUseId: string; tool: string; at: number; block: Block; tokens: number }

export type Cleared = { messages: Message[]; results: Result[]; memories: boolean }

export function clearable(counter: Counter, messages: readonly Message[]): Result[] {
  const uses = toolUsesOf(messages)
  return messages.flatMap(({ content }, at) =>
    blocksOf(content).flatMap((block) => {
      const toolUseId = resultIdOf(block)
      const use = toolUseId === undefined ? undefined : uses.get(toolUseId)
      if (!use || toolUseId === undefined || !CLEARABLE.includes(use.name) || block.content === CLEARED) return []
      return [{ toolUseId, tool: use.name, at, block, tokens: counter.block(block) }]
    }),
  )
}

/** Images stay: a file of text could not give them back. */
function savable(counter: Counter, messages: readonly Message[]): Result[] {
  return clearable(counter, messages).filter(
    ({ block: { content } }) => !Array.isArray(content) || content.every((part) => isText(part)),
  )
}

/** The server's cache is cold, so nothing is lost by another beginning. */
export function clearByTime(
  counter: Counter,
  messages: readonly Message[],
  { gapMs, keep = KEEP_BY_TIME }: { gapMs: number | undefined; keep?: number },
): Cleared {
  if (gapMs === undefined || gapMs < GAP_MS) return nothing(messages)
  return clearAllBut(counter, messages, savable(counter, messages), Math.max(1, keep))
}

export function clearBySize(
  counter: Counter,
  messages: readonly Message[],
  { tokens, warning }: { tokens: number; warning: number },
): Cleared {
  if (tokens < warning) return nothing(messages)
  const results = savable(counter, messages)
  if (sum(results) < CLEARABLE_TOKENS) return nothing(messages)
  const cleared = clearAllBut(counter, messages, results, KEEP_BY_SIZE)
  return sum(cleared.results) - cleared.results.length * counter.block(EMPTY) >= FREED_TOKENS
    ? cleared
    : nothing(messages)
}

function nothing(messages: readonly Message[]): Cleared {
  return { messages: [...messages], results: [], memories: false }
}

const EMPTY: Block = { type: 'tool_result', tool_use_id: '', content: CLEARED }

function sum(results: readonly Result[]): number {
  return padded(results.reduce((total, { tokens }) => total + tokens, 0))
}

/** Only what is longer than the mark that would stand for it. */
function clearAllBut(counter: Counter, messages: readonly Message[], all: readonly Result[], keep: number): Cleared {
  const old = all.slice(0, Math.max(0, all.length - keep))
  const least = counter.block(EMPTY)
  const results = old.filter(({ tokens }) => tokens > least)
  if (results.length === 0) return nothing(messages)
  const ids = new Set(results.map(({ toolUseId }) => toolUseId))
  const upTo = (results.at(-1) as Result).at
  const cleared = messages.map((message) =>
    changed(message, (block) => (ids.has(resultIdOf(block) ?? '') ? { ...block, content: CLEARED } : block)),
  )
  const whole = cleared.map((message, at) => (at <= upTo ? withoutMemories(message) : message))
  return { results, messages: whole, memories: whole.some((message, at) => message !== cleared[at]) }
}

/** Memories that were shown beside what is cleared go with it: they are found again when they matter. */
function withoutMemories(message: Message): Message {
  if (message.role !== 'user') return message
  if (typeof message.content === 'string')
    return isMemoryAttachment(message.content) ? { ...message, content: CLEARED } : message
  return changed(message, (block) =>
    isText(block) && isMemoryAttachment(block.text) ? { ...block, text: CLEARED } : block,
  )
}

function changed(message: Message, change: (block: Block) => Block): Message {
  const { content } = message
  if (typeof content === 'string') return message
  const after = content.map(change)
  return after.every((block, n) => block === content[n]) ? message : { ...message, content: after }
}

const MEMORY =
  /^\s*(?:<system-reminder>\s*)?<memoryd-context>([\s\S]*)<\/memoryd-context>\s*(?:<\/system-reminder>\s*)?$/

/** Nothing but what this program put there, and no words of others in between. */
function isMemoryAttachment(text: string): boolean {
  if (text.length <= CLEARED.length || standsForConversation(text)) return false
  const within = MEMORY.exec(text)?.[1]
  return within !== undefined && !within.includes('</memoryd-context>')
}

const TRIGGER_TOKENS = 180_000
const CLEAR_AT_LEAST_TOKENS = 140_000
/** More than the first are registered: all but the newest of the second go. */
const REGISTERED = 20
const KEPT = 5

/** For harnesses that let the server do it: with large windows, or where nothing is compacted. */
export function editsAtApi(messages: readonly Message[], { thinking }: { thinking: 'one' | 'all' }) {
  return {
    edits: [
      // The API wants what it clears of thoughts before what it clears of tools.
      { type: 'clear_thinking_20251015', keep: thinking === 'all' ? 'all' : { type: 'thinking_turns', value: 1 } },
      {
        type: 'clear_tool_uses_20250919',
        trigger: { type: 'input_tokens', value: TRIGGER_TOKENS },
        clear_at_least: { type: 'input_tokens', value: CLEAR_AT_LEAST_TOKENS },
        ...but(messages),
      },
    ],
  }
}

/** A server clears results of all tools but those it is told to spare. */
function but(messages: readonly Message[]): { exclude_tools?: string[] } {
  const names = new Set([...toolUsesOf(messages).values()].map(({ name }) => name))
  const kept = [...names].filter((name) => !CLEARABLE.includes(name)).sort()
  return kept.length > 0 ? { exclude_tools: kept } : {}
}

/** Follows the conversation from its beginning: a plan once made must stay, or the server's cache is of no use. */
export function planCached(counter: Counter, messages: readonly Message[]) {
  const cleared: string[] = []
  let registered: string[] = []
  const results = clearable(counter, messages)
  for (const [n, { toolUseId, at }] of results.entries()) {
    registered.push(toolUseId)
    // Those of one message appear together.
    if (results[n + 1]?.at === at || registered.length <= REGISTERED) continue
    cleared.push(...registered.slice(0, -KEPT))
    registered = registered.slice(-KEPT)
  }
  if (cleared.length === 0) return { contextManagement: undefined, cleared }
  const edit = {
    type: 'clear_tool_uses_20250919',
    trigger: { type: 'tool_uses', value: REGISTERED },
    keep: { type: 'tool_uses', value: registered.length },
    ...but(messages),
  }
  return { contextManagement: { edits: [edit] }, cleared }
}
