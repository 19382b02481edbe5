/** A session's messages as models are told them, read back from its transcripts. Nothing is kept. */

import { meantIn, type Said as SaidTable } from '../sessions/message-table.ts'
import { handfuls, openReadBack } from '../transcripts/read-back.ts'
import type { Said } from './rendering.ts'

/** A message as its line tells it. */
type Line = Pick<Said, 'by' | 'text' | 'toolCalls' | 'toolResults'> & { id?: string; minutesEast?: number }

type Deps = {
  said: Pick<SaidTable, 'from'>
  messagesAt: (harness: string, line: string) => Line[]
}

export type Part = {
  row: number
  /** The message with which it begins; the first of all where nobody knows it. */
  from: string | undefined
  /** The number of the last one. */
  upTo: number
  signal: AbortSignal
}

export type SessionMessages = (part: Part) => Promise<Said[]>

export function createSessionMessages({ said, messagesAt }: Deps): SessionMessages {
  return async ({ row, from, upTo, signal }) => {
    const lines = openReadBack(messagesAt)
    const found: Said[] = []
    try {
      for (const handful of handfuls(said.from(row, from, upTo))) {
        signal.throwIfAborted()
        const read = await lines.read(handful)
        for (const [n, message] of handful.entries()) {
          const line = meantIn(read[n], message)
          if (!line) continue
          const { by, text, toolCalls, toolResults, minutesEast } = line
          const { uid: id, at, startsTurn } = message
          const known = {
            ...(at !== null && { at }),
            ...(minutesEast !== undefined && { minutesEast }),
            ...(startsTurn === 1 && { startsTurn: true as const }),
          }
          found.push({ id, by, text, toolCalls, toolResults, ...known })
        }
      }
      return found
    } finally {
      lines.close()
    }
  }
}
