/** What a conversation used, each answer counted once. Pure. */
import type { Message, Usage } from './message.ts'

const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

/** Where a harness counts over the session, its last count less what was there before, as in a fork. */
export function usageOf(messages: readonly Message[], before: Usage | undefined = inherited(messages)): Usage {
  const total = lastTotal(messages)
  if (total) return combine(total, before ?? NO_USAGE, (all, part) => Math.max(0, all - part))
  const answers = new Map<unknown, Usage>()
  // The last line of an answer knows the most.
  for (const message of messages) if (message.usage) answers.set(message.answerId ?? message, message.usage)
  return [...answers.values()].reduce((sum, usage) => combine(sum, usage, (a, b) => a + b), NO_USAGE)
}

export function lastTotal(messages: readonly Message[]): Usage | undefined {
  return messages.findLast(({ total }) => total)?.total?.usage
}

/** What the first count holds beside its own answer. */
function inherited(messages: readonly Message[]): Usage | undefined {
  const first = messages.find(({ total }) => total)?.total
  return first && combine(first.usage, first.last, (all, part) => Math.max(0, all - part))
}

function combine(a: Usage, b: Usage, how: (a: number, b: number) => number): Usage {
  return {
    input: how(a.input, b.input),
    output: how(a.output, b.output),
    cacheRead: how(a.cacheRead, b.cacheRead),
    cacheWrite: how(a.cacheWrite, b.cacheWrite),
  }
}
