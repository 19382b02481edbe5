/** The hourly round: today's backup, then retention. A failed round is shown in `status` until one succeeds. */
import type { Clock } from '../platform/clock.ts'
import type { Conditions } from '../platform/conditions.ts'
import { message } from '../platform/files.ts'
import type { Log } from '../platform/log.ts'

type Deps = {
  clock: Clock
  conditions: Conditions
  log: Log
  backUp: () => Promise<unknown>
  /** Returns what was deleted. */
  sweep: () => string[]
}

const EVERY_MS = 3_600_000

export function startHousekeeping({ clock, conditions, log, backUp, sweep }: Deps): { stop(): Promise<void> } {
  const round = async () => {
    try {
      await backUp()
      const deleted = sweep()
      if (deleted.length > 0) log.info({ files: deleted.length }, 'deleted what is past its retention')
      conditions.clear('housekeeping')
    } catch (error) {
      conditions.raise('housekeeping', `today's backup and clean-up failed, next try in an hour: ${message(error)}`)
    }
  }
  let running = round()
  const rounds = clock.every(EVERY_MS, () => {
    running = round()
    return running
  })
  return {
    stop: async () => {
      rounds.stop()
      await running
    },
  }
}
