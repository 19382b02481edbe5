/**
 * Clears old results of tools, with no model: what a file said an hour ago is on the disk, and what a command printed was
 * read. Never touches what anybody said or thought, nor results of tools it does not know. Pure.
 */
import { type Block, blocksOf, isText, type Message, resultIdOf, toolUsesOf } from './message.ts'
import { standsForConversation } from './summary-mark.ts'
import { type Counter, padded } from './tokens.ts'

export const CLEARED = '[Old tool result content cleared]'

/** What can be had again: by reading, searching or running once more. */
const CLEARABLE = ['Read', 'Bash', 'Grep', 'Glob', 'WebSearch', 'WebFetch', 'Edit', 'Write']

const GAP_MS = 60 * 60_000
const KEEP_BY_TIME = 5
const KEEP_BY_SIZE = 3
const CLEARABLE_TOKENS = 40_000
const FREED_TOKENS = 20_000

/** `at`: where the message stands. */
export type Result = { toolUseId: string; tool: string; at: number; block: Block; tokens: number }

export type Cleared = { messages: Message[]; results: Result[] }

/** What may be cleared, in order; what was cleared before is not. */
export function clearable(counter: Counter, messages: readonly Message[]): Result[] {
  const uses = toolUsesOf(messages)
  return messages.flatMap(({ content }, at) =>
    blocksOf(content).flatMap((block) => {
      const toolUseId = resultIdOf(block)
      const use = toolUseId === undefined ? undefined : uses.get(toolUseId)
      if (!use || toolUseId === undefined || !CLEARABLE.includes(use.name) || isCleared(block)) return []
      return [{ toolUseId, tool: use.name, at, block, tokens: counter.block(block) }]
    }),
  )
}

function isCleared({ content }: Block): boolean {
  return content === CLEARED
}

/** What no file of text can stand for stays: it could not be given back. */
function savable(counter: Counter, messages: readonly Message[]): Result[] {
  return clearable(counter, messages).filter(
    ({ block: { content } }) => !Array.isArray(content) || content.every((part) => isText(part)),
  )
}

export type ByTime = { gapMs: number | undefined; keep?: number }

/** The server's cache is cold, so nothing is lost by another beginning. */
export function clearByTime(
  counter: Counter,
  messages: readonly Message[],
  { gapMs, keep = KEEP_BY_TIME }: ByTime,
): Cleared {
  if (gapMs === undefined || gapMs < GAP_MS) return { messages: [...messages], results: [] }
  return clearAllBut(counter, messages, savable(counter, messages), Math.max(1, keep))
}

export type BySize = { tokens: number; warning: number }

export function clearBySize(counter: Counter, messages: readonly Message[], { tokens, warning }: BySize): Cleared {
  const nothing = { messages: [...messages], results: [] }
  if (tokens < warning) return nothing
  const results = savable(counter, messages)
  if (sum(results) < CLEARABLE_TOKENS) return nothing
  const cleared = clearAllBut(counter, messages, results, KEEP_BY_SIZE)
  return sum(cleared.results) - cleared.results.length * counter.block(EMPTY) >= FREED_TOKENS ? cleared : nothing
}

const EMPTY: Block = { type: 'tool_result', tool_use_id: '', content: CLEARED }

function sum(results: readonly Result[]): number {
  return padded(results.reduce((total, { tokens }) => total + tokens, 0))
}

/** Only what is longer than the mark that would stand for it. */
function clearAllBut(counter: Counter, messages: readonly Message[], all: readonly Result[], keep: number): Cleared {
  const old = all.slice(0, Math.max(0, all.length - keep))
  const results = old.filter(({ tokens }) => tokens > counter.block(EMPTY))
  if (results.length === 0) return { messages: [...messages], results: [] }
  const ids = new Set(results.map(({ toolUseId }) => toolUseId))
  const upTo = (results.at(-1) as Result).at
  return { results, messages: messages.map((message, at) => without(message, ids, at <= upTo)) }
}

/** Memories that were shown beside what is cleared go with it: they are found again when they matter. */
function without(message: Message, ids: ReadonlySet<string>, isOld: boolean): Message {
  const { content } = message
  if (typeof content === 'string') return message
  const changed = content.map((block): Block => {
    const id = resultIdOf(block)
    if (id !== undefined && ids.has(id)) return { ...block, content: CLEARED }
    return isOld && message.role === 'user' && isMemoryAttachment(block) ? { ...block, text: CLEARED } : block
  })
  return changed.every((block, n) => block === content[n]) ? message : { ...message, content: changed }
}

/** A block that is nothing but what this program put there. */
function isMemoryAttachment(block: Block): boolean {
  return (
    isText(block) &&
    block.text.length > CLEARED.length &&
    !standsForConversation(block.text) &&
    /^\s*<memoryd-context>[\s\S]*<\/memoryd-context>\s*$/.test(block.text)
  )
}
