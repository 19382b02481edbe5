/** A part of a session's conversation, read back from its transcript, message by message. */
import { setImmediate as turn } from 'node:timers/promises'
import { copied } from '../platform/text.ts'
import { redact } from '../secrets/redact.ts'
import { meantIn, type SaidMessage } from '../sessions/message-table.ts'
import { messagesAt } from '../transcripts/digest.ts'
import { handfuls, openReadBack } from '../transcripts/read-back.ts'

export type Call = { id: string; name: string; input: string }
export type Result = { callId: string; text: string }

/** A message as its line tells it: what was injected or is private is not in it. */
type Line = { by: string; text: string; toolCalls: readonly Call[]; toolResults: readonly Result[] }

export type Spoken = Line & Pick<SaidMessage, 'uid' | 'at' | 'startsTurn'>

/** Only the ends of what is longer are looked at, and of those not where they were cut: half a credential is not recognised. */
const WHOLE_CHARS = 24_000
const EDGE_CHARS = 12_000
const MARGIN_CHARS = 4_000

/** With their credentials: for counting only. */
export async function* messagesIn(part: readonly SaidMessage[], signal: AbortSignal) {
  const lines = openReadBack(messagesAt)
  try {
    for (const handful of handfuls(part.filter(({ by }) => by === 'person' || by === 'agent' || by === 'tool'))) {
      signal.throwIfAborted()
      const found = await lines.read(handful)
      for (const [n, message] of handful.entries()) {
        const line = meantIn(found[n], message)
        if (line) yield [message, line] as const
      }
    }
  } finally {
    lines.close()
  }
}

export async function* redactedMessagesIn(part: readonly SaidMessage[], signal: AbortSignal): AsyncGenerator<Spoken> {
  for await (const [{ uid, at, startsTurn }, line] of messagesIn(part, signal)) {
    // Redacting one message may take as long as a whole answer: other work gets its turn in between.
    await turn()
    const toolCalls: Call[] = []
    for (const call of line.toolCalls) toolCalls.push({ ...call, input: await clean(call.input) })
    const toolResults: Result[] = []
    for (const result of line.toolResults) toolResults.push({ ...result, text: await clean(result.text) })
    yield { uid, at, startsTurn, by: line.by, text: await clean(line.text), toolCalls, toolResults }
  }
}

async function clean(text: string): Promise<string> {
  if (text === '') return ''
  if (text.length <= WHOLE_CHARS) return (await redact(text)).text
  const head = (await redact(copied(text.slice(0, EDGE_CHARS)))).text
  const tail = (await redact(copied(text.slice(-EDGE_CHARS)))).text
  return `${head.slice(0, -MARGIN_CHARS)}\n[…]\n${tail.slice(MARGIN_CHARS)}`
}
