/** Dreams as they go on, for whoever looks: in memory only, and told as they change. Keeps the last turns of each. */
import type { DreamEvent, DreamLive, DreamTurn, Spent } from '../../schema/dream.ts'
import type { Clock } from '../platform/clock.ts'

const KEEP_TURNS = 30
/** Of what a model says in one turn. */
const TEXT_CHARS = 2_000

type Deps = { publish: (event: Omit<DreamEvent, 'at'>) => void; clock: Pick<Clock, 'now'> }

export type Watched = {
  /** How many sessions it is about. */
  about(sessions: number): void
  turn(turn: DreamTurn, spent: Spent): void
  /** The first change is made. */
  updating(): void
  end(state: Exclude<DreamLive['state'], 'running'>, why?: string): void
}

export type DreamProgress = {
  begin(dir: string, of: { project: string; jobId: string }): Watched
  /** The one that goes on, or the last one of this process. */
  live(dir: string): DreamLive | undefined
  running(dir: string): DreamLive | undefined
}

export const NOTHING_SPENT: Spent = { calls: 0, input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }

export function createDreamProgress({ publish, clock }: Deps): DreamProgress {
  const dreams = new Map<string, DreamLive>()
  const running = (dir: string) => {
    const live = dreams.get(dir)
    return live?.state === 'running' ? live : undefined
  }
  return {
    live: (dir) => dreams.get(dir),
    running,
    begin: (dir, { project, jobId }) => {
      let live: DreamLive = {
        jobId,
        beganAt: new Date(clock.now()).toISOString(),
        state: 'running',
        phase: 'starting',
        sessions: 0,
        turns: [],
        turnCount: 0,
        files: [],
        spent: NOTHING_SPENT,
      }
      const change = (news: Partial<DreamLive>, turn?: DreamTurn) => {
        live = { ...live, ...news }
        dreams.set(dir, live)
        const { state, phase, spent, why } = live
        const more = { ...(turn && { turn }), ...(why !== undefined && { why }) }
        publish({ type: 'dream', project, jobId, state, phase, spent, ...more })
      }
      change({})
      return {
        about: (sessions) => change({ sessions }),
        turn: (told, spent) => {
          const turn = { ...told, text: told.text.slice(0, TEXT_CHARS) }
          const changes = turn.files.length > 0 || turn.tools.some((tool) => tool === 'Edit' || tool === 'Write')
          const phase = changes ? 'updating' : live.phase
          const turns = [...live.turns, turn].slice(-KEEP_TURNS)
          change({ phase, spent, turns, turnCount: live.turnCount + 1, files: turn.files }, turn)
        },
        updating: () => {
          if (live.phase !== 'updating') change({ phase: 'updating' })
        },
        end: (state, why) => change({ state, ...(why !== undefined && { why }) }),
      }
    },
  }
}
