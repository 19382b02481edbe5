/** A conversation in the form of transcripts and in that of the Messages API: each made from the other. */
import { hash } from 'node:crypto'
import type { SessionMessage } from '../agent/rendering.ts'
import { parseJson } from '../platform/json.ts'
import { type Block, blocksOf, isText, type Message, recordOf, resultText } from './messages.ts'
import { isSummary, withoutAttached } from './summary.ts'

/** Calls without an id get one, and the next results without one are theirs. */
export function messagesOfTranscript(lines: readonly SessionMessage[]): Message[] {
  let made = 0
  let open: string[] = []
  return lines.flatMap((line): Message[] => {
    const { id, by, text } = line
    if (by === 'agent') {
      const calls = line.toolCalls.map(({ id: given = '', name, input }): Block => {
        const callId = given === '' ? `call-${++made}` : nameOf(given)
        if (given === '') open.push(callId)
        return { type: 'tool_use', id: callId, name, input: inputOf(input) }
      })
      const content = [...textBlocks(text), ...calls]
      return content.length === 0 ? [] : [{ id, role: 'assistant', content }]
    }
    if (by !== 'person' && by !== 'tool') return []
    const results = line.toolResults.map(({ callId = '', text: result }) => ({
      type: 'tool_result',
      tool_use_id: callId === '' ? (open.shift() ?? '') : nameOf(callId),
      content: result,
    }))
    if (by === 'person') open = []
    const content = [...results, ...textBlocks(text)]
    return content.length === 0 ? [] : [{ id, role: 'user', content }]
  })
}

/** Harnesses name calls as they like; a server takes only letters, digits and lines. */
function nameOf(id: string): string {
  return /^[A-Za-z0-9_-]+$/.test(id) ? id : `call-${hash('sha256', id).slice(0, 32)}`
}

function textBlocks(text: string): Block[] {
  return /\S/.test(text) ? [{ type: 'text', text }] : []
}

function inputOf(input: string): Record<string, unknown> {
  const value = parseJson(input)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  return input === '' ? {} : { command: input }
}

const IMAGE = '[image]'
/** A reminder says within so many characters what it lists. */
const HEAD_CHARS = 400

/** As sessions are told to models: images become a mark, lists of skills are left out. */
export function toldOf(messages: readonly Message[]): SessionMessage[] {
  const seen = new Map<string, number>()
  return messages.flatMap((message) => {
    const told = oneOf(message)
    if (!told) return []
    const name = message.id ?? hash('sha256', JSON.stringify(message.content)).slice(0, 16)
    const times = seen.get(name) ?? 0
    seen.set(name, times + 1)
    return [{ id: times === 0 ? name : `${name}-${times}`, ...told }]
  })
}

const SHOWN_CHARS = 1_600

export function toldTokens(messages: readonly Message[]): number {
  const bytes = messages.reduce((sum, message) => {
    const { text = '', toolCalls = [], toolResults = [] } = oneOf(message) ?? {}
    const parts = [...toolCalls.map(({ input }) => input), ...toolResults.map((result) => result.text)]
    return sum + Buffer.byteLength(text) + parts.reduce((total, part) => total + Math.min(part.length, SHOWN_CHARS), 0)
  }, 0)
  return Math.ceil(bytes / 4)
}

function oneOf({ role, content }: Message): Omit<SessionMessage, 'id'> | undefined {
  const blocks = blocksOf(content)
  const text = blocks.flatMap(wordsOf).join('\n')
  if (role === 'assistant') {
    const toolCalls = blocks.flatMap((block) =>
      block.type === 'tool_use' ? [{ name: String(block.name), input: commandOf(block) }] : [],
    )
    return text === '' && toolCalls.length === 0 ? undefined : { by: 'agent', text, toolCalls, toolResults: [] }
  }
  const toolResults = blocks.flatMap((block) => (block.type === 'tool_result' ? [{ text: resultWords(block) }] : []))
  if (toolResults.length > 0) return { by: 'tool', text, toolCalls: [], toolResults }
  return text === '' ? undefined : { by: 'person', text, toolCalls: [], toolResults: [], startsTurn: true }
}

/** What a harness put into the conversation is told only where it stands for what was said. */
function wordsOf(block: Block): string[] {
  if (isImage(block)) return [IMAGE]
  if (!isText(block) || isSkillList(block.text)) return []
  if (isSummary(block.text)) return [block.text.replace(/<\/?memoryd-context>/g, '').trim()]
  const words = withoutAttached(block.text).trim()
  return words === '' ? [] : [words]
}

function isSkillList(text: string): boolean {
  const head = text.trimStart().slice(0, HEAD_CHARS)
  return head.startsWith('<system-reminder>') && /\bskills?\b/i.test(head)
}

function commandOf({ input }: Block): string {
  const { command } = recordOf(input)
  return typeof command === 'string' ? command : (JSON.stringify(input) ?? '')
}

function resultWords(block: Block): string {
  const parts = Array.isArray(block.content) ? block.content : []
  const images = parts.flatMap((part) => (isImage(recordOf(part)) ? [IMAGE] : []))
  return [resultText(block), ...images].filter((part) => part !== '').join('\n')
}

function isImage({ type }: { type?: unknown }): boolean {
  return type === 'image' || type === 'document'
}
