/** Text that a harness, a hook or this program put into a conversation: how ours is marked, and how all is taken out. Pure. */
import { markedSpans, without } from './spans.ts'

/** Everything this program injects stands in this tag, so that a memory can never confirm itself. */
export const INJECTED_TAG = 'memoryd-context'

/** Of the harnesses, inside what people said and what tools returned. */
const HARNESS_TAGS = [
  'system-reminder',
  // Claude Code up to 1.0 wrote the output of hooks as messages.
  'session-start-hook',
  'user-prompt-submit-hook',
  'pre-tool-use-hook',
  'post-tool-use-hook',
  'ide_opened_file',
  'ide_selection',
  // Codex
  'environment_context',
  'user_instructions',
  // Gemini CLI
  'hook_context',
  'session_context',
]

const OWN = tokens([INJECTED_TAG])
const ALL = tokens([INJECTED_TAG, ...HARNESS_TAGS])

function tokens(tags: readonly string[]): RegExp {
  return new RegExp(`<(\\/?)(${tags.join('|')})(?=[\\s/>]|$)[^<>]*>?`, 'iy')
}

/** The form in which this program injects; nothing in the text can end it early. */
export function injectedBlock(text: string): string {
  const inert = text.replace(new RegExp(`<(?=/?${INJECTED_TAG})`, 'gi'), '&lt;')
  return `<${INJECTED_TAG}>\n${inert}\n</${INJECTED_TAG}>`
}

/** For what people said and tools returned. */
export function stripInjected(text: string): string {
  return strip(text, ALL)
}

/** For what agents said, who may well speak of the tags of a harness. */
export function stripOwn(text: string): string {
  return strip(text, OWN)
}

function strip(text: string, token: RegExp): string {
  if (!text.includes('<')) return text
  const { closed, unclosed } = markedSpans(text, token)
  // A harness cuts what is too long, and the end of our block with it. Of other tags people may simply speak.
  const cut = unclosed.filter(({ name }) => name === INJECTED_TAG).map(({ start }) => ({ start, end: text.length }))
  return without(text, [...closed, ...cut])
}
