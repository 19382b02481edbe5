/** The form for harnesses without an adapter and for pushed turns, as in docs/harnesses.md. Nothing in a line makes it throw. */
import type { Adapter, Draft, Fact } from './facts.ts'
import {
  compacted,
  compose,
  readContent,
  reader,
  sessionFact,
  toolCall,
  toolResult,
  unknownFact,
  usage,
} from './facts.ts'
import { count, type Fields, fields, folder, id, list, parent, text, time, wordSet, zone } from './fields.ts'

const PUSHED = /^(?:.*\/)?([^/]+)\/([^/]+)\/pushed\.jsonl$/
const NAMED = /^(?:.*\/)?([^/]+)\.jsonl$/

const TYPES = wordSet('session user assistant tool context system developer end compaction rewind')

export const generic: Adapter = {
  harness: 'generic',
  depth: 6,
  ageingLevel: Number.POSITIVE_INFINITY,
  isTranscript: (path) => NAMED.test(path),
  describe: (path) => {
    const [, harness, sessionId] = PUSHED.exec(path) ?? []
    return { harness, sessionId: sessionId ?? NAMED.exec(path)?.[1] }
  },
  recognises: ({ type, role }) => TYPES.has(text(type ?? role)),
  read: reader((record) => {
    const type = text(record.type ?? record.role)
    switch (type) {
      case 'session':
        return [sessionOf(record)]
      case 'user':
        return [node(record, userSaid(record))]
      case 'assistant':
        return [node(record, answer(record))]
      case 'tool':
        return [node(record, toolResult(record.callId, bodyOf(record).text))]
      case 'context':
      case 'system':
      case 'developer':
        return [node(record, { by: 'injected' })]
      case 'end':
        return [node(record, { by: 'system', ends: endOf(record) ?? 'final' })]
      case 'compaction':
        return [compacted(time(record.at), record.trigger), node(record, { by: 'system' })]
      case 'rewind':
        return rewindFacts(record)
    }
    return [unknownFact(record.type ?? record.role)]
  }),
}

function sessionOf(record: Fields) {
  return sessionFact({
    sessionId: id(record.id),
    subAgent: id(record.subAgent),
    forkOf: id(record.forkOf),
    cwd: folder(record.cwd),
    branch: id(record.branch),
    model: id(record.model),
    startedAt: time(record.at),
    interactive: typeof record.interactive === 'boolean' ? record.interactive : undefined,
  })
}

function node(record: Fields, said: Draft) {
  return compose({
    id: id(record.id),
    parentId: parent(record.parentId),
    at: time(record.at),
    minutesEast: zone(record.at),
    subAgent: id(record.subAgent),
    ...said,
  })
}

function bodyOf(record: Fields) {
  return readContent(record.text ?? record.content)
}

function userSaid(record: Fields): Draft {
  const body = bodyOf(record)
  if (body.toolResults.length > 0) return { by: 'tool', toolResults: body.toolResults }
  return { by: 'person', startsTurn: true, text: body.text }
}

function answer(record: Fields): Draft {
  const body = bodyOf(record)
  const named = list(record.toolCalls).map(fields)
  const toolCalls = [...body.toolCalls, ...named.map((call) => toolCall(call.id, call.name, call.input))]
  const used = fields(record.usage)
  const mayEnd = toolCalls.length === 0 && body.text !== ''
  return {
    by: 'agent',
    text: body.text,
    toolCalls,
    answerId: id(record.answerId) ?? id(record.id),
    model: id(record.model),
    usage: usage(used.input, used.output, used.cacheRead, used.cacheWrite),
    ends: endOf(record) ?? (mayEnd ? 'settling' : undefined),
  }
}

function endOf(record: Fields): Draft['ends'] {
  return record.end === 'final' || record.end === 'aborted' ? record.end : undefined
}

function rewindFacts(record: Fields): Fact[] {
  const from = id(record.from)
  return [from === undefined ? { kind: 'rewound', turns: count(record.turns) } : { kind: 'rewound', from }]
}
