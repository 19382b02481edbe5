/** One message of a transcript as a model is told it: fenced, so that nothing in it can pass for anything else. Pure. */
import { applyCuts, type Cuts, type Part } from './cuts.ts'

/** What is told of a message; the daemon's own messages are of this shape. Only those with an id can be named. */
export type Said = {
  id: string
  by: 'person' | 'agent' | 'tool' | 'injected' | 'system'
  text: string
  toolCalls: readonly { name: string; input: string }[]
  toolResults: readonly { text: string }[]
  at?: number
  minutesEast?: number
  startsTurn?: true
}

/** What nobody said is told to nobody: neither what a harness or this program put there, nor its records. */
export function isTold({ by, text, toolCalls, toolResults }: Said): boolean {
  if (by === 'injected' || by === 'system') return false
  return text !== '' || toolCalls.length > 0 || toolResults.length > 0
}

export function partsOf({ text, toolCalls, toolResults }: Said): Part[] {
  return [
    { kind: 'text', text },
    ...toolCalls.map(({ input }) => ({ kind: 'call' as const, text: input })),
    ...toolResults.map((result) => ({ kind: 'result' as const, text: result.text })),
  ]
}

/** `parts` are those of the message, without credentials. */
export function messageText(number: number, said: Said, parts: readonly Part[], cuts: Cuts): string {
  const at = said.at === undefined ? '' : ` at="${new Date(said.at).toISOString().replace(/\.\d+Z$/, 'Z')}"`
  const lines = parts.flatMap(({ kind, text }, n) => {
    const shown = fenced(applyCuts(text, cuts[n]))
    if (kind === 'text') return shown === '' ? [] : [shown]
    const call = kind === 'call' ? said.toolCalls[n - 1] : undefined
    return [call ? `<call tool="${attribute(call.name)}">\n${shown}\n</call>` : `<result>\n${shown}\n</result>`]
  })
  return `<message id="${nameOf(number)}" by="${said.by}"${at}>\n${lines.join('\n')}\n</message>\n`
}

/** Short, because models write them back and every one costs. */
export function nameOf(number: number): string {
  return `m${number}`
}

/** A text that spells one of our marks does not become one. */
export function fenced(text: string): string {
  return text.replace(/<(?=\s*\/?\s*(?:message|call|result|transcript|session-notes)\b)/gi, '&lt;')
}

function attribute(text: string): string {
  return text.replace(/[^\w.:-]/g, '_').slice(0, 100)
}
