/** A summary with no model: what persons said, word for word, the files and commands, and what is open. Pure. */
import { BYTES_PER_TOKEN, headOf, tailOf } from '../platform/text.ts'
import { isShellTool } from '../transcripts/formats/facts.ts'
import {
  type Block,
  blocksIn,
  blocksOf,
  type Message,
  recordOf,
  resultIdOf,
  resultText,
  type ToolUse,
  textsOf,
  toolUsesOf,
} from './messages.ts'
import { isSummary, notSummedUpFrom, personTexts, summaryWords } from './summary.ts'

const CAP_REQUEST_CHARS = 4_000
const CAP_REQUESTS_CHARS = 40_000
const CAP_EARLIER_CHARS = 12_000
const CAP_FILES = 100
const CAP_COMMANDS = 40
const CAP_COMMAND_CHARS = 200
const CAP_LAST_CHARS = 2_000

export function extractiveSummary(messages: readonly Message[], openTodos: readonly string[] = []): string {
  const facts = factsOf(messages, openTodos)
  const ofKind = (kind: FactKind) => facts.filter((fact) => fact.kind === kind).map(({ text }) => text)
  const { read, ran } = doneIn(messages)
  const short = (text: string) => clip(text, CAP_COMMAND_CHARS)
  return [
    ...earlier(messages),
    ...section('What the user said, word for word, oldest first', requests(messages)),
    ...section('Files that were changed', newest(ofKind('file'), CAP_FILES)),
    ...section('Files that were read', newest(read, CAP_FILES)),
    ...section('Commands that were run', newest(ran.map(short), CAP_COMMANDS)),
    ...section('Commands that failed', newest(ofKind('failed').map(short), CAP_COMMANDS)),
    ...section('Still to do', ofKind('todo').map(short)),
    ...section('What the assistant said last', lastWords(messages)),
  ].join('\n')
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, ...lines.map((line) => `- ${line}`), '']
}

function newest(lines: readonly string[], count: number): string[] {
  return [...new Set(lines.toReversed())].slice(0, count).reverse()
}

function requests(messages: readonly Message[]): string[] {
  const all = messages.slice(notSummedUpFrom(messages)).flatMap(personTexts)
  const shown: string[] = []
  let room = CAP_REQUESTS_CHARS
  for (const text of all.toReversed()) {
    const cut = room > CAP_REQUEST_CHARS ? CAP_REQUEST_CHARS : Math.max(80, Math.floor(room / 20))
    const words = text.length > cut ? `${headOf(text, cut).trimEnd()} […]` : text.trim()
    if (room <= 0) {
      shown.push(`(${all.length - shown.length} earlier ones are left out)`)
      break
    }
    room -= words.length
    shown.push(words)
  }
  return shown.reverse()
}

function earlier(messages: readonly Message[]): string[] {
  const text = messages
    .slice(notSummedUpFrom(messages))
    .flatMap((message) => (message.role === 'user' ? textsOf(message).filter(isSummary) : []))
    .map(summaryWords)
    .join('\n\n')
  if (text === '') return []
  return [
    '## From an earlier compaction',
    text.length > CAP_EARLIER_CHARS ? `${headOf(text, CAP_EARLIER_CHARS)} […]` : text,
    '',
  ]
}

function doneIn(messages: readonly Message[]): { read: string[]; ran: string[] } {
  const uses = toolUsesOf(messages)
  const failed = new Set(blocksIn(messages).filter(isFailure).map(resultIdOf))
  const read: string[] = []
  const ran: string[] = []
  for (const use of uses.values()) {
    const path = use.input.file_path ?? use.input.path
    if (use.name === 'Read' && typeof path === 'string') read.push(path)
    const command = commandOf(use)
    if (command !== '' && !failed.has(use.id) && editedBy(use).length === 0) ran.push(command)
  }
  return { read, ran }
}

function lastWords(messages: readonly Message[]): string[] {
  const last = messages.findLast((message) => message.role === 'assistant' && textsOf(message).length > 0)
  if (!last) return []
  const text = textsOf(last).join('\n').trim()
  return [text.length > CAP_LAST_CHARS ? `[…] ${tailOf(text, CAP_LAST_CHARS)}` : text]
}

type FactKind = 'request' | 'file' | 'failed' | 'todo'
/** What must survive a compaction whatever a model makes of it. `at`: where it stands in the conversation. */
type Fact = { kind: FactKind; text: string; at: number }

const EDITS = ['Edit', 'Write', 'MultiEdit', 'NotebookEdit', 'edit', 'write', 'apply_patch', 'replace', 'write_file']
const PATHS = ['file_path', 'path', 'notebook_path', 'filePath']

/** Since the last compaction, oldest first. */
export function factsOf(messages: readonly Message[], open: readonly string[] = []): Fact[] {
  const since = notSummedUpFrom(messages)
  const uses = toolUsesOf(messages)
  const facts: Fact[] = []
  let todos: Fact[] = []
  for (const [at, message] of messages.entries()) {
    if (at < since) continue
    for (const text of personTexts(message)) facts.push({ kind: 'request', text, at })
    for (const block of blocksOf(message.content)) {
      const use = uses.get(String(block.type === 'tool_use' ? block.id : (resultIdOf(block) ?? '')))
      if (!use) continue
      if (block.type === 'tool_use') {
        const listed = todosOf(use)
        if (listed) todos = listed.map((text) => ({ kind: 'todo', text, at }))
        for (const path of editedBy(use)) facts.push({ kind: 'file', text: path, at })
      } else if (isFailure(block) && commandOf(use) !== '') facts.push({ kind: 'failed', text: commandOf(use), at })
    }
  }
  const named = open.length > 0 ? open.map((text): Fact => ({ kind: 'todo', text, at: messages.length })) : todos
  return once([...facts, ...named])
}

