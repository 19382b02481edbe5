/** What persons said in a part of a session, read back from its transcript, and what the agent did meanwhile. */
import { handfuls, openReadBack } from '../platform/read-back.ts'
import { meantIn, type Said, type SaidMessage } from '../store/said.ts'
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

export function createReading({ said, messagesAt, redact }: Deps) {
  const open = () => openReadBack((harness, line) => messagesAt(harness, line))
  type Open = ReturnType<typeof open>

  const one = async (lines: Open, message: SaidMessage): Promise<Spoken | undefined> =>
    meantIn((await lines.read([message]))[0], message)

  /** The end of the answer that a person replies to. */
  const answerBefore = async (lines: Open, row: number, message: SaidMessage): Promise<string | undefined> => {
    for (const before of said.agentBefore(row, message.id)) {
      const spoken = await one(lines, before)
      if (spoken && spoken.text !== '') return (await redact(spoken.text)).text
    }
    return undefined
  }

  return {
    /** Free of credentials. */
    words: async (row: number, part: readonly SaidMessage[], signal: AbortSignal): Promise<Word[]> => {
      const lines = open()
      const words: Word[] = []
      try {
        for (const message of part.filter(({ by }) => by === 'person')) {
          signal.throwIfAborted()
          const spoken = await one(lines, message)
          if (!spoken || spoken.text.trim() === '') continue
          const { text } = await redact(spoken.text)
          const previousAssistant = await answerBefore(lines, row, message)
          words.push({ message, text, previousAssistant, minutesEast: spoken.minutesEast })
        }
        return words
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
