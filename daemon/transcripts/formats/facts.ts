/** What the lines of all formats become, and how an adapter makes it: no message keeps injected or private text. */
import type { HarnessName } from '../../../schema/session.ts'
import { isPrivateToTheEnd, stripInjected, stripOwn, withoutPrivate } from '../injected.ts'
import { count, type Fields, fields, id, list, parseLine, present, text, wordSet } from './fields.ts'

/** `injected`: put there by a harness, a hook or this program, not said. `system`: a record of the harness. */
export type By = 'person' | 'agent' | 'tool' | 'injected' | 'system'

/** `settling`: the harness marks no end; it is one if nothing follows for a while. */
export type End = 'final' | 'aborted' | 'settling'

/** Input without what came from or went into a cache, so that the four add up to what was processed. */
export type Usage = { input: number; output: number; cacheRead: number; cacheWrite: number }

export type ToolCall = { id: string; name: string; input: string }
type ToolResult = { callId: string; text: string }

export type Message = {
  kind: 'message'
  by: By
  text: string
  toolCalls: ToolCall[]
  toolResults: ToolResult[]
  /** Absent where the line has none: then its place names it. */
  id?: string
  /** `null` begins a chain; absent means that it follows the message before it. */
  parentId?: string | null
  at?: number
  minutesEast?: number
  /** Lines that share it are parts of one answer, and each repeats the usage of the whole. */
  answerId?: string
  usage?: Usage
  /** A count over the session so far, and how much of it is new. */
  total?: { usage: Usage; last: Usage }
  model?: string
  cwd?: string
  branch?: string
  subAgent?: string
  startsTurn?: true
  /** The turn as the harness names it: what is said within one it already runs begins no other. */
  turnId?: string
  ends?: End
}

/** What a line tells about the session, true from there on. `subAgent`: the transcript is that of a sub-agent of it. */
export type SessionFact = {
  kind: 'session'
  sessionId?: string
  subAgent?: string
  forkOf?: string
  cwd?: string
  branch?: string
  model?: string
  startedAt?: number
  interactive?: boolean
}

type Compacted = { kind: 'compacted'; trigger?: 'manual' | 'auto'; at?: number }

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

/** Paths are relative to a root of the harness, with `/` between names. */
export type Adapter = {
  harness: HarnessName
  depth: number
  /** The first level whose folders change with each new transcript in them: what is above may look old and be in use. */
  ageingLevel: number
  /** The root for a transcript that stands elsewhere, so that the rest of its path has the form that is expected. */
  rootOf?(path: string): string
  isTranscript(path: string): boolean
  /** Whether any can be below a folder, where the harness keeps other things beside them as well. */
  mayHold?(folder: string): boolean
  /** A line as no other harness writes it. The generic form knows only that it could be one of its own. */
  recognises(record: Fields): boolean
  /** What the path tells by itself; where the lines say otherwise, they are right. */
  describe(path: string): { [K in 'harness' | 'sessionId' | 'subAgent']?: string | undefined }
  read(line: string): Fact[]
  /** For harnesses whose lines do not say where a session runs: files that do, the most credible first. */
  folder?: { files(path: string): string[]; cwd(path: string, texts: ReadonlyMap<string, string>): string | undefined }
}

type Maybe<T> = { [K in keyof T]?: T[K] | undefined }
export type Draft = Maybe<Message> & { by: By }

/** A line without anything is nothing; one that is no JSON object is broken. */
export function reader(interpret: (record: Fields) => Fact[]): Adapter['read'] {
  return (line) => {
    const record = parseLine(line)
    if (record) return interpret(record)
    return line.trim() === '' ? [] : [{ kind: 'broken' }]
  }
}

