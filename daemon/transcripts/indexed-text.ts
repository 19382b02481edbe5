/** What of a message can be searched for: what was said, the commands of tools, the heads of their results. Pure. */
import type { Message } from './message.ts'

/** Of each command and each result. */
export const HEAD_CHARS = 2_000
/** Of a message, though it were longer than a novel: to look it through for credentials takes twenty times its size. */
export const INDEXED_CHARS = 1_000_000

/** Messages hold nothing private and nothing injected; an empty text means that there is nothing to find. */
export function indexedText({ text, toolCalls, toolResults }: Message): string {
  const parts = [text, ...toolCalls.map(({ input }) => head(input)), ...toolResults.map((result) => head(result.text))]
  const all = parts.filter((part) => part !== '').join('\n')
  return head(all, INDEXED_CHARS)
}

/** Never half of a character. */
export function head(text: string, mostChars = HEAD_CHARS): string {
  const cut = text.slice(0, mostChars)
  return /[\uD800-\uDBFF]$/.test(cut) && text.length > mostChars ? cut.slice(0, -1) : cut
}
