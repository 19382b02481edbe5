/** Fields of JSON that other programs wrote, each of the kind asked for or nothing. Throws nothing. */
import { shapeOf } from '../../platform/json.ts'

/** Input without what came from or went into a cache, so that the four add up to what was processed. */
export type Usage = { input: number; output: number; cacheRead: number; cacheWrite: number }

export type ToolCall = { id: string; name: string; input: string }
export type ToolResult = { callId: string; text: string }

export type Fields = Readonly<Record<string, unknown>>

const NO_FIELDS: Fields = Object.freeze({})
const MAX_ID_CHARS = 512
const MAX_PATH_CHARS = 4096
const MAX_NAME_CHARS = 64
const LATEST_MS = Date.UTC(9999, 11, 31)

/** A line shorter than this cannot hold more than a few megabytes once it is parsed. */
const SHORT_CHARS = 100_000
/** More than any harness writes into one line: a list of a million empty objects already is half a hundred megabytes. */
const MOST_VALUES = 1_000_000
const MOST_DEPTH = 1_000

/** Nothing for what is no JSON object, and for one made to take up more memory than it is worth. */
export function parseLine(line: string): Fields | undefined {
  if (line.length > SHORT_CHARS && isBomb(line)) return undefined
  try {
    const value: unknown = JSON.parse(line)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isBomb(line: string): boolean {
  const { values, depth } = shapeOf(line)
  return values > MOST_VALUES || depth > MOST_DEPTH
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

/** The parent as a line gives it: an id, `null` for none, nothing when the line does not speak of it. */
export function parent(value: unknown): string | null | undefined {
  return value === null ? null : id(value)
}

export function folder(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_PATH_CHARS) return undefined
  return value.startsWith('/') && !value.includes('\0') ? value : undefined
}

export function time(value: unknown): number | undefined {
  const at =
    typeof value === 'string' && value.length <= MAX_NAME_CHARS && /^\d{4}-\d\d-\d\dT/.test(value)
      ? Date.parse(value)
      : typeof value === 'number'
        ? Math.trunc(value < 100_000_000_000 ? value * 1000 : value)
        : Number.NaN
  return at >= 0 && at <= LATEST_MS ? at : undefined
}

/** How many minutes east of Greenwich a time was written, where it says more than that it is reckoned from there. */
export function zone(value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length > MAX_NAME_CHARS) return undefined
  const written = /T.*([+-])(\d\d):?(\d\d)$/.exec(value)
  if (!written || time(value) === undefined) return undefined
  const minutes = Number(written[2]) * 60 + Number(written[3])
  return minutes === 0 ? undefined : written[1] === '-' ? -minutes : minutes
}

export function count(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= Number.MAX_SAFE_INTEGER ? Math.trunc(value) : 0
}

/** Nothing where all are zero: harnesses write such usage for what they made up themselves. */
export function usage(input: unknown, output: unknown, cacheRead: unknown, cacheWrite: unknown): Usage | undefined {
  const used = {
    input: count(input),
    output: count(output),
    cacheRead: count(cacheRead),
    cacheWrite: count(cacheWrite),
  }
  return used.input + used.output + used.cacheRead + used.cacheWrite > 0 ? used : undefined
}

/** The name of a type for a count that people see: never a message that stands in its place. */
export function typeName(value: unknown): string {
  return typeof value === 'string' && value.length <= MAX_NAME_CHARS && /^[\w.:/-]+$/.test(value) ? value : 'nameless'
}

/** Without the fields that hold nothing. A loop: every line of every transcript comes through here. */
export function present<T extends object>(all: { [K in keyof T]: T[K] | undefined }): T {
  const held: Partial<T> = {}
  for (const key in all) {
    const value = all[key]
    if (value !== undefined) held[key] = value
  }
  return held as T
}

/** What a tool was asked to do, as one text: the command of a shell, else compact JSON of bounded size. Pure. */
const CAP_CHARS = 16_000
const MAX_DEPTH = 8

export function toolInput(name: string, input: unknown): string {
  if (typeof input === 'string') return input
  return (isShell(name, input) && command(input)) || (JSON.stringify(bounded(input)) ?? '')
}

/** Other tools may call one of many fields `command`, and the rest says what for. */
function isShell(name: string, input: unknown): boolean {
  return isShellTool(name) || Object.keys(fields(input)).length === 1
}

function command(input: unknown): string {
  const given = fields(input).command ?? fields(input).cmd
  if (typeof given === 'string') return given
  return list(given)
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

export type Content = { text: string; toolCalls: ToolCall[]; toolResults: ToolResult[]; onlyThoughts: boolean }

const CALLS = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use', 'toolCall'])
const RESULTS = new Set(['tool_result', 'mcp_tool_result'])
const THOUGHTS = new Set(['thinking', 'redacted_thinking'])

export function readContent(content: unknown): Content {
  const toolCalls: ToolCall[] = []
  const toolResults: ToolResult[] = []
  const blocks = list(content)
  let onlyThoughts = blocks.length > 0
  for (const item of blocks) {
    const block = fields(item)
    const type = text(block.type)
    if (!THOUGHTS.has(type)) onlyThoughts = false
    if (CALLS.has(type)) toolCalls.push(toolCall(block.id, block.name, block.input ?? block.arguments))
    if (RESULTS.has(type)) toolResults.push({ callId: id(block.tool_use_id) ?? '', text: plainText(block.content) })
  }
  return { text: plainText(content), toolCalls, toolResults, onlyThoughts }
}

export function plainText(content: unknown): string {
  if (typeof content === 'string') return content
  const texts: string[] = []
  for (const item of list(content)) {
    const block = fields(item)
    if (typeof block.text === 'string' && block.thought !== true) texts.push(block.text)
  }
  return texts.join('\n')
}

export function toolCall(callId: unknown, name: unknown, input: unknown): ToolCall {
  const called = id(name) ?? ''
  return { id: id(callId) ?? '', name: called, input: toolInput(called, input) }
}

const SHELLS = new Set([
  'bash',
  'exec_command',
  'local_shell',
  'powershell',
  'run_shell_command',
  'shell',
  'shell_command',
])

/** Some put the name of a server before it. */
export function isShellTool(name: string): boolean {
  return SHELLS.has((name.split('.').at(-1) ?? '').toLowerCase())
}
