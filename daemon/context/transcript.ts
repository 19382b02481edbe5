/** A session as its transcript tells it, in the form of the Messages API. Pure. */
import { hash } from 'node:crypto'
import type { SessionMessage } from '../agent/rendering.ts'
import type { Block, Message } from './messages.ts'

/** Calls that nobody gave a name get one, and the next results without a name are theirs. */
export function messagesOfTranscript(lines: readonly SessionMessage[]): Message[] {
  let made = 0
  let open: string[] = []
  return lines.flatMap((line): Message[] => {
    const { id, by, text } = line
    if (by === 'agent') {
      const calls = line.toolCalls.map(({ id: name = '', ...call }) => {
        if (name !== '') return callOf({ ...call, id: nameOf(name) })
        const own = `call-${++made}`
        open.push(own)
        return callOf({ ...call, id: own })
      })
      const content = [...said(text), ...calls]
      return content.length === 0 ? [] : [{ id, role: 'assistant', content }]
    }
    if (by !== 'person' && by !== 'tool') return []
    const results = line.toolResults.map(({ callId = '', text: result }) =>
      resultOf({ callId: callId === '' ? (open.shift() ?? '') : nameOf(callId), text: result }),
    )
    if (by === 'person') open = []
    const content = [...results, ...said(text)]
    return content.length === 0 ? [] : [{ id, role: 'user', content }]
  })
}

/** Others name calls as they like; a server takes only letters, digits and lines. */
function nameOf(id: string): string {
  return /^[A-Za-z0-9_-]+$/.test(id) ? id : `call-${hash('sha256', id).slice(0, 32)}`
}

function said(text: string): Block[] {
  return /\S/.test(text) ? [{ type: 'text', text }] : []
}

function callOf({ id, name, input }: { id: string; name: string; input: string }): Block {
  return { type: 'tool_use', id, name, input: inputOf(input) }
}

function resultOf({ callId, text }: { callId: string; text: string }): Block {
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
