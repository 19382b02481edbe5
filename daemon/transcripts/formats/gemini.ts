/** Transcripts of Gemini CLI: events to facts. Does no I/O; nothing in a line makes it throw. */
import { dirname } from 'node:path'
import type { Adapter, Draft, Fact } from './facts.ts'
import { compose, plainText, reader, sessionFact, toolCall, unknownFact, usage } from './facts.ts'
import { count, type Fields, fields, folder, id, list, parseLine, text, time } from './fields.ts'

const SESSION = /^[^/]+\/chats\/session-[^/]+\.jsonl$/
const SUB_AGENT = /^[^/]+\/chats\/([^/]+)\/([^/]+)\.jsonl$/
const OUTSIDE = /^(.*)\/[^/]+\/chats\/(?:[^/]+\/)?[^/]+$/

export const gemini: Adapter = {
  harness: 'gemini',
  depth: 3,
  ageingLevel: 2,
  rootOf: (path) => OUTSIDE.exec(path)?.[1] ?? dirname(dirname(path)),
  isTranscript: (path) => SESSION.test(path) || SUB_AGENT.test(path),
  // The name of a session's file has but the beginning of its id.
  describe: (path) => {
    const [, sessionId, subAgent] = SUB_AGENT.exec(path) ?? []
    return { sessionId, subAgent }
  },
  folder: { files: folderFiles, cwd: folderOf },
  recognises: ({ $set, $rewindTo, type, sessionId, startTime }) =>
    $set !== undefined ||
    $rewindTo !== undefined ||
    type === 'gemini' ||
    (id(sessionId) !== undefined && time(startTime) !== undefined),
  read: reader((record) => {
    if (record.$set !== undefined) return setFacts(fields(record.$set))
    const target = id(record.$rewindTo)
    if (target !== undefined) return [{ kind: 'rewound', from: target }]
    if (record.sessionId !== undefined) return [sessionOf(record)]
    return messageFacts(record)
  }),
}

function sessionOf(record: Fields) {
  const own = id(record.sessionId)
  return sessionFact({
    // A sub-agent has an id of its own, and the session it belongs to stands in the path.
    ...(record.kind === 'subagent' ? { subAgent: own } : { sessionId: own }),
    startedAt: time(record.startTime),
  })
}

/** `messages` repeat, with other ids and times and without usage, what their own lines said before. */
function setFacts(set: Fields): Fact[] {
  const isSummary = list(set.messages).some((message) =>
    /^\s*<state_snapshot>/.test(plainText(fields(message).content)),
  )
  return [{ kind: isSummary ? 'compacted' : 'bookkeeping' }]
}

function messageFacts(record: Fields): Fact[] {
  switch (record.type) {
    case 'user':
      return [node(record, userSaid(record))]
    case 'gemini':
      return [node(record, answer(record))]
    case 'info':
    case 'warning':
    case 'error':
      return [node(record, { by: 'system' })]
  }
  return [unknownFact(record.type)]
}

function node(record: Fields, said: Draft) {
  return compose({ id: id(record.id), at: time(record.timestamp), ...said })
}

/** `displayContent` is what was typed, before files that it mentions were put in. */
function userSaid(record: Fields): Draft {
  const toolResults = list(record.content).flatMap((part) => resultOf(fields(part)))
  if (toolResults.length > 0) return { by: 'tool', toolResults }
  return { by: 'person', startsTurn: true, text: plainText(record.displayContent ?? record.content) }
}

function resultOf(part: Fields) {
  if (part.functionResponse === undefined) return []
  const { id: callId, response } = fields(part.functionResponse)
  const { output, error } = fields(response)
  return [{ callId: id(callId) ?? '', text: text(output) || text(error) }]
}

function answer(record: Fields): Draft {
  const toolCalls = callsOf(record)
  const said = plainText(record.content)
  const tokens = fields(record.tokens)
  return {
    by: 'agent',
    text: said,
    toolCalls,
    answerId: id(record.id),
    model: id(record.model),
    // Its input contains what came from the cache; thoughts are paid like words.
    usage: usage(
      Math.max(0, count(tokens.input) - count(tokens.cached)) + count(tokens.tool),
      count(tokens.output) + count(tokens.thoughts),
      tokens.cached,
      0,
    ),
    // It is written again when its tools are called: an empty one only announces them.
    ends: toolCalls.length === 0 && said !== '' ? 'settling' : undefined,
  }
}

function callsOf(record: Fields) {
  const named = list(record.toolCalls).map(fields)
  const inContent = list(record.content).flatMap((part) => {
    const { functionCall } = fields(part)
    return functionCall === undefined ? [] : [fields(functionCall)]
  })
  const calls = named.length > 0 ? named : inContent
  return calls.map((call) => toolCall(call.id, call.name, call.args))
}

const PROJECTS = '../projects.json'

function folderFiles(path: string): string[] {
  const [slug] = path.split('/')
  return slug ? [`${slug}/.project_root`, PROJECTS] : []
}

function folderOf(path: string, texts: ReadonlyMap<string, string>): string | undefined {
  const [slug = ''] = path.split('/')
  return folder(texts.get(`${slug}/.project_root`)?.trim()) ?? listed(slug, texts.get(PROJECTS) ?? '')
}

/** `{"projects": {"/the/folder": "slug"}}` */
function listed(slug: string, projects: string): string | undefined {
  const found = Object.entries(fields(parseLine(projects)?.projects)).find(([, named]) => named === slug)
  return folder(found?.[0])
}
