/** Transcripts of Claude Code, 1.0 to 2.1: lines to facts. Does no I/O; nothing in a line makes it throw. */
import { dirname } from 'node:path'
import type { Adapter, Content, Draft, Fact } from './facts.ts'
import { compacted, compose, readContent, reader, sessionFact, unknownFact, usage } from './facts.ts'
import { type Fields, fields, folder, id, parent, text, time, wordSet } from './fields.ts'

const SESSION = /^[^/]+\/([\w-]+)\.jsonl$/
const SUB_AGENT = /^[^/]+\/([\w-]+)\/subagents\/(?:[^/]+\/)*agent-([\w-]+)\.jsonl$/
const OUTSIDE_SUB_AGENT = /^(.*)\/[^/]+\/[\w-]+\/subagents\/(?:[^/]+\/)*agent-[\w-]+\.jsonl$/
/** Up to 2.0 they stood beside the sessions, which only their lines name. */
const LOOSE_SUB_AGENT = /^[^/]+\/agent-([\w-]+)\.jsonl$/
/** Where the memories of a project are by default, which are written again and again. */
const MEMORIES = /^[^/]+\/memory(?:\/|$)/

/** All sub-agents of a session up to 1.0, which did not tell them apart. */
const SIDECHAIN = 'sidechain'

const BOOKKEEPING = wordSet(`
  agent-color agent-name ai-title api-request api-request-blob api-request-shape atis-latch cost-state custom-title
  last-prompt mode permission-mode pr-link queue-operation summary tag tools-used worktree-state
`)

export const claudeCode: Adapter = {
  harness: 'claude-code',
  depth: 6,
  ageingLevel: 1,
  rootOf: (path) => OUTSIDE_SUB_AGENT.exec(path)?.[1] ?? dirname(dirname(path)),
  isTranscript: (path) => SESSION.test(path) || SUB_AGENT.test(path),
  mayHold: (folder) => !MEMORIES.test(folder),
  describe: (path) => {
    const [, subAgentOf, subAgent] = SUB_AGENT.exec(path) ?? []
    if (subAgent !== undefined) return { sessionId: subAgentOf, subAgent }
    const loose = LOOSE_SUB_AGENT.exec(path)?.[1]
    return loose === undefined ? { sessionId: SESSION.exec(path)?.[1] } : { subAgent: loose }
  },
  recognises: ({ type, uuid, sessionId, leafUuid, messageId }) =>
    typeof type === 'string' &&
    ((id(sessionId) !== undefined && (id(uuid) !== undefined || isBookkeeping(type))) ||
      (type === 'summary' && id(leafUuid) !== undefined) ||
      (type === 'file-history-snapshot' && id(messageId) !== undefined)),
  read: reader((record) => {
    const type = text(record.type)
    if (type === 'user') return [sessionOf(record), userMessage(record)]
    if (type === 'assistant') return [sessionOf(record), assistantMessage(record)]
    if (type === 'attachment') return [sessionOf(record), node(record, queuedSaid(record) ?? { by: 'injected' })]
    if (type === 'system') return [sessionOf(record), ...systemFacts(record)]
    if (isBookkeeping(type)) return [{ kind: 'bookkeeping' }]
    // Whatever it is, messages may hang on it.
    return [unknownFact(record.type), ...(id(record.uuid) === undefined ? [] : [node(record, { by: 'system' })])]
  }),
}

function isBookkeeping(type: string): boolean {
  return BOOKKEEPING.has(type) || type.startsWith('file-history-')
}

function sessionOf(record: Fields) {
  return sessionFact({
    sessionId: id(record.sessionId),
    cwd: folder(record.cwd),
    branch: id(record.gitBranch),
    interactive: interactive(record),
  })
}

function interactive(record: Fields): boolean | undefined {
  if (record.promptSource === 'sdk' || text(record.entrypoint).startsWith('sdk')) return false
  return record.promptSource === 'typed' || record.entrypoint === 'cli' ? true : undefined
}

