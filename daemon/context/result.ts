/**
 * Puts a compacted conversation together: what stays, the summary, and what the summary had left out. Checks that
 * everything that must survive does. Pure.
 */
import { factsOf, missingFrom, supplement } from './facts.ts'
import type { Message } from './message.ts'
import { merged } from './messages.ts'
import { type Strategy, summaryText } from './summary-mark.ts'

/** `before` and `after` stay as they are, `between` is what the summary stands for. */
export type Parts = { before: readonly Message[]; between: readonly Message[]; after: readonly Message[] }

export type Whole = { summary: string; supplemented: number }

/** With whatever the summary, and what stays beside it, does not name. `openTodos`: where the harness says what is to do. */
export function completed({ before, between, after }: Parts, summary: string, openTodos: readonly string[]): Whole {
  // What stays tells of its own: to look for each thing in all of it would take the square of what was said.
  const stays = new Set(factsOf([...before, ...after]).map(({ kind, text }) => `${kind} ${text}`))
  const gone = factsOf(between, openTodos).filter(({ kind, text }) => !stays.has(`${kind} ${text}`))
  const missing = missingFrom(summary, gone)
  const { text, named } = supplement(missing)
  return { summary: text === '' ? summary.trim() : `${summary.trim()}\n\n${text}`, supplemented: named }
}

/** `restored`: blocks that are put back beside the summary. */
export function assemble(
  { before, between, after }: Parts,
  { strategy, summary, restored = [] }: { strategy: Strategy; summary: string; restored?: readonly string[] },
): Message[] {
  const text = summaryText(strategy, summary, before.length > 0)
  // Only where the others have names does one more stand out among them.
  const isNamed = [before, between, after].some((part) => part.some(({ id }) => id !== undefined))
  const content = [text, ...restored].map((each) => ({ type: 'text', text: each }))
  return merged([...before, { ...(isNamed && { id: summaryId(between) }), role: 'user', content }, ...after])
}

/** The same conversation gives the same name. */
export function summaryId(between: readonly Message[]): string {
  return `compacted-${between.at(-1)?.id ?? between.length}`
}
