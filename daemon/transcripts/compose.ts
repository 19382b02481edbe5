/** Makes the message out of what an adapter found: nothing injected and nothing private is left in it. Pure. */
import { present } from './fields.ts'
import { stripInjected, stripOwn } from './injected.ts'
import type { By, Message } from './message.ts'
import { withoutPrivate } from './private-spans.ts'

export type Draft = { [K in keyof Message]?: Message[K] | undefined } & { by: By }

export function compose(draft: Draft): Message {
  const { toolCalls = [], toolResults = [] } = draft
  const { by, text, startsTurn } = heard(draft)
  return present<Message>({
    ...draft,
    kind: 'message',
    by,
    text,
    startsTurn,
    toolCalls: toolCalls.map((call) => ({ ...call, input: withoutPrivate(call.input) })),
    toolResults: toolResults.map((result) => ({ ...result, text: withoutPrivate(stripInjected(result.text)) })),
  })
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
