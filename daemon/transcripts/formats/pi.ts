/** Transcripts of pi, version 3 and before: entries of a tree to facts. Does no I/O; nothing in a line makes it throw. */
import { dirname } from 'node:path'
import type { Adapter, Draft, End } from './facts.ts'
import {
  compacted,
  compose,
  plainText,
  readContent,
  reader,
  sessionFact,
  toolResult,
  unknownFact,
  usage,
} from './facts.ts'
import { type Fields, fields, folder, id, parent, text, time, wordSet } from './fields.ts'

const SESSION = /^[^/]+\/[^/]+_([^/_]+)\.jsonl$/

/** Entries that say nothing; others may still hang on them. */
const SILENT = wordSet('custom label model_change session_info thinking_level_change')
const INJECTED = wordSet('branch_summary custom_message')

const GOES_ON = wordSet('toolUse pending deferred')
const ABORTED = wordSet('aborted error')

export const pi: Adapter = {
  harness: 'pi',
  depth: 1,
  ageingLevel: 1,
  rootOf: (path) => dirname(dirname(path)),
  isTranscript: (path) => SESSION.test(path),
  describe: (path) => ({ sessionId: SESSION.exec(path)?.[1] }),
  recognises: ({ type, timestamp, version, parentSession, message }) =>
    (type === 'session' &&
      (parentSession !== undefined || (time(timestamp) !== undefined && typeof version === 'number'))) ||
    (type === 'message' && text(fields(message).role) !== ''),
  read: reader((record) => {
    const type = text(record.type)
    if (type === 'session') return [sessionOf(record)]
    if (type === 'message') return [node(record, messageSaid(record))]
    if (type === 'compaction') return [compacted(time(record.timestamp)), node(record, { by: 'system' })]
    if (INJECTED.has(type)) return [node(record, { by: 'injected' })]
    if (SILENT.has(type)) return [node(record, { by: 'system' })]
    return [unknownFact(record.type), ...(id(record.id) === undefined ? [] : [node(record, { by: 'system' })])]
  }),
}

function sessionOf(record: Fields) {
  return sessionFact({
    sessionId: id(record.id),
    forkOf: id(/_([^/_]+)\.jsonl$/.exec(text(record.parentSession))?.[1]),
    cwd: folder(record.cwd),
    startedAt: time(record.timestamp),
  })
}

function node(record: Fields, said: Draft) {
  return compose({ id: id(record.id), parentId: parent(record.parentId), at: time(record.timestamp), ...said })
}

function messageSaid(record: Fields): Draft {
  const message = fields(record.message)
  if (message.role === 'user') return { by: 'person', startsTurn: true, text: plainText(message.content) }
  if (message.role === 'toolResult') return toolResult(message.toolCallId, plainText(message.content))
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
