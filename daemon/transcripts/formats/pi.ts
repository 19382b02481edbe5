/** Transcripts of pi, version 3 and before: entries of a tree to facts. Does no I/O; nothing in a line makes it throw. */
import {
  type Adapter,
  type Compacted,
  compose,
  type Draft,
  type End,
  type Fact,
  type Fields,
  fields,
  folder,
  id,
  type Message,
  parent,
  plainText,
  present,
  readContent,
  reader,
  type SessionFact,
  text,
  time,
  typeName,
  usage,
} from './fields.ts'

const SESSION = /^[^/]+\/[^/]+_([^/_]+)\.jsonl$/

/** Entries that say nothing; others may still hang on them. */
const SILENT = new Set(['custom', 'label', 'model_change', 'session_info', 'thinking_level_change'])
const INJECTED = new Set(['branch_summary', 'custom_message'])

const GOES_ON = new Set(['toolUse', 'pending', 'deferred'])
const ABORTED = new Set(['aborted', 'error'])

export const pi: Adapter = {
  harness: 'pi',
  isTranscript: (path) => SESSION.test(path),
  describe: (path) => present({ sessionId: SESSION.exec(path)?.[1] }),
  recognises: ({ type, timestamp, version, parentSession, message }) =>
    (type === 'session' &&
      (parentSession !== undefined || (time(timestamp) !== undefined && typeof version === 'number'))) ||
    (type === 'message' && text(fields(message).role) !== ''),
  read: reader((record) => {
    const type = text(record.type)
    if (type === 'session') return [sessionOf(record)]
    if (type === 'message') return [node(record, messageSaid(record))]
    if (type === 'compaction')
      return [present<Compacted>({ kind: 'compacted', at: time(record.timestamp) }), node(record, { by: 'system' })]
    if (INJECTED.has(type)) return [node(record, { by: 'injected' })]
    if (SILENT.has(type)) return [node(record, { by: 'system' })]
    const unknown: Fact = { kind: 'unknown', type: typeName(record.type) }
    return id(record.id) === undefined ? [unknown] : [unknown, node(record, { by: 'system' })]
  }),
}

/** The parent is named by the path of its transcript. */
function sessionOf(record: Fields): SessionFact {
  return present<SessionFact>({
    kind: 'session',
    sessionId: id(record.id),
    forkOf: id(/_([^/_]+)\.jsonl$/.exec(text(record.parentSession))?.[1]),
    cwd: folder(record.cwd),
    startedAt: time(record.timestamp),
  })
}

function node(record: Fields, said: Draft): Message {
  return compose({
    id: id(record.id),
    parentId: parent(record.parentId),
    at: time(record.timestamp),
    ...said,
  })
}

function messageSaid(record: Fields): Draft {
  const message = fields(record.message)
  if (message.role === 'user') return { by: 'person', startsTurn: true, text: plainText(message.content) }
  if (message.role === 'toolResult')
    return { by: 'tool', toolResults: [{ callId: id(message.toolCallId) ?? '', text: plainText(message.content) }] }
  return message.role === 'assistant' ? answer(record, message) : { by: 'injected' }
}

function answer(record: Fields, message: Fields): Draft {
  const content = readContent(message.content)
  const used = fields(message.usage)
  return {
    by: 'agent',
    text: content.text,
    toolCalls: content.toolCalls,
    answerId: id(record.id),
    model: id(message.model),
    usage: usage(used.input, used.output, used.cacheRead, used.cacheWrite),
    ends: endOf(text(message.stopReason)),
  }
}

function endOf(reason: string): End | undefined {
  if (reason === '' || GOES_ON.has(reason)) return undefined
  return ABORTED.has(reason) ? 'aborted' : 'final'
}
