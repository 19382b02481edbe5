/** Where a conversation may be cut: never between a call and its result, never within an answer. Pure. */
import { padded } from '../platform/text.ts'
import { blocksOf, type Message, serverCallBehind, serverCallOf, textsOf } from './messages.ts'
import type { Counter } from './token-count.ts'

/** Whether what begins at `at` can stand without what is before it. */
export function isCut(messages: readonly Message[], at: number): boolean {
  return at <= 0 || at >= messages.length || placesWithin(messages)[at] === 0
}

const known = new WeakMap<readonly Message[], Uint8Array>()

/** Marks every place that lies within a pair or an answer. Once for a list: looking from each place takes quadratic time. */
function placesWithin(messages: readonly Message[]): Uint8Array {
  const before = known.get(messages)
  if (before) return before
  const within = new Uint8Array(messages.length)
  const ends = serverCalls(messages)
  // Results may be spread over several messages: no cut before the last of them.
  let isBeforeResult = false
  for (let at = messages.length - 1; at > 0; at--) {
    const { role, content } = messages[at] as Message
    if (role === 'assistant') isBeforeResult = false
    else isBeforeResult ||= blocksOf(content).some(({ type }) => type === 'tool_result')
    const isAnswer = role === 'assistant' && messages[at - 1]?.role === 'assistant'
    within[at] = Number(isBeforeResult || isAnswer)
  }
  for (let at = 1, end = 0; at < messages.length; at++) {
    end = Math.max(end, ends[at - 1] as number)
    if (at <= end) within[at] = 1
  }
  known.set(messages, within)
  return within
}

/** How far a server's own call reaches: its result may stand in a later answer, with calls of ours between. */
function serverCalls(messages: readonly Message[]): Int32Array {
  const ends = new Int32Array(messages.length)
  const begins = new Map<string, number>()
  for (const [at, { role, content }] of messages.entries()) {
    if (role !== 'assistant' || typeof content === 'string') continue
    for (const block of content) {
      const call = serverCallOf(block)
      if (call !== undefined) begins.set(call, at)
      const begin = begins.get(serverCallBehind(block) ?? '')
      if (begin !== undefined) ends[begin] = at
    }
  }
  return ends
}

export function cutBefore(messages: readonly Message[], at: number): number {
  let cut = Math.min(at, messages.length)
  while (!isCut(messages, cut)) cut--
  return cut
}

export type Parts = { before: readonly Message[]; between: readonly Message[]; after: readonly Message[] }

export function splitAt(messages: readonly Message[], at: number): Parts {
  return { before: [], between: messages.slice(0, at), after: messages.slice(at) }
}

export function openPrompt(messages: readonly Message[]): number {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  let at = messages.length
  while (at - 1 > last && isCut(messages, at - 1)) at--
  return at
}

const KEEP_AT_LEAST_TOKENS = 10_000
const KEEP_AT_LEAST_TEXTS = 5
const KEEP_AT_MOST_TOKENS = 40_000

type Kept = { from: number; floor?: number }

/** Everything from `from` on stays. Where that is little, more of what came before stays too, back to `floor` at most. */
export function keptFrom(counter: Counter, messages: readonly Message[], { from, floor = 0 }: Kept): number {
  const textsIn = (some: readonly Message[]) => some.filter((message) => textsOf(message).length > 0).length
  let start = Math.max(cutBefore(messages, from), 0)
  let kept = counter.all(messages.slice(start))
  let texts = textsIn(messages.slice(start))
  while (start > floor && (padded(kept) < KEEP_AT_LEAST_TOKENS || texts < KEEP_AT_LEAST_TEXTS)) {
    let next = start - 1
    while (next > floor && !isCut(messages, next)) next--
    if (!isCut(messages, next)) break
    const more = messages.slice(next, start)
    kept += counter.all(more)
    if (padded(kept) >= KEEP_AT_MOST_TOKENS) break
    texts += textsIn(more)
    start = next
  }
  return start
}
