/** A summary with no model: what persons said, word for word, the files and commands, and what is open. Pure. */
import { headOf, tailOf } from '../platform/characters.ts'
import { clip, commandOf, editedBy, type Fact, factsOf, isFailure } from './facts.ts'
import { blocksOf, type Message, resultIdOf, textsOf, toolUsesOf } from './message.ts'
import { isSummary, notSummedUpFrom, saidIn, summaryWords } from './summary-mark.ts'

const CAP_REQUEST_CHARS = 4_000
const CAP_REQUESTS_CHARS = 40_000
const CAP_EARLIER_CHARS = 12_000
const CAP_FILES = 100
const CAP_COMMANDS = 40
const CAP_COMMAND_CHARS = 200
const CAP_LAST_CHARS = 2_000

export function extractiveSummary(messages: readonly Message[], openTodos: readonly string[] = []): string {
  const facts = factsOf(messages, openTodos)
  const ofKind = (kind: Fact['kind']) => facts.filter((fact) => fact.kind === kind).map(({ text }) => text)
  const { read, ran } = doneIn(messages)
  return [
    ...earlier(messages),
    ...section('What the user said, word for word, oldest first', requests(messages)),
    ...section('Files that were changed', newest(ofKind('file'), CAP_FILES)),
    ...section('Files that were read', newest(read, CAP_FILES)),
    ...section('Commands that were run', newest(ran, CAP_COMMANDS)),
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

function short(text: string): string {
  return clip(text, CAP_COMMAND_CHARS)
}

/** The newest whole, the oldest as much of each as is left. */
function requests(messages: readonly Message[]): string[] {
  const said = messages.slice(notSummedUpFrom(messages)).flatMap(saidIn)
  const shown: string[] = []
  let room = CAP_REQUESTS_CHARS
  for (const text of said.toReversed()) {
    const cut = room > CAP_REQUEST_CHARS ? CAP_REQUEST_CHARS : Math.max(80, Math.floor(room / 20))
    const words = text.length > cut ? `${headOf(text, cut).trimEnd()} […]` : text.trim()
    if (room <= 0) {
      shown.push(`(${said.length - shown.length} earlier ones are left out)`)
      break
    }
    room -= words.length
    shown.push(words)
  }
  return shown.reverse()
}

/** What earlier compactions left, as far as there is room for it. */
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
  const failed = new Set(
    messages.flatMap(({ content }) =>
      blocksOf(content).flatMap((block) => (isFailure(block) ? [resultIdOf(block) ?? ''] : [])),
    ),
  )
  const read: string[] = []
  const ran: string[] = []
  for (const use of uses.values()) {
    const path = use.input.file_path ?? use.input.path
    if (use.name === 'Read' && typeof path === 'string') read.push(path)
    const command = commandOf(use)
    if (command !== '' && !failed.has(use.id) && editedBy(use).length === 0) ran.push(short(command))
  }
  return { read, ran }
}

function lastWords(messages: readonly Message[]): string[] {
  const last = messages.findLast((message) => message.role === 'assistant' && textsOf(message).length > 0)
  if (!last) return []
  const text = textsOf(last).join('\n').trim()
  return [text.length > CAP_LAST_CHARS ? `[…] ${tailOf(text, CAP_LAST_CHARS)}` : text]
}
