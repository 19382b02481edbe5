/** What the reading thread does: slice by slice whatever is due, fairly, and what is asked in between. Knows no thread. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Ingest } from './ingest.ts'
import { createLanes } from './lanes.ts'
import type { PushedTurn } from './pushed-lines.ts'
import type { Source } from './source.ts'
import type { Failed, FromThread, ToThread } from './thread-messages.ts'
import type { Turn } from './turns.ts'

type Deps = {
  ingest: Ingest
  turnsOf: (sources: readonly Source[]) => Promise<Turn[]>
  linesOf: (turn: PushedTurn) => Promise<string[]>
  setPrivate: (paths: readonly string[]) => void
  tell: (message: FromThread) => void
}

export type Rounds = { hear(message: Exclude<ToThread, { kind: 'end' }>): void; stop(): void }

export function createRounds({ ingest, turnsOf, linesOf, setPrivate, tell }: Deps): Rounds {
  const lanes = createLanes()
  let state: 'resting' | 'working' | 'stopped' = 'resting'
  let asked = 0
  let heard = 0

  const work = async () => {
    if (state !== 'resting') return
    state = 'working'
    for (let due = lanes.next(); due; due = lanes.next()) {
      const { lane: _, ...source } = due
      try {
        const progress = await ingest.next(source)
        if (progress.state === 'more') lanes.add(due)
        tell({ kind: 'progress', source, progress })
      } catch (error) {
        tell({ kind: 'failed', source, error: failed(error) })
      }
      // News of others is heard between two slices.
      await turn()
      if (isStopped()) return
    }
    state = 'resting'
    rest()
  }
  const isStopped = () => state === 'stopped'
  const rest = () => {
    if (state === 'resting' && asked === 0) tell({ kind: 'idle', turn: heard })
  }

  const answer = async (asking: Promise<FromThread>) => {
    asked++
    const told = await asking
    asked--
    tell(told)
    rest()
  }

  return {
    hear: (message) => {
      heard = message.turn
      if (message.kind === 'turns') {
        const { kind, ask, sources } = message
        return void answer(
          turnsOf(sources)
            .catch(failed)
            .then((told) => ({ kind, ask, answer: told })),
        )
      }
      if (message.kind === 'lines') {
        const { kind, ask, pushed } = message
        return void answer(
          linesOf(pushed)
            .catch(failed)
            .then((told) => ({ kind, ask, answer: told })),
        )
      }
      setPrivate(message.privatePaths)
      for (const due of message.due) lanes.add(due)
      void work()
    },
    stop: () => {
      state = 'stopped'
    },
  }
}

function failed(error: unknown): Failed {
  const { message, code } = error as NodeJS.ErrnoException
  return { message: String(message), ...(code !== undefined && { code: String(code) }) }
}
