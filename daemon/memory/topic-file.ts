/** A topic file: one memory, typed front matter and a body. Reads leniently, prints strictly, changes only what is named. Pure. */
import { isMap, isScalar, type Node, type Pair, parseDocument, type Scalar, type YAMLMap } from 'yaml'
import { Trust } from '../../schema/memory.ts'
import { MemoryType } from '../../schema/values.ts'
import { isPlainScalar, nestsTooDeep, parseFrontMatter } from '../platform/front-matter.ts'
import { oneLine, shorten } from './pointer.ts'

export type TopicFields = { name: string; description: string; type: MemoryType; trust?: Trust }

export type Topic = Partial<TopicFields> & {
  body: string
  /** All that stands before the body: `raw + body` is the text. Empty without front matter. */
  raw: string
  /** Why the front matter is not valid; the fields are then those that stand on lines of their own. */
  problem?: string
}

export const TOPIC_BYTES = 64 * 1024
const HOOK_CHARS = 110

const FIELDS = ['name', 'description', 'type', 'trust'] as const

/** Newer versions of Claude Code keep the type in a `metadata` block; it stays where it is found. */
const TYPE_BLOCK = 'metadata'

export function parseTopic(text: string): Topic {
  const { data, problem, ...read } = parseFrontMatter(text)
  const why = problem === undefined ? {} : { problem }
  const block = splitFrontMatter(text)
  if (!block) return { ...read, ...why }
  const body = withoutBlankStart(block.body)
  const fields = fieldsOf(problem === undefined ? data : readLines(block.yaml))
  return { ...fields, body, raw: text.slice(0, text.length - body.length), ...why }
}

/** As `parseTopic` tells it, for a reader that knows the fields. */
export function bodyOf(text: string): string {
  const block = splitFrontMatter(text)
  return block ? withoutBlankStart(block.body) : parseFrontMatter(text).body
}

function withoutBlankStart(body: string): string {
  return body.replace(/^(?:[ \t]*\r?\n)+/, '')
}

export function topicFields(text: string): Partial<TopicFields> {
  const { body: _body, raw: _raw, problem: _problem, ...fields } = parseTopic(text)
  return fields
}

function fieldsOf(data: Record<string, unknown>): Partial<TopicFields> {
  const nested = data[TYPE_BLOCK] as Record<string, unknown> | null | undefined
  const type =
    MemoryType.options.find((known) => known === data.type) ??
    MemoryType.options.find((known) => known === nested?.type)
  const mark = data.trust ?? undefined
  // A mark that cannot be read must not make a memory more trusted than it was meant to be.
  const trust = mark === undefined ? undefined : (Trust.options.find((known) => known === mark) ?? 'untrusted')
  return withValues({ name: asLine(data.name), description: asLine(data.description), type, trust })
}

export function withValues<T extends object>(fields: T): { [Field in keyof T]?: NonNullable<T[Field]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)) as T
}

function asLine(value: unknown): string | undefined {
  if (value === null || value === undefined || typeof value === 'object') return undefined
  return oneLine(String(value)) || undefined
}

