/** What the reading thread does: round by round whatever is due, fairly, and what is asked in between. Knows no thread. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import { isDiskTrouble } from '../platform/disk.ts'
import type { Source } from './formats/formats.ts'
import type { Ingest, Prepared } from './ingest.ts'
import { createLanes, type Due } from './lanes.ts'
import type { Turn } from './live-chain.ts'
import { createPace } from './pace.ts'
import type { PushedTurn } from './pushed-lines.ts'
import type { Failed, FromThread, ToThread } from './thread-messages.ts'

type Deps = {
  ingest: Ingest
  clock: Pick<Clock, 'elapsed' | 'worked'>
  turnsOf: (sources: readonly Source[]) => Promise<Turn[]>
  linesOf: (turn: PushedTurn) => Promise<string[]>
  setPrivate: (paths: readonly string[]) => void
  /** One step towards an index that is quicker to ask. */
  merge: () => 'more' | 'done'
  tell: (message: FromThread) => void
}

export type Rounds = { hear(message: Exclude<ToThread, { kind: 'end' }>): void; stop(): void }

/** What a transcript costs that has nothing new, or little: so a round of short ones is of a few hundred at most. */
const LEAST_BYTES = 4_000

/** So many rounds leave so many parts in the index that it pays to put them together: a gigabyte is a thousand. */
const MANY_ROUNDS = 64

type Taken = Prepared & { due: Due; source: Source }

export function createRounds({ ingest, clock, turnsOf, linesOf, setPrivate, merge, tell }: Deps): Rounds {
  const lanes = createLanes()
  const pace = createPace()
  let state: 'resting' | 'working' | 'stopped' = 'resting'
  let asked = 0
  let heard = 0
  let unmerged = 0

  const tellAgain = (sources: readonly Source[] = []) => {
    for (const source of sources) tell({ kind: 'again', source })
  }

  /** Slices of as many transcripts as make one good transaction. */
  const gather = async (): Promise<Taken[]> => {
    const taken = new Map<string, Taken>()
    let again: Due | undefined
    for (let bytes = 0; bytes < pace.batchBytes() && !again && !isStopped(); ) {
      const due = lanes.next()
      if (!due) break
      const { lane: _, ...source } = due
      // News of one whose slice is not saved yet.
      if (taken.has(source.path)) again = due
      else
        try {
          const prepared = await ingest.read(source, { capBytes: pace.batchBytes() - bytes })
          taken.set(source.path, { ...prepared, due, source })
          tellAgain(prepared.again)
          bytes += prepared.bytes + LEAST_BYTES
        } catch (error) {
          tell({ kind: 'failed', source, error: failed(error) })
        }
    }
    if (again) lanes.add(again)
    return [...taken.values()]
  }

  const mergeSome = () => {
    try {
      if (merge() === 'done') unmerged = 0
    } catch (error) {
      // Nothing is missing: after many more rounds it is tried again. What is wrong with a disk, the next of them tells.
      unmerged = 0
      const isBusy = /^SQLITE_(?:BUSY|LOCKED)/.test(String((error as { code?: unknown }).code))
      if (!isDiskTrouble(error) && !isBusy) throw error
    }
  }

  const keep = (taken: readonly Taken[]) => {
    try {
      const save = ingest.ready(taken)
      const begunMs = clock.elapsed()
      const workedMs = clock.worked()
      const again = save()
      pace.took(
        clock.elapsed() - begunMs,
        clock.worked() - workedMs,
        taken.reduce((sum, { bytes }) => sum + bytes, 0),
      )
      unmerged++
      tellAgain(again)
    } catch (error) {
      for (const { source } of taken) tell({ kind: 'failed', source, error: failed(error) })
      return
    }
    for (const { due, source, progress } of taken) {
      if (progress.state === 'more') lanes.add(due)
      tell({ kind: 'progress', source, progress })
    }
  }

  const work = async () => {
    if (state !== 'resting') return
    state = 'working'
    while (lanes.size() > 0 || unmerged >= MANY_ROUNDS) {
      if (lanes.size() > 0) keep(await gather())
      else mergeSome()
      // News of others is heard between two rounds.
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

/** What is left of an error when it has crossed threads. */
export function failed(error: unknown): Failed {
  const { message, code } = error as NodeJS.ErrnoException
  return { message: String(message), ...(code !== undefined && { code: String(code) }) }
}
