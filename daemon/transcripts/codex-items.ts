/** The items of a Codex response: who said a message, what a tool was asked and what it returned. Pure. */
import { compose, type Draft } from './compose.ts'
import { plainText, toolCall } from './content.ts'
import { type Fields, fields, id, list, parseLine, text, typeName } from './fields.ts'
import type { Fact, ToolCall } from './message.ts'

const CALLS = new Set(['function_call', 'custom_tool_call', 'local_shell_call', 'web_search_call', 'tool_search_call'])
const OUTPUTS = new Set(['function_call_output', 'custom_tool_call_output', 'tool_search_output'])
const SILENT = new Set(['reasoning', 'ghost_snapshot', 'compaction', 'context_compaction', 'image_generation_call'])

/** Where no kinds are given, as in older versions, injected messages are told by how they begin. */
const INJECTED =
  /^\s*(?:<(?:INSTRUCTIONS|environment_context|permissions instructions|skill|skills_instructions|subagent_notification|turn_aborted|user_action|user_instructions|user_shell_command)\b|# AGENTS\.md instructions)/

export function itemFacts(item: Fields, at: number | undefined): Fact[] {
  const type = text(item.type)
  const about = fields(item.internal_chat_message_metadata_passthrough)
  const place = { id: id(item.id), at, turnId: id(about.turn_id) }
  if (type === 'message') return [compose({ ...place, ...messageSaid(item, about) })]
  if (CALLS.has(type)) return [compose({ ...place, by: 'agent', toolCalls: [callOf(item)] })]
  if (OUTPUTS.has(type))
    return [compose({ ...place, by: 'tool', toolResults: [{ callId: id(item.call_id) ?? '', text: outputOf(item) }] })]
  if (SILENT.has(type)) return [{ kind: 'bookkeeping' }]
  return [{ kind: 'unknown', type: `response_item/${typeName(item.type)}` }]
}

function messageSaid(item: Fields, about: Fields): Draft {
  if (item.role === 'assistant') return { by: 'agent', text: plainText(item.content) }
  if (item.role !== 'user') return { by: 'injected' }
  const kinds = list(about.content_item_kinds)
  const said = list(item.content).filter((part, at) => isSaid(kinds[at], text(fields(part).text)))
  // A notice to an idle agent makes it work again, though nobody asked.
  return said.length > 0
    ? { by: 'person', startsTurn: true, text: plainText(said) }
    : { by: 'injected', startsTurn: kinds.includes('multi_agent.subagent_notification') ? true : undefined }
}

function isSaid(kind: unknown, words: string): boolean {
  return typeof kind === 'string' && kind !== 'unknown' ? kind.startsWith('user.') : !INJECTED.test(words)
}

function callOf(item: Fields): ToolCall {
  const action = fields(item.action)
  const name = id(item.name) ?? (item.type === 'local_shell_call' ? 'local_shell' : text(item.type))
  const space = id(item.namespace)
  const given = item.arguments ?? item.input ?? (item.action === undefined ? undefined : action)
  const call = toolCall(item.call_id ?? item.id, name, argumentsOf(given))
  return { ...call, name: space === undefined ? name : `${space}.${name}` }
}

/** The arguments are JSON in a string; the input of a custom tool is the string itself. */
function argumentsOf(given: unknown): unknown {
  return typeof given === 'string' ? (parseLine(given) ?? given) : given
}

function outputOf(item: Fields): string {
  const output = item.output
  return plainText(typeof output === 'string' || Array.isArray(output) ? output : fields(output).content)
}