function readLines(yaml: string): Record<string, string> {
  const data: Record<string, string> = {}
  for (const field of FIELDS) {
    const indent = field === 'type' ? '[ \\t]*' : ''
    const value = new RegExp(`${LINE_START}${indent}${field}[ \\t]*:[ \\t]*([^\\n]*)`).exec(yaml)?.[1]?.trim()
    if (value !== undefined) data[field] = value.replace(/^(["'])(.*)\1$/, '$2')
  }
  return data
}

/** A new file, in the form Claude Code writes. The body ends with a newline. */
export function printTopic({ body, ...fields }: TopicFields & { body: string }): string {
  const text = body.replace(/^(?:[ \t]*\r?\n)+/, '')
  return `${printFields(fields)}${text === '' ? '' : `\n${text}${text.endsWith('\n') ? '' : '\n'}`}`
}

function printFields(fields: Partial<TopicFields>): string {
  const lines = FIELDS.flatMap((field) => {
    const value = fields[field]
    return value === undefined ? [] : [`${field}: ${yamlScalar(oneLine(value))}\n`]
  })
  return `---\n${lines.join('')}---\n`
}

/** Changes fields and body only where they say something else, and nothing else by a byte. */
export function updateTopic(text: string, { body, ...patch }: Partial<TopicFields> & { body?: string }): string {
  const topic = parseTopic(text)
  const block = splitFrontMatter(text)
  if (!block) {
    const fresh = FIELDS.some((field) => patch[field] !== undefined) ? `${printFields(patch)}\n` : ''
    return topic.raw + fresh + (body ?? topic.body)
  }
  const end = block.head.endsWith('\r\n') ? '\r\n' : '\n'
  const yaml = FIELDS.reduce((before, key) => {
    const value = patch[key] === undefined ? undefined : oneLine(patch[key])
    if (value === undefined || value === topic[key]) return before
    const after = FIELDS.slice(0, FIELDS.indexOf(key))
    return setField(before, { key, after, end, ...(key === 'type' && { inside: TYPE_BLOCK }) }, value)
  }, block.yaml)
  if (body === undefined) return block.head + yaml + block.tail + block.body
  const blank = block.body.slice(0, block.body.length - topic.body.length)
  const separator = topic.body === '' && body !== '' ? (block.tail.endsWith('\n') ? end : end + end) : blank
  return block.head + yaml + block.tail + separator + body
}

/** What the index says of a memory: every session reads it, so it says too what is only claimed. */
export function hookOf({ description = '', trust }: Pick<Topic, 'description' | 'trust'>): string {
  return shorten(trust === 'untrusted' ? `(untrusted) ${description}` : description, HOOK_CHARS)
}

export type TopicProblem = {
  /** `refuse`: not fit to be written. `advice`: written all the same, and the writer is told. */
  weight: 'refuse' | 'advice'
  kind: 'size' | 'text' | 'front-matter' | 'name' | 'description' | 'type' | 'why' | 'how-to-apply'
  text: string
}

export function topicProblems(text: string): TopicProblem[] {
  const bytes = Buffer.byteLength(text)
  if (bytes > TOPIC_BYTES)
    return [refuse('size', `it has ${bytes} bytes, a memory at most ${TOPIC_BYTES}; split it by topic`)]
  if (text.includes('\0')) return [refuse('text', 'it holds a NUL byte')]
  if (/\p{Cs}/u.test(text)) return [refuse('text', 'it holds half of a surrogate pair, which UTF-8 cannot express')]

  const { name, description, type, body, raw, problem } = parseTopic(text)
  if (raw.trim() === '') {
    const missing = 'it has no front matter; start with name, description and type between --- lines'
    return [refuse('front-matter', problem ?? missing)]
  }
  const problems: TopicProblem[] = []
  // Claude Code reads such a file too: what can be made out of it decides.
  if (problem !== undefined) problems.push({ weight: 'advice', kind: 'front-matter', text: problem })
  if (name === undefined) problems.push(refuse('name', 'the front matter has no name'))
  if (description === undefined)
    problems.push(refuse('description', 'the front matter has no description; say in one line what the memory holds'))
  if (type === undefined)
    problems.push(refuse('type', `the front matter has no type; use one of ${MemoryType.options.join(', ')}`))
  if (type === 'feedback' || type === 'project') {
    if (!/\*\*Why\b/i.test(body)) problems.push(advise('why', type))
    if (!/\*\*How to apply\b/i.test(body)) problems.push(advise('how-to-apply', type))
  }
  return problems
}

function refuse(kind: TopicProblem['kind'], text: string): TopicProblem {
  return { weight: 'refuse', kind, text }
}

function advise(kind: 'why' | 'how-to-apply', type: string): TopicProblem {
  const line = kind === 'why' ? '**Why:**' : '**How to apply:**'
  return { weight: 'advice', kind, text: `a ${type} memory should have a ${line} line` }
}

/** `head + yaml + tail + body` is the text: the opening line, what stands between, the closing line, the rest. */
type Block = { head: string; yaml: string; tail: string; body: string }

const BLOCK = /^(\uFEFF?---[ \t]*(?:ya?ml)?[ \t]*\r?\n)((?:.*?\n)?)(---[ \t]*(?:\r?\n|\r?$))/is

export function splitFrontMatter(text: string): Block | undefined {
  const [whole, head, yaml, tail] = BLOCK.exec(text) ?? []
  if (whole === undefined || head === undefined || yaml === undefined || tail === undefined) return undefined
  return { head, yaml, tail, body: text.slice(whole.length) }
}

/** `inside`: a block that may hold the field instead. A new one stands after those named by `after`, ending in `end`. */
type Field = { key: string; inside?: string; after: readonly string[]; end: string }

export function setField(yaml: string, field: Field, value: string): string {
  const map = readMap(yaml)
  if (!map) return setLine(yaml, field, value)
  const inner = field.inside === undefined ? undefined : findPair(map, field.inside)?.value
  for (const holder of isMap(inner) ? [map, inner] : [map]) {
    const pair = findPair(holder, field.key)
    if (pair) return replaceValue(yaml, { holder, pair, field, value })
  }
  if (map.flow) return splice(yaml, offsetOf(map) + 1, 0, `${field.key}: ${JSON.stringify(value)}, `)
  return insertEntry(yaml, map, field, value)
}

function readMap(yaml: string): YAMLMap | undefined {
  if (nestsTooDeep(yaml)) return undefined
  try {
    const document = parseDocument(yaml, { schema: 'core', uniqueKeys: false, logLevel: 'silent', prettyErrors: false })
    const map: unknown = document.contents
    return document.errors.length === 0 && isMap(map) ? map : undefined
  } catch {
    return undefined
  }
}

type Found = { holder: YAMLMap; pair: Pair; field: Field; value: string }

function replaceValue(yaml: string, { holder, pair, field, value }: Found): string {
  const node = pair.value
  if (!isScalar(node) || !node.range || node.tag !== undefined) return setLine(yaml, field, value)
  const [start, end] = node.range
  // A block scalar owns the newline after its last line; a missing value may touch its colon or a comment.
  const newline = /\r?\n$/.exec(yaml.slice(start, end))?.[0] ?? ''
  const before = yaml[start - 1] === ':' ? ' ' : ''
  const after = newline === '' && yaml[end] === '#' ? ' ' : ''
  const text = holder.flow ? JSON.stringify(value) : yamlScalar(value)
  return splice(yaml, start, end - start, `${before}${text}${newline}${after}`)
}

function insertEntry(yaml: string, map: YAMLMap, { key, after, end }: Field, value: string): string {
  const first = yaml.lastIndexOf('\n', offsetOf(map.items[0]?.key) - 1) + 1
  const indent = /^[ \t]*/.exec(yaml.slice(first))?.[0] ?? ''
  const previous = after.map((name) => findPair(map, name)?.value).filter((node) => isScalar(node) && node.range)
  const ends = previous.map((node) => lineEnd(yaml, (node as Scalar).range?.[1] ?? 0))
  const at = ends.length > 0 ? Math.max(...ends) : first
  return splice(yaml, at, 0, `${indent}${key}: ${yamlScalar(value)}${end}`)
}

/** Not `^`, which also matches after U+2028: only a newline starts a line. */
const LINE_START = '(?<![^\\n])'

/** Without a YAML parser: a field is a line, with the indented lines and list items below it. */
function setLine(yaml: string, { key, inside, after, end }: Field, value: string): string {
  const entry = (name: string, indent: string) =>
    new RegExp(`${LINE_START}(${indent})${name}[ \\t]*:[^\\n]*(?:\\n(?:\\1[ \\t]+\\S|-[ \\t])[^\\n]*)*\\n?`).exec(yaml)
  const own = entry(key, '') ?? (inside === undefined ? null : entry(key, '[ \\t]+'))
  const line = `${own?.[1] ?? ''}${key}: ${yamlScalar(value)}${end}`
  if (own) return splice(yaml, own.index, own[0].length, line)
  const ends = after.map((name) => entry(name, '')).map((found) => (found ? found.index + found[0].length : 0))
  return splice(yaml, Math.max(0, ...ends), 0, line)
}

export function yamlScalar(text: string): string {
  return isPlainScalar(text) ? text : JSON.stringify(text)
}

function findPair(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find((pair) => isScalar(pair.key) && pair.key.value === key)
}

function offsetOf(node: unknown): number {
  return (node as Node | undefined)?.range?.[0] ?? 0
}

function lineEnd(text: string, at: number): number {
  if (text[at - 1] === '\n') return at
  const newline = text.indexOf('\n', at)
  return newline === -1 ? text.length : newline + 1
}

function splice(text: string, at: number, length: number, insert: string): string {
  return text.slice(0, at) + insert + text.slice(at + length)
}
