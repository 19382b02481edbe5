/** The hourly round: today's backup, then retention. A failed round is shown in `status` until one succeeds. */

import { message } from '../platform/files.ts'
import type { Health } from '../platform/health.ts'
import type { Log } from '../platform/log.ts'

type Deps = {
  health: Health
  log: Log
  backUp: () => Promise<unknown>
  /** Returns how much was deleted. */
  sweep: () => Promise<number>
  /** A failure that the disk is to blame for is the disk's condition; the round is run again when it has recovered. */
  blamesDisk: (error: unknown) => boolean
}

export type Round = { done: { deleted: number } } | { retry: string } | { wait: string }

export function createHousekeeping({ health, log, backUp, sweep, blamesDisk }: Deps): () => Promise<Round> {
  return async () => {
    try {
      await backUp()
      const deleted = await sweep()
      if (deleted > 0) log.info({ deleted }, 'deleted what is past its retention')
      health.clear('housekeeping')
      return { done: { deleted } }
    } catch (error) {
      if (blamesDisk(error)) return { wait: 'the disk cannot be written' }
      health.raise('housekeeping', `today's backup and clean-up failed and will be tried again: ${message(error)}`)
      return { retry: message(error) }
    }
  }
}
