/** Decides who said a line of Claude Code, and whether a turn begins or ends with it. Pure. */
import type { Content } from './content.ts'
import { type Fields, fields, text } from './fields.ts'
import type { By, End } from './message.ts'

export type Said = { by: By; startsTurn?: true; ends?: End }

const INTERRUPTED = /^\s*\[Request interrupted by user/
/** A command of the person's that may have its own prompt, which then gets an answer. */
const COMMAND = /^\s*<command-(?:name|message)>/
const NOTIFICATION = /^\s*<task-notification>/
/** What ran in the terminal without the model. */
const LOCAL = /^\s*<(?:local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr))>/

const FINAL = new Set(['end_turn', 'stop_sequence', 'refusal'])

/** A line of type `user` is far from always a person's; what flags do not say, its first words do. */
export function userSaid(record: Fields, content: Content): Said {
  if (content.toolResults.length > 0 || record.toolUseResult !== undefined) return { by: 'tool' }
  if (INTERRUPTED.test(content.text)) return { by: 'system', ends: 'aborted' }
  if (record.isMeta === true || record.isCompactSummary === true || record.isVisibleInTranscriptOnly === true)
    return { by: 'injected' }
  if (LOCAL.test(content.text)) return { by: 'injected' }
  if (!isHuman(record) || NOTIFICATION.test(content.text) || COMMAND.test(content.text))
    return { by: 'injected', startsTurn: true }
  return { by: 'person', startsTurn: true }
}

/** Prompts that are typed while the agent works arrive as attachments; so do many that nobody typed. */
export function queuedSaid(record: Fields): { by: By; text: string } | undefined {
  const attachment = fields(record.attachment)
  const prompt = text(attachment.prompt)
  if (attachment.type !== 'queued_command' || attachment.commandMode !== 'prompt') return undefined
  if (attachment.isMeta === true || record.isMeta === true || !isHuman(attachment)) return undefined
  if (NOTIFICATION.test(prompt) || COMMAND.test(prompt) || LOCAL.test(prompt)) return undefined
  return prompt === '' ? undefined : { by: 'person', text: prompt }
}

function isHuman(record: Fields): boolean {
  const kind = fields(record.origin).kind
  return record.promptSource !== 'system' && (kind === undefined || kind === 'human')
}

export function assistantSaid(record: Fields, content: Content): Said {
  const { model, stop_reason: reason } = fields(record.message)
  if (model === '<synthetic>')
    return record.isApiErrorMessage === true ? { by: 'system', ends: 'aborted' } : { by: 'system' }
  if (record.isAbortedMidStream === true) return { by: 'agent', ends: 'aborted' }
  if (content.toolCalls.length > 0) return { by: 'agent' }
  // Every block of an answer has a line of its own: after the thoughts the words are still to come.
  if (FINAL.has(text(reason))) return { by: 'agent', ends: content.onlyThoughts ? 'settling' : 'final' }
  // Older versions wrote a block before they knew why the answer stopped.
  const mayEnd = reason === 'max_tokens' || (typeof reason !== 'string' && content.text !== '')
  return mayEnd ? { by: 'agent', ends: 'settling' } : { by: 'agent' }
}
