/** What of a message can be searched for: what was said, the commands of tools, the heads of their results. Pure. */
import type { Message } from './message.ts'

/** Of each command and each result. */
export const HEAD_CHARS = 2_000

/** Messages hold nothing private and nothing injected; an empty text means that there is nothing to find. */
export function indexedText({ text, toolCalls, toolResults }: Message): string {
  const parts = [text, ...toolCalls.map(({ input }) => head(input)), ...toolResults.map((result) => head(result.text))]
  return parts.filter((part) => part !== '').join('\n')
}

/** Never half of a character. */
export function head(text: string): string {
  const cut = text.slice(0, HEAD_CHARS)
  return /[\uD800-\uDBFF]$/.test(cut) && text.length > HEAD_CHARS ? cut.slice(0, -1) : cut
}
