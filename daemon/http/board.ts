/** How the daemon is doing, in one place: the answer to `status`, and the event that tells of a change. */
import type { Event, StatusEvent } from '../../schema/event.ts'
import { type Places, PROTOCOL } from '../../schema/rendezvous.ts'
import type { Status } from '../../schema/status.ts'
import type { Clock } from '../platform/clock.ts'
import type { Conditions } from '../platform/conditions.ts'
import type { Events } from '../platform/events.ts'

type Deps = { clock: Clock; conditions: Conditions; events: Events; places: Places; version: string }

/** What other parts know and `status` shows. */
export type Slices = Pick<Status, 'mode' | 'paused' | 'projects' | 'roots' | 'ingest' | 'jobs' | 'harnesses' | 'budget'>

export type StatusBoard = {
  answer(slices: Slices): Status
  announce(change: StatusEvent['change']): void
  /** What a reader of events is told first. */
  connected(): Event
}

export function createStatusBoard({ clock, conditions, events, places, version }: Deps): StatusBoard {
  const startedAt = new Date(clock.now()).toISOString()
  const state = () => (conditions.list().length > 0 ? 'degraded' : 'ready')
  return {
    answer: (slices) => ({
      ...slices,
      state: state(),
      reasons: conditions.list(),
      version,
      protocol: PROTOCOL,
      pid: process.pid,
      startedAt,
      socket: places.socketPath,
      stateDir: places.stateDir,
      configFile: places.configFile,
      errors: conditions.failures(),
    }),
    announce: (change) => events.publish({ type: 'status', state: state(), change }),
    connected: () => ({
      type: 'status',
      at: new Date(clock.now()).toISOString(),
      state: state(),
      change: 'connected',
    }),
  }
}
