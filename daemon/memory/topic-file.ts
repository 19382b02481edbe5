/** A topic file: one memory, typed front matter and a body. Reads leniently, prints strictly, changes only what is named. Pure. */
import { MemoryType, Trust } from '../../schema/memory.ts'
import { parseFrontMatter } from '../platform/front-matter.ts'
import { LINE_START, setField, splitFrontMatter, yamlScalar } from './front-matter-edit.ts'
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
  const read = parseFrontMatter(text)
  const block = splitFrontMatter(text)
  if (!block) return { body: read.body, raw: read.raw, ...problemOf(read) }
  const data = read.problem === undefined ? read.data : readLines(block.yaml)
  const body = block.body.replace(/^(?:[ \t]*\r?\n)+/, '')
  return { ...fieldsOf(data), body, raw: text.slice(0, text.length - body.length), ...problemOf(read) }
}

/** The fields alone, those that are there. */
export function topicFields(text: string): Partial<TopicFields> {
  const { body: _body, raw: _raw, problem: _problem, ...fields } = parseTopic(text)
  return fields
}

function problemOf({ problem }: { problem?: string }): { problem?: string } {
  return problem === undefined ? {} : { problem }
}

function fieldsOf(data: Record<string, unknown>): Partial<TopicFields> {
  const nested = data[TYPE_BLOCK] as Record<string, unknown> | null | undefined
  const name = asLine(data.name)
  const description = asLine(data.description)
  const type =
    MemoryType.options.find((known) => known === data.type) ??
    MemoryType.options.find((known) => known === nested?.type)
  const mark = data.trust ?? undefined
  // A mark that cannot be read must not make a memory more trusted than it was meant to be.
  const trust = mark === undefined ? undefined : (Trust.options.find((known) => known === mark) ?? 'untrusted')
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(type !== undefined && { type }),
    ...(trust !== undefined && { trust }),
  }
}

function asLine(value: unknown): string | undefined {
  if (value === null || value === undefined || typeof value === 'object') return undefined
  return oneLine(String(value)) || undefined
}

/** The fields of a front matter that is no YAML, as far as they stand on lines of their own. */
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

/** Changes the named fields (and the body, if given) where they say something else, and nothing else by a byte. */
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
  if (raw.trim() === '')
    return [
      refuse(
        'front-matter',
        problem ?? 'it has no front matter; start with name, description and type between --- lines',
      ),
    ]
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
