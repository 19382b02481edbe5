/**
 * Puts a compacted conversation together: what stays, the summary, and what the summary had left out. Checks that
 * everything that must survive does. Pure.
 */
import { factsOf, missingFrom, supplement } from './facts.ts'
import { blocksOf, isText, type Message, recordOf, resultText } from './message.ts'
import { flatten } from './messages.ts'
import { type Strategy, summaryText } from './summary-mark.ts'

/** `before` and `after` stay as they are, `between` is what the summary stands for. */
export type Parts = { before: readonly Message[]; between: readonly Message[]; after: readonly Message[] }

export type Assembled = { messages: Message[]; summary: string; supplemented: number; summaryAt: number }

export type Making = Parts & {
  strategy: Strategy
  summary: string
  /** What is still to do, where the harness says so. */
  openTodos: readonly string[]
  /** Blocks that are put back beside the summary. */
  restored?: readonly string[]
}

export function assemble({ before, between, after, strategy, summary, openTodos, restored = [] }: Making): Assembled {
  const facts = factsOf(between, openTodos)
  const missing = missingFrom([summary, wordsOf(before), wordsOf(after), ...restored].join('\n'), facts)
  const more = supplement(missing)
  const whole = more === '' ? summary.trim() : `${summary.trim()}\n\n${more}`
  const text = summaryText(strategy, whole, before.length > 0)
  // Only where the others have names does one more stand out among them.
  const id = [...before, ...between, ...after].some((message) => message.id !== undefined)
    ? { id: summaryId(between) }
    : {}
  const content = [text, ...restored].map((each) => ({ type: 'text', text: each }))
  const messages = flatten([...before, { ...id, role: 'user', content }, ...after])
  return { messages, summary: whole, supplemented: missing.length, summaryAt: before.length }
}

/** The same conversation gives the same name. */
export function summaryId(between: readonly Message[]): string {
  return `compacted-${between.at(-1)?.id ?? between.length}`
}

/** Everything that a reader would find in messages, commands and paths included. */
export function wordsOf(messages: readonly Message[]): string {
  return messages
    .flatMap(({ content }) =>
      blocksOf(content).flatMap((block) => {
        if (isText(block)) return [block.text]
        if (block.type === 'tool_result') return [resultText(block)]
        return block.type === 'tool_use' ? strings(recordOf(block.input)) : []
      }),
    )
    .join('\n')
}

function strings(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || depth > 8) return []
  return Object.values(value).flatMap((each) => strings(each, depth + 1))
}
