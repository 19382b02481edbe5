/** Lets a session be compacted once at a time, and whoever asks for the same meanwhile have the same answer for one price. */
import { isDeepStrictEqual } from 'node:util'
import type { Compacted } from '../../schema/context.ts'
import { createInTurn } from '../platform/in-turn.ts'
import type { Conversation, Wanted } from './compact.ts'
import type { Message } from './message.ts'
import type { SessionKey } from './tool-results.ts'

export type Run = (conversation: Conversation, messages: readonly Message[], wanted: Wanted) => Promise<Compacted>

export function sessionName({ harness, session }: SessionKey): string {
  return JSON.stringify([harness, session])
}

type Running = { messages: readonly Message[]; wanted: Wanted; done: Promise<Compacted> }

/** What is only looked at beforehand waits for nobody. */
export function oneAtATime(run: Run): Run {
  const inTurn = createInTurn()
  const lasts = new Map<string, Running>()
  const compact: Run = (conversation, messages, wanted) => {
    if (wanted.preview) return run(conversation, messages, wanted)
    const name = sessionName(conversation.key)
    const last = lasts.get(name)
    if (last && isSame(last, messages, wanted))
      return last.done.catch((error) => {
        // Who asked first hung up; this one did not.
        if (last.wanted.signal.aborted) return compact(conversation, messages, wanted)
        throw error
      })
    const done = inTurn(name, () => run(conversation, messages, wanted))
    const mine = { messages, wanted, done }
    lasts.set(name, mine)
    const over = () => void (lasts.get(name) === mine && lasts.delete(name))
    done.then(over, over)
    return done
  }
  return compact
}

function isSame({ messages, wanted }: Running, others: readonly Message[], other: Wanted): boolean {
  if (wanted.signal.aborted || messages.length !== others.length) return false
  return (
    isDeepStrictEqual({ ...wanted, signal: null }, { ...other, signal: null }) && isDeepStrictEqual(messages, others)
  )
}