function once(facts: readonly Fact[]): Fact[] {
  const last = new Map<string, Fact>()
  for (const fact of facts) {
    const key = `${fact.kind} ${fact.text}`
    last.delete(key)
    last.set(key, fact)
  }
  return [...last.values()]
}

function editedBy({ name, input }: ToolUse): string[] {
  if (!EDITS.includes(name)) return []
  return PATHS.flatMap((field) =>
    typeof input[field] === 'string' && input[field] !== '' ? [input[field] as string] : [],
  )
}

function commandOf({ name, input }: ToolUse): string {
  if (!isShellTool(name)) return ''
  const given = input.command ?? input.cmd
  if (typeof given === 'string') return given.trim()
  return Array.isArray(given) ? given.filter((word) => typeof word === 'string').join(' ') : ''
}

export function isFailure(block: Block): boolean {
  return block.is_error === true || /^(?:Error: )?Exit code:? [1-9]/i.test(resultText(block).slice(0, 200).trimStart())
}

/** What is not done yet of a list that a tool was given; nothing where it is no such list. */
function todosOf({ name, input }: ToolUse): string[] | undefined {
  if (!/^(?:TodoWrite|todowrite|todo_write|update_plan|write_todos)$/.test(name)) return undefined
  const list = input.todos ?? input.plan
  return Array.isArray(list) ? openTodos(list) : undefined
}

export function openTodos(list: readonly unknown[]): string[] {
  return list.flatMap((item) => {
    if (typeof item === 'string') return [item]
    const { content, text, step, description, status } = recordOf(item)
    if (status === 'completed' || status === 'done' || status === 'cancelled') return []
    const words = [content, text, step, description].find((value) => typeof value === 'string' && value !== '')
    return words === undefined ? [] : [words as string]
  })
}

const SHORTEST_CHARS = 60
const LONGEST_CHARS = 400
const CAP_TOKENS = 4_000
const HEADS: Record<FactKind, string> = { request: 'Asked for', file: 'Changed', failed: 'Failed', todo: 'Still to do' }

/** More cannot be added to a summary, however short each is. */
const MOST_MISSING = 5_000

export function missingFrom(text: string, facts: readonly Fact[]): Fact[] {
  const there = normal(text)
  const missing: Fact[] = []
  for (const fact of newestFirst(facts)) {
    if (missing.length >= MOST_MISSING) break
    if (!holds(there, clip(fact.text, LONGEST_CHARS).trimEnd())) missing.push(fact)
  }
  return missing
}

function newestFirst(facts: readonly Fact[]): Fact[] {
  return facts.toSorted((a, b) => b.at - a.at)
}

/** As a whole word: `/a.ts` is not named by `/a.tsx`, nor "no" by "nothing". Words that were cut may go on. */
function holds(text: string, words: string): boolean {
  const isWhole = words.length < LONGEST_CHARS
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
    const isApart = (sign: string, own: string) => !(IN_WORD.test(sign) && IN_WORD.test(own))
    if (!isWhole) return true
    if (isApart(text[at - 1] ?? ' ', words[0] ?? ' ') && isApart(text[at + words.length] ?? ' ', words.at(-1) ?? ' '))
      return true
  }
  return words === ''
}

const IN_WORD = /[\p{L}\p{N}_]/u

function normal(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

export function clip(text: string, chars: number): string {
  return headOf(normal(headOf(text, 4 * chars + 100)), chars)
}

/** Newest first, a little of each before all of something. Files and to-dos come first: they cannot be guessed. */
export function supplement(facts: readonly Fact[]): { text: string; named: number } {
  if (facts.length === 0) return { text: '', named: 0 }
  const fits = (text: string) => Buffer.byteLength(text) <= CAP_TOKENS * BYTES_PER_TOKEN
  let few = newestFirst(facts)
  for (const chars of [LONGEST_CHARS, 250, 150, 100]) {
    const text = worded(few, chars)
    if (fits(text)) return { text, named: few.length }
  }
  while (few.length > 1 && !fits(worded(few, SHORTEST_CHARS))) few = few.slice(0, Math.floor(few.length * 0.9))
  return { text: worded(few, SHORTEST_CHARS), named: few.length }
}

function worded(facts: readonly Fact[], chars: number): string {
  const parts = (['todo', 'file', 'failed', 'request'] as const).flatMap((kind) => {
    const ours = facts.filter((fact) => fact.kind === kind)
    return ours.length === 0
      ? []
      : [`${HEADS[kind]}:`, ...ours.map(({ text }) => `- ${clip(text, kind === 'file' ? 4_096 : chars)}`)]
  })
  return `What the summary does not name, newest first:\n${parts.join('\n')}`
}
