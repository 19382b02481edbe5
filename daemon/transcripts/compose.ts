/** Makes the message out of what an adapter found: nothing injected and nothing private is left in it. Pure. */
import { stripInjected, stripOwn } from './injected.ts'
import type { By, Message } from './message.ts'
import { isPrivateToTheEnd, withoutPrivate } from './private-spans.ts'

export type Draft = { [K in keyof Message]?: Message[K] | undefined } & { by: By }

const NONE: readonly never[] = []

/** Field by field and in one order: every line of every transcript comes through here, and copies in a loop are slow. */
export function compose(draft: Draft): Message {
  const { by, text, startsTurn } = heard(draft)
  const message: Message = { kind: 'message', by, text, toolCalls: [], toolResults: [] }
  // What an agent calls comes after what it says.
  const hidden = by === 'agent' && draft.toolCalls !== undefined && isPrivateToTheEnd(draft.text ?? '')
  for (const { id, name, input } of draft.toolCalls ?? NONE)
    message.toolCalls.push({ id, name, input: hidden ? '' : withoutPrivate(input) })
  for (const { callId, text } of draft.toolResults ?? NONE)
    message.toolResults.push({ callId, text: withoutPrivate(stripInjected(text)) })
  if (draft.id !== undefined) message.id = draft.id
  if (draft.parentId !== undefined) message.parentId = draft.parentId
  if (draft.at !== undefined) message.at = draft.at
  if (draft.minutesEast !== undefined) message.minutesEast = draft.minutesEast
  if (draft.answerId !== undefined) message.answerId = draft.answerId
  if (draft.usage !== undefined) message.usage = draft.usage
  if (draft.total !== undefined) message.total = draft.total
  if (draft.model !== undefined) message.model = draft.model
  if (draft.cwd !== undefined) message.cwd = draft.cwd
  if (draft.branch !== undefined) message.branch = draft.branch
  if (draft.subAgent !== undefined) message.subAgent = draft.subAgent
  if (startsTurn !== undefined) message.startsTurn = startsTurn
  if (draft.turnId !== undefined) message.turnId = draft.turnId
  if (draft.ends !== undefined) message.ends = draft.ends
  return message
}

/** Whoever speaks to a sub-agent is the agent that called it. */
export function speaker(by: By, subAgent: string | undefined): By {
  return by === 'person' && subAgent !== undefined ? 'agent' : by
}

function heard({ by, text = '', startsTurn, subAgent }: Draft): Pick<Draft, 'by' | 'startsTurn'> & { text: string } {
  if (by === 'agent') return { by, startsTurn, text: withoutPrivate(stripOwn(text)) }
  if (by !== 'person') return { by, startsTurn, text: '' }
  // What is injected first: a mark of privacy in it must not swallow what the person said after it.
  const said = stripInjected(text)
  // Without any text it may be a picture; with nothing but injected text nobody said it.
  if (said === '' && text.trim() !== '') return { by: 'injected', startsTurn: undefined, text: '' }
  return { by: speaker(by, subAgent), startsTurn, text: withoutPrivate(said) }
}
