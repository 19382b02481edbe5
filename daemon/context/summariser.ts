/**
 * Has a model summarise: asks again when nothing usable comes back, tells less when it was too much. Knows how to ask,
 * not whom.
 */

import { hash } from 'node:crypto'
import { isCut } from './cuts.ts'
import { type Block, blocksOf, isText, type Message, resultText } from './messages.ts'
import { isSummary, readSummary, type Scope, summaryTask, withoutAttached } from './summary.ts'

/** What came of one question. `cut`: the answer was longer than it may be. */
export type Answered = { text: string; cut?: boolean } | { failed: 'none' | 'stopped' | 'other'; message: string }

/** `shortened`: only a part, so not what the session's jobs share any more. */
export type Question = { messages: readonly Message[]; task: string; shortened: boolean; signal: AbortSignal }

export type Ask = (question: Question) => Promise<Answered>

/** `none`: there is no model to ask just now. */
export type Summarised =
  | { summary: string; calls: number }
  | { failed: 'none' | 'stopped' | 'too-long' | 'unusable' | 'other'; message: string }

const RETRIES = 2
const SHORTENINGS = 3

export function createSummarising(ask: Ask) {
  return async (
    given: readonly Message[],
    { scope, instructions, signal }: { scope: Scope; instructions: string; signal: AbortSignal },
  ): Promise<Summarised> => {
    const task = summaryTask({ scope, instructions })
    let messages = given
    let shortenings = 0
    let calls = 0
    for (let retries = 0; ; ) {
      const answer = await ask({ messages, task, shortened: shortenings > 0 || scope !== 'all', signal })
      calls++
      if ('failed' in answer) {
        const gap = answer.failed === 'other' ? tooLong(answer.message) : undefined
        if (!gap) return answer
        const fewer = shortenings < SHORTENINGS ? withoutOldest(messages, gap.gapTokens) : undefined
        if (!fewer)
          return {
            failed: 'too-long',
            message: `the conversation is too long to be summarised, even without its oldest part: ${answer.message}`,
          }
        shortenings++
        messages = fewer
        continue
      }
      const read = answer.cut ? ({ unusable: 'cut' } as const) : readSummary(answer.text)
      if ('summary' in read) return { summary: read.summary, calls }
      if (retries++ >= RETRIES)
        return {
          failed: 'unusable',
          message: `the model gave no whole summary in ${calls} attempts (${read.unusable})`,
        }
    }
  }
}

/** The rounds of a conversation, each one question to the API and what was said before it; drops the oldest. Pure. */

const SAFETY = 1.1

/** Begins of rounds: an answer, with the results that it asked for, up to the next. */
function roundsOf(messages: readonly Message[]): Message[][] {
  const rounds: Message[][] = []
  for (const [at, message] of messages.entries()) {
    const last = rounds.at(-1)
    if (!last || (message.role === 'assistant' && isCut(messages, at))) rounds.push([message])
    else last.push(message)
  }
  return rounds
}

/**
 * What is too much goes from the beginning, counted as it is told and with a little more for safety; where nobody says how
 * much, a fifth. Nothing when it would leave nothing.
 */
export function withoutOldest(messages: readonly Message[], gapTokens: number | undefined): Message[] | undefined {
  const rounds = roundsOf(messages)
  if (rounds.length < 2) return undefined
  let drop = 0
  if (gapTokens === undefined) drop = Math.max(1, Math.floor(rounds.length / 5))
  else
    for (let freed = 0; drop < rounds.length && freed < SAFETY * gapTokens; drop++)
      freed += toldTokens(rounds[drop] as Message[])
  drop = Math.min(drop, rounds.length - 1)
  return rounds.slice(drop).flat()
}

/** What a server says when it was sent too much, and how much that was. */
export function tooLong(message: string): { gapTokens: number | undefined } | undefined {
  if (
    !/prompt is too long|request_too_large|exceeds the maximum size|context (?:window|length)|too many tokens/i.test(
      message,
    )
  )
    return undefined
  const [, sent, most] = /(\d[\d,]*)\s*tokens?\s*>\s*(\d[\d,]*)/i.exec(message) ?? []
  if (sent === undefined || most === undefined) return { gapTokens: undefined }
  const gap = Number(sent.replaceAll(',', '')) - Number(most.replaceAll(',', ''))
  return { gapTokens: gap > 0 ? gap : undefined }
}

/**
 * A conversation in the words in which sessions are told to models: who said what, which tools were called, what came
 * back. Images become a mark, lists of skills are left out. Pure.
 */

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