/** A line as a place in the chain, with what was said there, if anything was: that is made for it, and completed. */
function node(record: Fields, said: Draft) {
  const above = parent(record.parentUuid)
  said.id = id(record.uuid)
  // A boundary of compaction begins a chain for the model, not for the conversation.
  said.parentId = above ?? id(record.logicalParentUuid) ?? above
  said.at = time(record.timestamp)
  said.subAgent = record.isSidechain === true ? (id(record.agentId) ?? SIDECHAIN) : undefined
  return compose(said)
}

function userMessage(record: Fields) {
  const content = readContent(fields(record.message).content)
  const { by, startsTurn, ends } = userSaid(record, content)
  return node(record, { by, startsTurn, ends, text: content.text, toolResults: content.toolResults })
}

function assistantMessage(record: Fields) {
  const message = fields(record.message)
  const content = readContent(message.content)
  const { by, ends } = assistantSaid(record, content)
  const used = fields(message.usage)
  return node(record, {
    by,
    ends,
    text: content.text,
    toolCalls: content.toolCalls,
    answerId: id(message.id),
    model: by === 'agent' ? id(message.model) : undefined,
    usage: usage(used.input_tokens, used.output_tokens, used.cache_read_input_tokens, used.cache_creation_input_tokens),
  })
}

function systemFacts(record: Fields): Fact[] {
  if (record.subtype === 'turn_duration') return [node(record, { by: 'system', ends: 'final' })]
  if (record.subtype !== 'compact_boundary') return [node(record, { by: 'system' })]
  const { trigger } = fields(record.compactMetadata)
  return [compacted(time(record.timestamp), trigger), node(record, { by: 'system' })]
}

const INTERRUPTED = /^\s*\[Request interrupted by user/
/** A command of the person's that may have its own prompt, which then gets an answer. */
const COMMAND = /^\s*<command-(?:name|message)>/
const NOTIFICATION = /^\s*<task-notification>/
const LOCAL = /^\s*<(?:local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr))>/

const FINAL = wordSet('end_turn stop_sequence refusal')

/** A line of type `user` is far from always a person's; what flags do not say, its first words do. */
function userSaid(record: Fields, content: Content): Draft {
  if (content.toolResults.length > 0 || record.toolUseResult !== undefined) return { by: 'tool' }
  if (INTERRUPTED.test(content.text)) return { by: 'system', ends: 'aborted' }
  if (record.isMeta === true || record.isCompactSummary === true || record.isVisibleInTranscriptOnly === true)
    return { by: 'injected' }
  if (LOCAL.test(content.text)) return { by: 'injected' }
  if (!isHuman(record) || NOTIFICATION.test(content.text) || COMMAND.test(content.text))
    return { by: 'injected', startsTurn: true }
  return { by: 'person', startsTurn: true }
}

/** Prompts that are typed while the agent works arrive as attachments; so does much that was not typed. */
function queuedSaid(record: Fields): Draft | undefined {
  const attachment = fields(record.attachment)
  const prompt = text(attachment.prompt)
  if (attachment.type !== 'queued_command' || attachment.commandMode !== 'prompt') return undefined
  if (attachment.isMeta === true || record.isMeta === true || !isHuman(attachment)) return undefined
  if (NOTIFICATION.test(prompt) || COMMAND.test(prompt) || LOCAL.test(prompt)) return undefined
  return prompt === '' ? undefined : { by: 'person', text: prompt }
}

function isHuman(record: Fields): boolean {
  const kind = fields(record.origin).kind
  return record.promptSource !== 'system' && (kind === undefined || kind === 'human')
}

function assistantSaid(record: Fields, content: Content): Draft {
  const { model, stop_reason: reason } = fields(record.message)
  if (model === '<synthetic>')
    return record.isApiErrorMessage === true ? { by: 'system', ends: 'aborted' } : { by: 'system' }
  if (record.isAbortedMidStream === true) return { by: 'agent', ends: 'aborted' }
  if (content.toolCalls.length > 0) return { by: 'agent' }
  // Every block of an answer has a line of its own: after the thoughts the words are still to come.
  if (FINAL.has(text(reason))) return { by: 'agent', ends: content.onlyThoughts ? 'settling' : 'final' }
  // Older versions wrote a block before they knew why the answer stopped.
  const mayEnd = reason === 'max_tokens' || (typeof reason !== 'string' && content.text !== '')
  return mayEnd ? { by: 'agent', ends: 'settling' } : { by: 'agent' }
}
