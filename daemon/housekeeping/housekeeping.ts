/** The hourly round: today's backup, then retention. A failed round is shown in `status` until one succeeds. */
import type { Clock } from '../platform/clock.ts'
import type { Conditions } from '../platform/conditions.ts'
import { message } from '../platform/files.ts'
import type { Log } from '../platform/log.ts'
import { aborted } from '../platform/signals.ts'

type Deps = {
  clock: Clock
  conditions: Conditions
  log: Log
  backUp: () => Promise<unknown>
  /** Returns what was deleted. */
  sweep: () => Promise<string[]>
  /** A failure that the disk is to blame for is the disk's condition; the round is run again when it has recovered. */
  blamesDisk: (error: unknown) => boolean
}

const EVERY_MS = 3_600_000

export type Housekeeping = { run(): Promise<void>; stop(signal: AbortSignal): Promise<void> }

export function startHousekeeping({ clock, conditions, log, backUp, sweep, blamesDisk }: Deps): Housekeeping {
  const round = async () => {
    try {
      await backUp()
      const deleted = await sweep()
      if (deleted.length > 0) log.info({ files: deleted.length }, 'deleted what is past its retention')
      conditions.clear('housekeeping')
    } catch (error) {
      if (!blamesDisk(error))
        conditions.raise('housekeeping', `today's backup and clean-up failed, next try in an hour: ${message(error)}`)
    }
  }
  let running = round()
  const run = () => {
    running = running.then(round)
    return running
  }
  const rounds = clock.every(EVERY_MS, run, (error) => log.error({ err: error }, 'housekeeping failed'))
  return {
    run,
    stop: async (signal) => {
      rounds.stop()
      // A backup that is cut off leaves only its temporary file.
      await Promise.race([running, aborted(signal)])
    },
  }
}
