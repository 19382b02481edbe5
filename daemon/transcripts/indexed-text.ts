/** What of a message can be searched for: what was said, the commands of tools, the heads of their results. Pure. */
import type { Message } from './message.ts'

/** Of each command and each result. */
export const HEAD_CHARS = 2_000
/** Of a message, though it were longer than a novel: to look it through for credentials takes twenty times its size. */
export const INDEXED_CHARS = 1_000_000

/** Messages hold nothing private and nothing injected; an empty text means that there is nothing to find. */
export function indexedText({ text, toolCalls, toolResults }: Message): string {
  const parts: string[] = []
  const add = (part: string) => {
    if (part !== '') parts.push(part)
  }
  add(text)
  for (const { input } of toolCalls) add(head(input))
  for (const result of toolResults) add(head(result.text))
  return head(parts.join('\n'), INDEXED_CHARS)
}

/**
 * Never half of a character, and of what may be a credential all or nothing: half of one is not recognised. That ends where
 * there is a blank, a sign that no credential has, or the end of a field in JSON.
 */
export function head(text: string, chars: number = HEAD_CHARS): string {
  if (text.length <= chars) return text
  let end = chars
  while (end > 0 && !isApart(text, end)) end--
  return text.slice(0, end)
}

function isApart(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  if (before >= 0xd800 && before <= 0xdbff) return false
  return isOther(before) || isOther(text.charCodeAt(at)) || /(?<!\\)"[,:}\]]$/.test(text.slice(Math.max(0, at - 3), at))
}

/** Neither a letter nor a sign of ASCII. */
function isOther(code: number): boolean {
  return code <= 0x20 || code >= 0x7f
}
