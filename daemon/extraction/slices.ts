/**
 * What is new in a session, in parts that a model can be told at once: whole turns, as many as fit, and of a turn that
 * does not fit by itself as many messages. Pure.
 */
import { BYTES_PER_TOKEN } from '../platform/tokens.ts'
import type { SaidMessage } from '../sessions/message-table.ts'

/** Less than stays when a session is told anew from further on. */
const SLICE_TOKENS = 18_000
/** Long results are cut when they are told. */
const TOLD_BYTES = { tool: 2_000, agent: 28_000, person: 76_000 }

export function slicesOf(part: readonly SaidMessage[], capTokens = SLICE_TOKENS): SaidMessage[][] {
  const slices: SaidMessage[][] = []
  let slice: SaidMessage[] = []
  let tokens = 0
  const add = (messages: readonly SaidMessage[]) => {
    const size = sizeOf(messages)
    if (slice.length > 0 && tokens + size > capTokens) {
      slices.push(slice)
      slice = []
      tokens = 0
    }
    slice.push(...messages)
    tokens += size
  }
  for (const turn of turnsOf(part)) {
    if (sizeOf(turn) <= capTokens) add(turn)
    else for (const message of turn) add([message])
  }
  return slice.length > 0 ? [...slices, slice] : slices
}

export function turnsOf(part: readonly SaidMessage[]): SaidMessage[][] {
  const turns: SaidMessage[][] = []
  for (const message of part) {
    const last = turns.at(-1)
    if (!last || message.startsTurn === 1) turns.push([message])
    else last.push(message)
  }
  return turns
}

/** When each was said: who says nothing of the time speaks when the last one spoke. */
export function timesOf(part: readonly SaidMessage[], nowMs: number): (message: SaidMessage) => number {
  const times = new Map<string, number>()
  let last: number | undefined
  for (const { uid, at } of part) {
    last = at ?? last
    if (last !== undefined) times.set(uid, last)
  }
  return ({ uid }) => times.get(uid) ?? nowMs
}

function sizeOf(messages: readonly SaidMessage[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0)
}

function tokensOf({ by, length }: SaidMessage): number {
  if (by !== 'tool' && by !== 'agent' && by !== 'person') return 0
  return Math.ceil(Math.min(length, TOLD_BYTES[by]) / BYTES_PER_TOKEN)
}
