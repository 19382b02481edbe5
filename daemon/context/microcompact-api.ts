/** Clearing that a server does with its own copy of a conversation: what to ask it for. Local messages stay. Pure. */
import { type Message, toolUsesOf } from './message.ts'
import { clearable, isClearable } from './microcompact.ts'
import type { Counter } from './tokens.ts'

export type Edit = { type: string } & Record<string, unknown>
export type ContextManagement = { edits: Edit[] }

const TRIGGER_TOKENS = 180_000
const CLEAR_AT_LEAST_TOKENS = 140_000
/** More than the first are registered: all but the newest of the second go. */
const REGISTERED = 20
const KEPT = 5

/** For harnesses that let the server do it: with large windows, or where nothing is compacted. */
export function editsAtApi(messages: readonly Message[], { thinking }: { thinking: 'one' | 'all' }): ContextManagement {
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

/** A server would clear whatever came of any tool: those that cannot be asked again it has to be told. */
function but(messages: readonly Message[]): { exclude_tools?: string[] } {
  const names = new Set([...toolUsesOf(messages).values()].map(({ name }) => name))
  const kept = [...names].filter((name) => !isClearable(name)).sort()
  return kept.length > 0 ? { exclude_tools: kept } : {}
}

export type CachedPlan = { contextManagement: ContextManagement | undefined; cleared: string[] }

/**
 * Follows the conversation from its beginning, so that the same list always gives the same plan, and a plan once made
 * stays while more is said: only then is the beginning that a server has in its cache the same.
 */
export function planCached(counter: Counter, messages: readonly Message[]): CachedPlan {
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
