/** Where a conversation may be cut: never between a call and its result, never within an answer. Pure. */
import { blocksOf, type Message } from './message.ts'

/** Whether what begins at `at` can stand without what is before it. */
export function isCut(messages: readonly Message[], at: number): boolean {
  if (at <= 0 || at >= messages.length) return true
  const message = messages[at] as Message
  const before = messages[at - 1] as Message
  if (message.role === 'assistant') return before.role !== 'assistant'
  return !holdsResults(messages, at)
}

/** Results may be spread over several messages of one side. */
function holdsResults(messages: readonly Message[], at: number): boolean {
  for (let n = at; n < messages.length && messages[n]?.role !== 'assistant'; n++)
    if (blocksOf((messages[n] as Message).content).some(({ type }) => type === 'tool_result')) return true
  return false
}

/** The nearest place at or before it. */
export function cutBefore(messages: readonly Message[], at: number): number {
  let cut = Math.min(at, messages.length)
  while (!isCut(messages, cut)) cut--
  return cut
}

/** What was asked and not answered yet: it stays as it was said. */
export function openPrompt(messages: readonly Message[]): number {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  let at = messages.length
  while (at - 1 > last && isCut(messages, at - 1)) at--
  return at
}
