/** Decides what of a conversation stays as it is beside a summary. Pure. */
import { cutBefore, isCut } from './cuts.ts'
import { type Message, textsOf } from './message.ts'
import { type Counter, padded } from './tokens.ts'

export const KEEP_AT_LEAST_TOKENS = 10_000
export const KEEP_AT_LEAST_TEXTS = 5
export const KEEP_AT_MOST_TOKENS = 40_000

/**
 * Everything from `from` on stays. Where that is little, more of what came before stays too, back to `floor` at most, and
 * less than would make it much.
 */
export function keptFrom(
  counter: Counter,
  messages: readonly Message[],
  { from, floor = 0 }: { from: number; floor?: number },
): number {
  let start = Math.max(cutBefore(messages, from), 0)
  const tokens = messages.map(counter.message)
  const texts = messages.map((message) => (textsOf(message).length > 0 ? 1 : 0))
  const sum = (numbers: readonly number[], begin: number, end: number) =>
    numbers.slice(begin, end).reduce((total, each) => total + each, 0)
  let kept = sum(tokens, start, messages.length)
  let said = sum(texts, start, messages.length)
  while (start > floor && (padded(kept) < KEEP_AT_LEAST_TOKENS || said < KEEP_AT_LEAST_TEXTS)) {
    let next = start - 1
    while (next > floor && !isCut(messages, next)) next--
    if (!isCut(messages, next)) break
    const more = sum(tokens, next, start)
    if (padded(kept + more) >= KEEP_AT_MOST_TOKENS) break
    kept += more
    said += sum(texts, next, start)
    start = next
  }
  return start
}
