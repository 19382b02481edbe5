/**
 * Selections of models that go on after their callers were answered: at most one for a session, ended by its next question, kept
 * for that one when they came in time. What somebody still waits for is never ended by another question.
 */
import type { Clock } from '../platform/clock.ts'

export type Selection = { dir: string; files: string[] }

export type Work = {
  signal: AbortSignal
  /** Its caller has been answered, and it goes on: what it selects comes with the session's next question. */
  goesOn(selecting: Promise<Selection>): void
  /** Its caller has been answered with what it brought. */
  done(): void
}

export type Late = {
  /** For a question; what goes on for an earlier one of its session ends. */
  begin(session: string | undefined): Work
  /** What was selected for the session's last question, once. */
  take(session: string | undefined, dir: string): string[]
  /** The session was cleared or compacted. */
  forget(session: string): void
  stop(): void
}

const MOST_SESSIONS = 1_000
/** How long a model may take for an answer nobody waits for. */
export const LATEST_MS = 60_000

type Deps = { clock: Pick<Clock, 'after'>; onError: (error: unknown) => void }

export function createLate({ clock, onError }: Deps): Late {
  const selected = new Map<string, Selection>()
  /** Nobody waits for these. */
  const going = new Map<string, AbortController>()
  const all = new Set<AbortController>()
  /** Counts how often a session was forgotten: what began before that is of no use after it. */
  const forgotten = new Map<string, number>()

  const end = (session: string): void => {
    going.get(session)?.abort()
    going.delete(session)
  }

  return {
    begin: (session) => {
      if (session !== undefined) end(session)
      const controller = new AbortController()
      const tooLate = clock.after(LATEST_MS, () => controller.abort())
      const wasForgotten = session === undefined ? 0 : forgotten.get(session)
      all.add(controller)
      const done = () => {
        tooLate.stop()
        all.delete(controller)
        if (session !== undefined && going.get(session) === controller) going.delete(session)
      }
      return {
        signal: controller.signal,
        goesOn: (selecting) => {
          const isOver = () => session === undefined || forgotten.get(session) !== wasForgotten
          if (session === undefined || isOver()) controller.abort()
          else {
            end(session)
            keep(going, session, controller)
          }
          selecting
            .then((selection) => {
              if (session !== undefined && selection.files.length > 0 && !isOver()) keep(selected, session, selection)
            })
            .catch(onError)
            .finally(done)
        },
        done,
      }
    },
    take: (session, dir) => {
      const kept = session === undefined ? undefined : selected.get(session)
      if (session === undefined || kept?.dir !== dir) return NONE
      selected.delete(session)
      return kept.files
    },
    forget: (session) => {
      end(session)
      selected.delete(session)
      keep(forgotten, session, (forgotten.get(session) ?? 0) + 1)
    },
    stop: () => {
      for (const controller of all) controller.abort()
    },
  }
}

const NONE: string[] = []

/** The map is in order of use. */
function keep<T>(map: Map<string, T>, session: string, value: T): void {
  map.delete(session)
  map.set(session, value)
  if (map.size > MOST_SESSIONS) map.delete(map.keys().next().value as string)
}
