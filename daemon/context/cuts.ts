/** Where a conversation may be cut: never between a call and its result, never within an answer. Pure. */
import { blocksOf, type Message } from './message.ts'

/** Whether what begins at `at` can stand without what is before it. */
export function isCut(messages: readonly Message[], at: number): boolean {
  if (at <= 0 || at >= messages.length) return true
  const message = messages[at] as Message
  const before = messages[at - 1] as Message
  if (message.role === 'assistant') return before.role !== 'assistant'
  return at > lastResult(messages, at)
}

const lastResults = new WeakMap<readonly Message[], Int32Array>()

/**
 * Where the last results stand that are on the same side as `at`, if any: they may be spread over several messages. Looked
 * up once for all of a list, which is never changed: to look again from each place would take the square of its length.
 */
function lastResult(messages: readonly Message[], at: number): number {
  let places = lastResults.get(messages)
  if (!places) {
    places = new Int32Array(messages.length)
    let last = -1
    for (let n = messages.length - 1; n >= 0; n--) {
      const { role, content } = messages[n] as Message
      if (role === 'assistant') last = -1
      else if (last < 0 && blocksOf(content).some(({ type }) => type === 'tool_result')) last = n
      places[n] = last
    }
    lastResults.set(messages, places)
  }
  return places[at] ?? -1
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
