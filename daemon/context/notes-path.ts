/** Whether the notes of a session can stand for what was said, and from where on the conversation stays. Waits a little for notes that are being written. */
import type { Clock } from '../platform/clock.ts'
import { keptFrom } from './keeping.ts'
import type { Message } from './message.ts'
import type { Parts } from './result.ts'
import { lastSummary } from './summary-mark.ts'
import type { Counter } from './tokens.ts'

/**
 * `runningSinceMs`: since when an update of them runs, by the wall clock. `before`: what stands before their last message
 * in the transcript, newest first: that may be a record which no harness sends.
 */
export type Notes = {
  text: string
  lastMessageId: string
  runningSinceMs?: number | undefined
  before?: (() => readonly string[]) | undefined
}

const WAIT_MS = 15_000
const DEAD_MS = 60_000
const LOOK_MS = 200

export async function currentNotes(
  look: () => Notes | undefined,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<Notes | undefined> {
  const startMs = clock.elapsed()
  for (;;) {
    const notes = look()
    const since = notes?.runningSinceMs
    const isRunning = since !== undefined && clock.now() - since <= DEAD_MS
    if (!isRunning || signal.aborted || clock.elapsed() - startMs >= WAIT_MS) return notes
    await new Promise<void>((resolve) => void clock.after(LOOK_MS, resolve))
  }
}

/** Nothing where the last message that they know of is not among these. */
export function partsFromNotes(counter: Counter, messages: readonly Message[], notes: Notes): Parts | undefined {
  const last = lastKnown(messages, notes)
  if (last < 0) return undefined
  // What an earlier summary stands for is not said again by notes, but nothing before it is there to be kept.
  const start = keptFrom(counter, messages, { from: last + 1, floor: lastSummary(messages.slice(0, last + 1)) + 1 })
  return { before: [], between: messages.slice(0, start), after: messages.slice(start) }
}

/** What comes after it stays, so that one further back loses nothing. */
function lastKnown(messages: readonly Message[], { lastMessageId, before = () => [] }: Notes): number {
  const places = new Map(messages.flatMap(({ id }, at) => (id === undefined ? [] : [[id, at] as const])))
  const known = places.get(lastMessageId)
  if (known !== undefined) return known
  return places.get(before().find((id) => places.has(id)) ?? '') ?? -1
}
