/** Tells of turns that have ended: at once where the harness marks the end, else when nothing follows for a while. */
import type { Clock, Timer } from '../platform/clock.ts'
import type { TurnEnd } from './ingest.ts'

export type EndedTurn = Omit<TurnEnd, 'end' | 'at'> & { end: 'final' | 'aborted' }

type Deps = { clock: Clock; onTurn: (turn: EndedTurn) => void }

export type TurnEnds = {
  /** Lines of a file were read; `ended`: they, and all before them, end a turn. */
  read(path: string, ended: TurnEnd | undefined): void
  stop(): void
}

const SETTLING_MS = 5_000
/** Old transcripts that are read for the first time are no news. */
const NEWS_MS = 10 * 60_000

export function createTurnEnds({ clock, onTurn }: Deps): TurnEnds {
  const settling = new Map<string, Timer>()
  return {
    read: (path, ended) => {
      settling.get(path)?.stop()
      settling.delete(path)
      if (!ended || (ended.at !== undefined && clock.now() - ended.at > NEWS_MS)) return
      const { end, at: _, ...turn } = ended
      if (end !== 'settling') return onTurn({ ...turn, end })
      const settle = () => {
        settling.delete(path)
        onTurn({ ...turn, end: 'final' })
      }
      settling.set(path, clock.after(SETTLING_MS, settle))
    },
    stop: () => {
      for (const timer of settling.values()) timer.stop()
    },
  }
}
