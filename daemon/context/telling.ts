/**
 * A conversation in the words in which sessions are told to models: who said what, which tools were called, what came
 * back. Images become a mark, lists of skills are left out. Pure.
 */
import { hash } from 'node:crypto'
import { type Block, blocksOf, isText, type Message, resultText } from './message.ts'
import { isSummary, withoutAttached } from './summary-mark.ts'

export type Told = {
  id: string
  by: 'person' | 'agent' | 'tool' | 'injected'
  text: string
  toolCalls: { name: string; input: string }[]
  toolResults: { text: string }[]
  startsTurn?: true
}

const IMAGE = '[image]'
/** So far into a reminder it says what it lists. */
const HEAD_CHARS = 400

export function toldOf(messages: readonly Message[]): Told[] {
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

/** At most so much of each call and result is told. */
const SHOWN_CHARS = 1_600

/** What it takes to tell them, roughly: long results are cut when they are told. */
export function toldTokens(messages: readonly Message[]): number {
  const bytes = messages.reduce((sum, message) => {
    const { text = '', toolCalls = [], toolResults = [] } = oneOf(message) ?? {}
    const parts = [...toolCalls.map(({ input }) => input), ...toolResults.map((result) => result.text)]
    return sum + Buffer.byteLength(text) + parts.reduce((total, part) => total + Math.min(part.length, SHOWN_CHARS), 0)
  }, 0)
  return Math.ceil(bytes / 4)
}

function oneOf({ role, content }: Message): Omit<Told, 'id'> | undefined {
  const blocks = blocksOf(content)
  const text = blocks.flatMap(wordsOf).join('\n')
  if (role === 'assistant') {
    const toolCalls = blocks.flatMap((block) =>
      block.type === 'tool_use' ? [{ name: String(block.name), input: inputOf(block) }] : [],
    )
    return text === '' && toolCalls.length === 0 ? undefined : { by: 'agent', text, toolCalls, toolResults: [] }
  }
  const toolResults = blocks.flatMap((block) => (block.type === 'tool_result' ? [{ text: resultWords(block) }] : []))
  if (toolResults.length > 0) return { by: 'tool', text, toolCalls: [], toolResults }
  return text === '' ? undefined : { by: 'person', text, toolCalls: [], toolResults: [], startsTurn: true }
}

/** What a harness put there is told only where it stands for what was said. */
function wordsOf(block: Block): string[] {
  if (block.type === 'image' || block.type === 'document') return [IMAGE]
  if (!isText(block) || isSkillList(block.text)) return []
  if (isSummary(block.text)) return [block.text.replace(/<\/?memoryd-context>/g, '').trim()]
  const said = withoutAttached(block.text).trim()
  return said === '' ? [] : [said]
}

function isSkillList(text: string): boolean {
  const head = text.trimStart().slice(0, HEAD_CHARS)
  return head.startsWith('<system-reminder>') && /\bskills?\b/i.test(head)
}

function inputOf({ input }: Block): string {
  const { command } = (input ?? {}) as { command?: unknown }
  return typeof command === 'string' ? command : (JSON.stringify(input) ?? '')
}

function resultWords(block: Block): string {
  const images = Array.isArray(block.content)
    ? block.content.filter((part) => ['image', 'document'].includes((part as Block | null)?.type ?? '')).length
    : 0
  return [resultText(block), ...Array.from({ length: images }, () => IMAGE)].filter((part) => part !== '').join('\n')
}
