/** A part of a session's conversation, read back from its transcript, message by message and free of credentials. */
import { setImmediate as turn } from 'node:timers/promises'
import { copied } from '../platform/text.ts'
import { meantIn, type SaidMessage } from '../sessions/message-table.ts'
import { handfuls, openReadBack } from '../transcripts/read-back.ts'

export type Call = { id: string; name: string; input: string }
export type Result = { callId: string; text: string }

/** A message as its line tells it: what was injected or is private is not in it. */
export type Line = { by: string; text: string; toolCalls: readonly Call[]; toolResults: readonly Result[]; id?: string }

export type Spoken = Omit<Line, 'id'> & Pick<SaidMessage, 'uid' | 'at' | 'startsTurn'>

type Deps = {
  messagesAt: (harness: string, line: string) => Line[]
  redact: (text: string) => Promise<{ text: string }>
}

/** Only the ends of what is longer are looked at, and of those not where they were cut: half a credential is not recognised. */
const WHOLE_CHARS = 24_000
const EDGE_CHARS = 12_000
const MARGIN_CHARS = 4_000

export function createReading({ messagesAt, redact }: Deps) {
  const clean = async (text: string): Promise<string> => {
    if (text === '') return ''
    if (text.length <= WHOLE_CHARS) return (await redact(text)).text
    const head = (await redact(copied(text.slice(0, EDGE_CHARS)))).text
    const tail = (await redact(copied(text.slice(-EDGE_CHARS)))).text
    return `${head.slice(0, -MARGIN_CHARS)}\n[…]\n${tail.slice(MARGIN_CHARS)}`
  }
  const cleanLine = async ({ by, text, toolCalls, toolResults }: Line): Promise<Omit<Line, 'id'>> => {
    const calls: Call[] = []
    for (const call of toolCalls) calls.push({ ...call, input: await clean(call.input) })
    const results: Result[] = []
    for (const result of toolResults) results.push({ ...result, text: await clean(result.text) })
    return { by, text: await clean(text), toolCalls: calls, toolResults: results }
  }

  /** As it was said: nothing of it may be kept. */
  async function* raw(part: readonly SaidMessage[], signal: AbortSignal): AsyncGenerator<[SaidMessage, Line]> {
    const lines = openReadBack((harness, line) => messagesAt(harness, line))
    try {
      for (const handful of handfuls(part.filter(({ by }) => by === 'person' || by === 'agent' || by === 'tool'))) {
        signal.throwIfAborted()
        const found = await lines.read(handful)
        for (const [n, message] of handful.entries()) {
          const line = meantIn(found[n], message)
          if (line) yield [message, line]
        }
      }
    } finally {
      lines.close()
    }
  }

  return {
    raw,
    spoken: async function* (part: readonly SaidMessage[], signal: AbortSignal): AsyncGenerator<Spoken> {
      for await (const [{ uid, at, startsTurn }, line] of raw(part, signal)) {
        // Looking through a message may take as long as an answer: others get their turn in between.
        await turn()
        yield { uid, at, startsTurn, ...(await cleanLine(line)) }
      }
    },
  }
}