export function compose(draft: Draft): Message {
  const { by, text = '', toolCalls = [], toolResults = [] } = draft
  // What an agent calls comes after what it says.
  const isHidden = by === 'agent' && isPrivateToTheEnd(text)
  return present<Message>({
    ...draft,
    ...heard(draft),
    kind: 'message',
    toolCalls: toolCalls.map((call) => ({ ...call, input: isHidden ? '' : withoutPrivate(call.input) })),
    toolResults: toolResults.map((result) => ({ ...result, text: withoutPrivate(stripInjected(result.text)) })),
  })
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

export function speaker(by: By, subAgent: string | undefined): By {
  return by === 'person' && subAgent !== undefined ? 'agent' : by
}

export function sessionFact(told: Maybe<SessionFact>): SessionFact {
  return present<SessionFact>({ ...told, kind: 'session' })
}

export function compacted(at: number | undefined, trigger?: unknown): Compacted {
  const known = trigger === 'manual' || trigger === 'auto' ? trigger : undefined
  return present<Compacted>({ kind: 'compacted', trigger: known, at })
}

/** Never a message that stands in the place of a type. */
export function unknownFact(type: unknown, group = ''): Fact {
  const name = text(type)
  return { kind: 'unknown', type: `${group}${/^[\w.:/-]{1,64}$/.test(name) ? name : 'nameless'}` }
}

export function toolResult(callId: unknown, text: string): Draft {
  return { by: 'tool', toolResults: [{ callId: id(callId) ?? '', text }] }
}

export function toolCall(callId: unknown, name: unknown, input: unknown): ToolCall {
  const called = id(name) ?? ''
  return { id: id(callId) ?? '', name: called, input: toolInput(called, input) }
}

/** Nothing where all are zero: harnesses write such usage for what they made up themselves. */
export function usage(
  ...counts: [input: unknown, output: unknown, read: unknown, written: unknown]
): Usage | undefined {
  const [input = 0, output = 0, cacheRead = 0, cacheWrite = 0] = counts.map(count)
  return input + output + cacheRead + cacheWrite > 0 ? { input, output, cacheRead, cacheWrite } : undefined
}

const CAP_CHARS = 16_000
const MAX_DEPTH = 8

/** What a tool was asked to do, as one text: the command of a shell, else compact JSON of bounded size. */
export function toolInput(name: string, input: unknown): string {
  if (typeof input === 'string') return input
  // Other tools may call one of many fields `command`, and the rest says what for.
  const isShell = isShellTool(name) || Object.keys(fields(input)).length === 1
  return (isShell && command(fields(input))) || (JSON.stringify(bounded(input)) ?? '')
}

function command({ command, cmd }: Fields): string {
  const given = command ?? cmd
  if (typeof given === 'string') return given
  const words = list(given).filter((word) => typeof word === 'string')
  return words.join(' ')
}

/** JSON.stringify knows no limit and runs out of stack on deep values: what is too much is left out before it. */
function bounded(value: unknown): unknown {
  let room = CAP_CHARS
  const take = (words: string): string => {
    const kept = words.slice(0, Math.max(0, room))
    room -= kept.length
    return kept
  }
  const copy = (item: unknown, depth: number): unknown => {
    room -= 4
    if (typeof item === 'string') return take(item)
    if (typeof item !== 'object' || item === null) return item
    if (depth === MAX_DEPTH) return '…'
    const kept: [string, unknown][] = []
    for (const [key, inner] of Object.entries(item)) {
      if (room <= 0) break
      kept.push([Array.isArray(item) ? key : take(key), copy(inner, depth + 1)])
    }
    return Array.isArray(item) ? kept.map(([, inner]) => inner) : Object.fromEntries(kept)
  }
  return copy(value, 0)
}

const SHELLS = wordSet('bash exec_command local_shell powershell run_shell_command shell shell_command')

/** Some put the name of a server before it. */
export function isShellTool(name: string): boolean {
  return SHELLS.has((name.split('.').at(-1) ?? '').toLowerCase())
}

export type Content = { text: string; toolCalls: ToolCall[]; toolResults: ToolResult[]; onlyThoughts: boolean }

const CALLS = wordSet('tool_use server_tool_use mcp_tool_use toolCall')
const RESULTS = wordSet('tool_result mcp_tool_result')
const THOUGHTS = wordSet('thinking redacted_thinking')

export function readContent(content: unknown): Content {
  const toolCalls: ToolCall[] = []
  const toolResults: ToolResult[] = []
  const blocks = list(content).map(fields)
  for (const block of blocks) {
    const type = text(block.type)
    if (CALLS.has(type)) toolCalls.push(toolCall(block.id, block.name, block.input ?? block.arguments))
    if (RESULTS.has(type)) toolResults.push({ callId: id(block.tool_use_id) ?? '', text: plainText(block.content) })
  }
  const onlyThoughts = blocks.length > 0 && blocks.every(({ type }) => THOUGHTS.has(text(type)))
  return { text: plainText(content), toolCalls, toolResults, onlyThoughts }
}

export function plainText(content: unknown): string {
  if (typeof content === 'string') return content
  const blocks = list(content).map(fields)
  return blocks.flatMap(({ text, thought }) => (typeof text === 'string' && thought !== true ? text : [])).join('\n')
}
