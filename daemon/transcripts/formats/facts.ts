/** What the lines of all formats become, and how an adapter makes it: nothing injected and nothing private is left in a message. */
import type { HarnessName } from '../../../schema/session.ts'
import { isPrivateToTheEnd, stripInjected, stripOwn, withoutPrivate } from '../injected.ts'
import { type Fields, id, parseLine, present, type ToolCall, type ToolResult, typeName, type Usage } from './fields.ts'

/** `injected`: put there by a harness, a hook or this program, not said. `system`: a record of the harness. */
export type By = 'person' | 'agent' | 'tool' | 'injected' | 'system'

/** `settling`: the harness marks no end; it is one if nothing follows for a while. */
export type End = 'final' | 'aborted' | 'settling'

export type Message = {
  kind: 'message'
  by: By
  /** What a person or an agent said, without private spans and without anything injected; empty for everything else. */
  text: string
  toolCalls: ToolCall[]
  toolResults: ToolResult[]
  /** Absent where the line has none: then its place names it. */
  id?: string
  /** `null` begins a chain; absent means that it follows the message before it. */
  parentId?: string | null
  at?: number
  /** Where it was said, in minutes east of Greenwich, if the line tells. */
  minutesEast?: number
  /** Lines that share it are parts of one answer, and each repeats the usage of the whole. */
  answerId?: string
  usage?: Usage
  /** A count over the session so far, and how much of it is new. */
  total?: { usage: Usage; last: Usage }
  model?: string
  cwd?: string
  branch?: string
  /** Whose conversation it is when it is not that of the session itself. */
  subAgent?: string
  startsTurn?: true
  /** The turn as the harness names it: what is said within one it already runs begins no other. */
  turnId?: string
  ends?: End
}

/** What a line tells about the session, true from there on. */
export type SessionFact = {
  kind: 'session'
  sessionId?: string
  /** The transcript is that of a sub-agent of the session. */
  subAgent?: string
  forkOf?: string
  cwd?: string
  branch?: string
  model?: string
  startedAt?: number
  interactive?: boolean
}

export type Compacted = { kind: 'compacted'; trigger?: 'manual' | 'auto'; at?: number }

/** Dropped: a message and all that came after it, or the last turns. */
export type Rewound = { kind: 'rewound'; from: string } | { kind: 'rewound'; turns: number }

export type Fact =
  | Message
  | SessionFact
  | Compacted
  | Rewound
  | { kind: 'bookkeeping' }
  | { kind: 'unknown'; type: string }
  | { kind: 'broken' }

/** What the path of a transcript tells by itself; where its lines say otherwise, they are right. */
export type Described = { [K in 'harness' | 'sessionId' | 'subAgent']?: string | undefined }

/** Paths are relative to a root of the harness, with `/` between names. */
export type Adapter = {
  harness: HarnessName
  /** How many levels of folders the harness makes below its root. */
  depth: number
  /** The first level whose folders change with each new transcript in them: what is above may look old and be in use. */
  ageingLevel?: number
  /** The root for a transcript that stands elsewhere, so that the rest of its path has the form that is expected. */
  rootOf?(path: string): string
  isTranscript(path: string): boolean
  /** Whether any can be below a folder, where the harness keeps other things beside them as well. */
  mayHold?(folder: string): boolean
  /** A line as no other harness writes it. The generic form knows only that it could be one of its own. */
  recognises(record: Fields): boolean
  describe(path: string): Described
  read(line: string): Fact[]
  /** For harnesses whose lines do not say where a session runs: files beside the transcripts that do. */
  folder?: {
    /** In the order in which they are to be believed. */
    files(path: string): string[]
    cwd(path: string, texts: ReadonlyMap<string, string>): string | undefined
  }
}

export function sessionFact(told: { [K in keyof SessionFact]?: SessionFact[K] | undefined }): SessionFact {
  return present<SessionFact>({ kind: 'session', ...told })
}

export function compacted(at: number | undefined, trigger?: unknown): Compacted {
  const known = trigger === 'manual' || trigger === 'auto' ? trigger : undefined
  return present<Compacted>({ kind: 'compacted', trigger: known, at })
}

export function unknownFact(type: unknown, group = ''): Fact {
  return { kind: 'unknown', type: `${group}${typeName(type)}` }
}

export function toolResult(callId: unknown, text: string): Draft {
  return { by: 'tool', toolResults: [{ callId: id(callId) ?? '', text }] }
}

/** A line without anything is nothing; one that is no JSON object is broken. */
export function reader(interpret: (record: Fields) => Fact[]): Adapter['read'] {
  return (line) => {
    const record = parseLine(line)
    if (record) return interpret(record)
    return line.trim() === '' ? [] : [{ kind: 'broken' }]
  }
}

export type Draft = { [K in keyof Message]?: Message[K] | undefined } & { by: By }

const NONE: readonly never[] = []

/** Field by field and in one order: every line of every transcript comes through here, and copies in a loop are slow. */
export function compose(draft: Draft): Message {
  const { by, text, startsTurn } = heard(draft)
  const message: Message = { kind: 'message', by, text, toolCalls: [], toolResults: [] }
  // What an agent calls comes after what it says.
  const hidden = by === 'agent' && draft.toolCalls !== undefined && isPrivateToTheEnd(draft.text ?? '')
  for (const { id, name, input } of draft.toolCalls ?? NONE)
    message.toolCalls.push({ id, name, input: hidden ? '' : withoutPrivate(input) })
  for (const { callId, text } of draft.toolResults ?? NONE)
    message.toolResults.push({ callId, text: withoutPrivate(stripInjected(text)) })
  if (draft.id !== undefined) message.id = draft.id
  if (draft.parentId !== undefined) message.parentId = draft.parentId
  if (draft.at !== undefined) message.at = draft.at
  if (draft.minutesEast !== undefined) message.minutesEast = draft.minutesEast
  if (draft.answerId !== undefined) message.answerId = draft.answerId
  if (draft.usage !== undefined) message.usage = draft.usage
  if (draft.total !== undefined) message.total = draft.total
  if (draft.model !== undefined) message.model = draft.model
  if (draft.cwd !== undefined) message.cwd = draft.cwd
  if (draft.branch !== undefined) message.branch = draft.branch
  if (draft.subAgent !== undefined) message.subAgent = draft.subAgent
  if (startsTurn !== undefined) message.startsTurn = startsTurn
  if (draft.turnId !== undefined) message.turnId = draft.turnId
  if (draft.ends !== undefined) message.ends = draft.ends
  return message
}

/** What is said to a sub-agent comes from the agent that called it. */
export function speaker(by: By, subAgent: string | undefined): By {
  return by === 'person' && subAgent !== undefined ? 'agent' : by
}

function heard({ by, text = '', startsTurn, subAgent }: Draft): Pick<Draft, 'by' | 'startsTurn'> & { text: string } {
  if (by === 'agent') return { by, startsTurn, text: withoutPrivate(stripOwn(text)) }
  if (by !== 'person') return { by, startsTurn, text: '' }
  // What is injected first: a mark of privacy in it must not swallow what the person said after it.
  const said = stripInjected(text)
  // Without any text it may be a picture; with nothing but injected text it was not said.
  if (said === '' && text.trim() !== '') return { by: 'injected', startsTurn: undefined, text: '' }
  return { by: speaker(by, subAgent), startsTurn, text: withoutPrivate(said) }
}
