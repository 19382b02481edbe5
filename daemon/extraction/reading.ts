/** What persons said in a part of a session, read back from its transcript, and what the agent did meanwhile. */
import { copied, headOf, tailOf } from '../platform/characters.ts'
import { handfuls, openReadBack } from '../platform/read-back.ts'
import { meantIn, type Said, type SaidMessage } from '../sessions/message-table.ts'
import type { Call } from './own-writes.ts'

/** A message as its line tells it. */
export type Spoken = { by: string; text: string; toolCalls: readonly Call[]; id?: string; minutesEast?: number }

export type Word = {
  message: SaidMessage
  text: string
  previousAssistant: string | undefined
  /** Where it was said, if that is told. */
  minutesEast: number | undefined
}

type Deps = {
  said: Pick<Said, 'agentBefore'>
  messagesAt: (harness: string, line: string) => Spoken[]
  redact: (text: string) => Promise<{ text: string }>
}

/** As much as a model is told of a person's message: what is longer was pasted, and its beginning tells what for. */
const LONGEST_CHARS = 76_000
/** More of an answer than anybody looks at who reads what is replied to it. */
const ANSWER_CHARS = 12_000
/** Not kept where a text was cut: half a credential is not recognised. */
const MARGIN_CHARS = 4_000

export function createReading({ said, messagesAt, redact }: Deps) {
  const beginningOf = async (text: string): Promise<string> => {
    if (text.length <= LONGEST_CHARS) return (await redact(text)).text
    return (await redact(copied(headOf(text, LONGEST_CHARS)))).text.slice(0, -MARGIN_CHARS)
  }
  const endOf = async (text: string): Promise<string> => {
    if (text.length <= ANSWER_CHARS) return (await redact(text)).text
    return (await redact(copied(tailOf(text, ANSWER_CHARS)))).text.slice(MARGIN_CHARS)
  }
  const open = () => openReadBack((harness, line) => messagesAt(harness, line))
  type Open = ReturnType<typeof open>

  const one = async (lines: Open, message: SaidMessage): Promise<Spoken | undefined> =>
    meantIn((await lines.read([message]))[0], message)

  /** The end of the answer that a person replies to. */
  const answerBefore = async (lines: Open, row: number, message: SaidMessage): Promise<string | undefined> => {
    for (const before of said.agentBefore(row, message.id)) {
      const spoken = await one(lines, before)
      if (spoken && spoken.text !== '') return endOf(spoken.text)
    }
    return undefined
  }

  return {
    /** Free of credentials, and one after the other: a day of them need not be held at once. */
    words: async function* (row: number, part: readonly SaidMessage[], signal: AbortSignal): AsyncGenerator<Word> {
      const lines = open()
      try {
        for (const message of part.filter(({ by }) => by === 'person')) {
          signal.throwIfAborted()
          const spoken = await one(lines, message)
          if (!spoken || spoken.text.trim() === '') continue
          const text = await beginningOf(spoken.text)
          const previousAssistant = await answerBefore(lines, row, message)
          yield { message, text, previousAssistant, minutesEast: spoken.minutesEast }
        }
      } finally {
        lines.close()
      }
    },
    /** Every tool that was called, until `found` says that it was the one. */
    someCall: async (part: readonly SaidMessage[], found: (call: Call) => boolean): Promise<boolean> => {
      const lines = open()
      try {
        for (const handful of handfuls(part.filter(({ toolCalls }) => toolCalls > 0)))
          for (const spoken of await lines.read(handful))
            if (spoken?.some(({ toolCalls }) => toolCalls.some(found))) return true
        return false
      } finally {
        lines.close()
      }
    },
  }
}

export type Reading = ReturnType<typeof createReading>
