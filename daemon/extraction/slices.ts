/** What is new in a session, in parts that a model can be told at once: whole turns, as many as fit. Pure. */
import type { SaidMessage } from '../store/said.ts'

/** Less than stays when a session is told anew from further on. */
const SLICE_TOKENS = 18_000
const BYTES_PER_TOKEN = 4
/** Long results are cut when they are told. */
const TOLD_OF_RESULT_BYTES = 2_000
const TOLD_OF_MESSAGE_BYTES = 28_000

export function slicesOf(part: readonly SaidMessage[], capTokens = SLICE_TOKENS): SaidMessage[][] {
  const slices: SaidMessage[][] = []
  let slice: SaidMessage[] = []
  let tokens = 0
  for (const turn of turnsOf(part)) {
    const size = turn.reduce((sum, message) => sum + tokensOf(message), 0)
    if (slice.length > 0 && tokens + size > capTokens) {
      slices.push(slice)
      slice = []
      tokens = 0
    }
    slice.push(...turn)
    tokens += size
  }
  return slice.length > 0 ? [...slices, slice] : slices
}

function turnsOf(part: readonly SaidMessage[]): SaidMessage[][] {
  const turns: SaidMessage[][] = []
  for (const message of part) {
    const last = turns.at(-1)
    if (!last || message.startsTurn === 1) turns.push([message])
    else last.push(message)
  }
  return turns
}

function tokensOf({ by, length }: SaidMessage): number {
  if (by === 'injected' || by === 'system') return 0
  return Math.ceil(Math.min(length, by === 'tool' ? TOLD_OF_RESULT_BYTES : TOLD_OF_MESSAGE_BYTES) / BYTES_PER_TOKEN)
}
