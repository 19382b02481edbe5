/** What the lines of all formats become, and how an adapter makes it: nothing injected and nothing private is left in a message. */
import type { HarnessName } from '../../../schema/session.ts'
import { shapeOf } from '../../platform/json.ts'
import { isPrivateToTheEnd, stripInjected, stripOwn, withoutPrivate } from '../injected.ts'

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
  /** What a person or an agent said; empty for everything else. */
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
  /** Whose conversation it is when it is not that of the session itself. */
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
  /** What the path tells by itself; where the lines say otherwise, they are right. */
  describe(path: string): { [K in 'harness' | 'sessionId' | 'subAgent']?: string | undefined }
  read(line: string): Fact[]
  /** For harnesses whose lines do not say where a session runs: files beside the transcripts that do, the most credible first. */
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
  // What an agent calls comes after what it says.
  const isHidden = draft.by === 'agent' && draft.toolCalls !== undefined && isPrivateToTheEnd(draft.text ?? '')
  return present<Message>({
    ...draft,
    ...heard(draft),
    kind: 'message',
    toolCalls: (draft.toolCalls ?? []).map((call) => ({ ...call, input: isHidden ? '' : withoutPrivate(call.input) })),
    toolResults: (draft.toolResults ?? []).map(({ callId, text }) => ({
      callId,
      text: withoutPrivate(stripInjected(text)),
    })),
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

/** What is said to a sub-agent comes from the agent that called it. */
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

/** The type is shown to the user: never a message that stands in its place. */
export function unknownFact(type: unknown, group = ''): Fact {
  const isName = typeof type === 'string' && type.length <= MAX_NAME_CHARS && /^[\w.:/-]+$/.test(type)
  return { kind: 'unknown', type: `${group}${isName ? type : 'nameless'}` }
}

export function toolResult(callId: unknown, text: string): Draft {
  return { by: 'tool', toolResults: [{ callId: id(callId) ?? '', text }] }
}

export function toolCall(callId: unknown, name: unknown, input: unknown): ToolCall {
  const called = id(name) ?? ''
  return { id: id(callId) ?? '', name: called, input: toolInput(called, input) }
}

/** Fields of JSON that other programs wrote, each of the kind asked for or nothing. None of these functions throws. */
export type Fields = Readonly<Record<string, unknown>>

const NO_FIELDS: Fields = Object.freeze({})
const MAX_ID_CHARS = 512
const MAX_PATH_CHARS = 4096
const MAX_NAME_CHARS = 64
const LATEST_MS = Date.UTC(9999, 11, 31)
/** A shorter line takes a few megabytes at most once it is parsed. */
const SHORT_CHARS = 100_000
/** More than any harness writes into one line: a list of a million empty objects already is half a hundred megabytes. */
const MOST_VALUES = 1_000_000
const MOST_DEPTH = 1_000

/** Nothing for what is no JSON object, and for one made to take up more memory than it is worth. */
export function parseLine(line: string): Fields | undefined {
  if (line.length > SHORT_CHARS) {
    const { values, depth } = shapeOf(line)
    if (values > MOST_VALUES || depth > MOST_DEPTH) return undefined
  }
  try {
    const value: unknown = JSON.parse(line)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fields(value: unknown): Fields {
  return isFields(value) ? value : NO_FIELDS
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A name or an id; nothing when it is empty or too long to be one. */
export function id(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_CHARS ? value : undefined
}

/** `null` for a line that has no parent, nothing when it does not speak of it. */
export function parent(value: unknown): string | null | undefined {
  return value === null ? null : id(value)
}

export function folder(value: unknown): string | undefined {
  const path = text(value)
  return path.startsWith('/') && path.length <= MAX_PATH_CHARS && !path.includes('\0') ? path : undefined
}

export function time(value: unknown): number | undefined {
  let at = Number.NaN
  if (typeof value === 'number') at = Math.trunc(value < 100_000_000_000 ? value * 1000 : value)
  else if (/^\d{4}-\d\d-\d\dT.{0,53}$/.test(text(value))) at = Date.parse(text(value))
  return at >= 0 && at <= LATEST_MS ? at : undefined
}

/** How many minutes east of Greenwich a time was written, where it says more than that it is reckoned from there. */
export function zone(value: unknown): number | undefined {
  const written = time(value) === undefined ? '' : text(value)
  const [, sign, hours, minutes] = /T.*([+-])(\d\d):?(\d\d)$/.exec(written) ?? []
  if (sign === undefined) return undefined
  const east = Number(hours) * 60 + Number(minutes)
  return east === 0 ? undefined : sign === '-' ? -east : east
}

export function count(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= Number.MAX_SAFE_INTEGER ? Math.trunc(value) : 0
}

/** Nothing where all are zero: harnesses write such usage for what they made up themselves. */
export function usage(
  ...counts: [input: unknown, output: unknown, read: unknown, written: unknown]
): Usage | undefined {
  const [input = 0, output = 0, cacheRead = 0, cacheWrite = 0] = counts.map(count)
  return input + output + cacheRead + cacheWrite > 0 ? { input, output, cacheRead, cacheWrite } : undefined
}

/** Without the fields that hold nothing. */
export function present<T extends object>(all: { [K in keyof T]: T[K] | undefined }): T {
  const held: Partial<T> = {}
  for (const key in all) {
    const value = all[key]
    if (value !== undefined) held[key] = value
  }
  return held as T
}

export function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/))
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
  return typeof given === 'string'
    ? given
    : list(given)
        .filter((word) => typeof word === 'string')
        .join(' ')
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
