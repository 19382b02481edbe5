/** A session as its transcript tells it, in the form of the Messages API. Pure. */
import type { Block, Message } from './message.ts'

/** A message as transcripts are read. */
export type Line = {
  id: string
  by: string
  text: string
  toolCalls: readonly { id?: string; name: string; input: string }[]
  toolResults: readonly { callId?: string; text: string }[]
}

export function messagesOfTranscript(lines: readonly Line[]): Message[] {
  return lines.flatMap((line): Message[] => {
    const { id, by, text } = line
    if (by === 'agent') {
      const content = [...said(text), ...line.toolCalls.map(callOf)]
      return content.length === 0 ? [] : [{ id, role: 'assistant', content }]
    }
    if (by !== 'person' && by !== 'tool') return []
    const content = [...line.toolResults.map(resultOf), ...said(text)]
    return content.length === 0 ? [] : [{ id, role: 'user', content }]
  })
}

function said(text: string): Block[] {
  return /\S/.test(text) ? [{ type: 'text', text }] : []
}

function callOf({ id = '', name, input }: Line['toolCalls'][number]): Block {
  return { type: 'tool_use', id, name, input: inputOf(input) }
}

function resultOf({ callId = '', text }: Line['toolResults'][number]): Block {
  return { type: 'tool_result', tool_use_id: callId, content: text }
}

/** The command of a shell stands there as it is, everything else as JSON. */
function inputOf(input: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(input)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // It is a command.
  }
  return input === '' ? {} : { command: input }
}
