/** Transcripts of Codex: lines to facts. Does no I/O; nothing in a line makes it throw. */
import type { Adapter, Draft, Fact } from './facts.ts'
import { compacted, compose, plainText, reader, sessionFact, toolCall, toolResult, unknownFact } from './facts.ts'
import { count, type Fields, fields, folder, id, list, parseLine, text, time, wordSet } from './fields.ts'

const ROLLOUT = /^(?:[^/]+\/)*rollout-[^/]*?([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\.jsonl$/

const BOOKKEEPING = wordSet('token_usage_record world_state')
const ITEMS = wordSet('session_meta turn_context response_item event_msg compacted')

/** They repeat what items say, or are of the moment. */
const SILENT_EVENTS = wordSet(`
  agent_message agent_reasoning agent_reasoning_raw_content context_compacted entered_review_mode error
  exec_command_end exited_review_mode item_completed mcp_tool_call_end patch_apply_end sub_agent_activity task_started
  thread_name_updated thread_settings_applied undo_completed user_message view_image_tool_call web_search_end
`)

export const codex: Adapter = {
  harness: 'codex',
  depth: 4,
  ageingLevel: 3,
  isTranscript: (path) => ROLLOUT.test(path),
  describe: (path) => ({ sessionId: ROLLOUT.exec(path)?.[1] }),
  recognises: ({ type, payload }) => ITEMS.has(text(type)) && Object.keys(fields(payload)).length > 0,
  read: reader((record) => {
    const type = text(record.type)
    const payload = fields(record.payload)
    const at = time(record.timestamp)
    if (type === 'session_meta') return [sessionOf(payload)]
    if (type === 'turn_context') return [sessionFact({ cwd: folder(payload.cwd), model: id(payload.model) })]
    if (type === 'response_item') return itemFacts(payload, at)
    if (type === 'event_msg') return eventFacts(payload, at)
    // Its replacement history repeats what was said before.
    if (type === 'compacted') return [compacted(at)]
    return [BOOKKEEPING.has(type) ? { kind: 'bookkeeping' } : unknownFact(record.type)]
  }),
}

/** A sub-agent has a thread of its own within the session of the thread that called it. */
function sessionOf(meta: Fields) {
  const source = meta.source
  const isSubAgent = meta.thread_source === 'subagent' || fields(source).subagent !== undefined
  return sessionFact({
    sessionId: isSubAgent ? (id(meta.session_id) ?? id(meta.parent_thread_id)) : id(meta.id),
    subAgent: isSubAgent ? id(meta.id) : undefined,
    forkOf: id(meta.forked_from_id) ?? id(fields(meta.history_base).thread_id),
    cwd: folder(meta.cwd),
    branch: id(fields(meta.git).branch),
    startedAt: time(meta.timestamp),
    interactive: source === 'exec' ? false : source === 'cli' || source === 'vscode' ? true : undefined,
  })
}

function eventFacts(event: Fields, at: number | undefined): Fact[] {
  const turnId = id(event.turn_id)
  switch (event.type) {
    case 'task_complete':
    case 'turn_complete':
      return [compose({ by: 'system', at, turnId, ends: 'final' })]
    case 'turn_aborted':
      return [compose({ by: 'system', at, turnId, ends: 'aborted' })]
    case 'token_count':
      return totalFacts(fields(event.info), at)
    case 'thread_rolled_back':
      return [{ kind: 'rewound', turns: count(event.num_turns) }]
  }
  if (SILENT_EVENTS.has(text(event.type))) return [{ kind: 'bookkeeping' }]
  return [unknownFact(event.type, 'event_msg/')]
}

function totalFacts(info: Fields, at: number | undefined): Fact[] {
  if (info.total_token_usage === undefined) return [{ kind: 'bookkeeping' }]
  const total = { usage: usageOf(fields(info.total_token_usage)), last: usageOf(fields(info.last_token_usage)) }
  return [compose({ by: 'system', at, total })]
}

/** Its input contains what came from the cache. */
function usageOf(tokens: Fields) {
  const cacheRead = count(tokens.cached_input_tokens)
  const cacheWrite = count(tokens.cache_write_input_tokens)
  const input = Math.max(0, count(tokens.input_tokens) - cacheRead - cacheWrite)
  return { input, output: count(tokens.output_tokens), cacheRead, cacheWrite }
}

const CALLS = wordSet('function_call custom_tool_call local_shell_call web_search_call tool_search_call')
const OUTPUTS = wordSet('function_call_output custom_tool_call_output tool_search_output')
const SILENT = wordSet('reasoning ghost_snapshot compaction context_compaction image_generation_call')

/** Where no kinds are given, as in older versions, injected messages are told by how they begin. */
const INJECTED =
  /^\s*(?:<(?:INSTRUCTIONS|environment_context|permissions instructions|skill|skills_instructions|subagent_notification|turn_aborted|user_action|user_instructions|user_shell_command)\b|# AGENTS\.md instructions)/

function itemFacts(item: Fields, at: number | undefined): Fact[] {
  const type = text(item.type)
  const about = fields(item.internal_chat_message_metadata_passthrough)
  const place = { id: id(item.id), at, turnId: id(about.turn_id) }
  if (type === 'message') return [compose({ ...place, ...messageSaid(item, about) })]
  if (CALLS.has(type)) return [compose({ ...place, by: 'agent', toolCalls: [callOf(item)] })]
  if (OUTPUTS.has(type)) return [compose({ ...place, ...toolResult(item.call_id, outputOf(item)) })]
  if (SILENT.has(type)) return [{ kind: 'bookkeeping' }]
  return [unknownFact(item.type, 'response_item/')]
}

function messageSaid(item: Fields, about: Fields): Draft {
  if (item.role === 'assistant') return { by: 'agent', text: plainText(item.content) }
  if (item.role !== 'user') return { by: 'injected' }
  const kinds = list(about.content_item_kinds)
  const said = list(item.content).filter((part, at) => isSaid(kinds[at], text(fields(part).text)))
  // A notice to an idle agent makes it work again, though no person asked.
  return said.length > 0
    ? { by: 'person', startsTurn: true, text: plainText(said) }
    : { by: 'injected', startsTurn: kinds.includes('multi_agent.subagent_notification') ? true : undefined }
}

function isSaid(kind: unknown, words: string): boolean {
  return typeof kind === 'string' && kind !== 'unknown' ? kind.startsWith('user.') : !INJECTED.test(words)
}

function callOf(item: Fields) {
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
