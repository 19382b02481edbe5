/** The rounds of a conversation, each one question to the API and what was said before it; drops the oldest. Pure. */
import { isCut } from './cuts.ts'
import type { Message } from './message.ts'
import { toldTokens } from './telling.ts'

const SAFETY = 1.1

/** Begins of rounds: an answer, with the results that it asked for, up to the next. */
function roundsOf(messages: readonly Message[]): Message[][] {
  const rounds: Message[][] = []
  for (const [at, message] of messages.entries()) {
    const last = rounds.at(-1)
    if (!last || (message.role === 'assistant' && isCut(messages, at))) rounds.push([message])
    else last.push(message)
  }
  return rounds
}

/**
 * What is too much goes from the beginning, counted as it is told and with a little more for safety; where nobody says how
 * much, a fifth. Nothing when it would leave nothing.
 */
export function withoutOldest(messages: readonly Message[], gapTokens: number | undefined): Message[] | undefined {
  const rounds = roundsOf(messages)
  if (rounds.length < 2) return undefined
  let drop = 0
  if (gapTokens === undefined) drop = Math.max(1, Math.floor(rounds.length / 5))
  else
    for (let freed = 0; drop < rounds.length && freed < SAFETY * gapTokens; drop++)
      freed += toldTokens(rounds[drop] as Message[])
  drop = Math.min(drop, rounds.length - 1)
  return rounds.slice(drop).flat()
}

/** What a server says when it was sent too much, and how much that was. */
export function tooLong(message: string): { gapTokens: number | undefined } | undefined {
  if (
    !/prompt is too long|request_too_large|exceeds the maximum size|context (?:window|length)|too many tokens/i.test(
      message,
    )
  )
    return undefined
  const [, sent, most] = /(\d[\d,]*)\s*tokens?\s*>\s*(\d[\d,]*)/i.exec(message) ?? []
  if (sent === undefined || most === undefined) return { gapTokens: undefined }
  const gap = Number(sent.replaceAll(',', '')) - Number(most.replaceAll(',', ''))
  return { gapTokens: gap > 0 ? gap : undefined }
}
