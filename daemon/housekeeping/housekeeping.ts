/** The hourly round: today's backup, then retention. A failed round is shown in `status` until one succeeds. */

import { dailyBackups, migrationBackups } from '../db/backup.ts'
import type { Layout } from '../db/database.ts'
import type { Databases } from '../db/databases.ts'
import type { JobKind } from '../jobs/job.ts'
import type { Schedule } from '../jobs/scheduler.ts'
import type { Clock } from '../platform/clock.ts'
import { filesBelow, filesIn, message, removeLeftovers } from '../platform/files.ts'
import type { Health } from '../platform/health.ts'
import type { Log } from '../platform/log.ts'
import type { LiveSettings } from '../settings/live-settings.ts'
import { sweepKept } from './retention.ts'

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

/** Composes housekeeping, the job that is done at every start and once an hour: what it backs up and what it clears away. */

type HouseDeps = {
  store: Databases
  layout: Layout
  stateDir: string
  settings: LiveSettings
  clock: Clock
  health: Health
  log: Log
  finishPurges: () => Promise<{ change: number }[]>
  /** Where notes are kept, and turns that harnesses pushed. */
  sessionsDir: string
  /** Where long results of tools are kept, and what was decided about them. */
  toolResults: string
  expireContext: (beforeMs: number) => void
  expireNotes: (beforeMs: number) => number
  expireJobs: (days: number) => number
  /** Mail that nobody has read for too long, and agents that are gone. */
  expireMail: () => number
  blamesDisk: (error: unknown) => boolean
}

const KIND = 'housekeeping'
const DAY_MS = 86_400_000

export function createHouse(deps: HouseDeps): { kind: JobKind; schedule: Schedule } {
  const {
    store,
    layout,
    stateDir,
    settings,
    clock,
    health,
    log,
    finishPurges,
    sessionsDir,
    toolResults,
    expireJobs,
    expireMail,
  } = deps
  const kept = () => [
    ...filesIn(layout.corrupt),
    ...migrationBackups(layout.backups),
    `${stateDir}/logs/launchd.log`,
    ...filesBelow(sessionsDir),
    ...filesBelow(toolResults),
  ]
  const run = createHousekeeping({
    health,
    log,
    backUp: async () => {
      // Before the backup, which would hold what a purge has not taken out yet.
      for (const { change } of await finishPurges()) log.info({ change }, 'finished a purge')
      await store.backUpDaily(clock.now())
    },
    sweep: () =>
      store.alone(async () => {
        // Whoever is writing one now notices, and writes it again.
        removeLeftovers(filesIn(toolResults))
        const { retention } = settings.current()
        const beforeMs = clock.now() - retention.days * DAY_MS
        deps.expireContext(beforeMs)
        deps.expireNotes(beforeMs)
        const files = { kept, dailyBackups: () => dailyBackups(layout.backups) }
        return sweepKept(files, retention, clock.now()).length + expireJobs(retention.days) + expireMail()
      }),
    blamesDisk: deps.blamesDisk,
  })
  return {
    kind: { name: KIND, model: false, run },
    schedule: {
      name: KIND,
      expression: '0 * * * *',
      atStart: true,
      due: (watermark) => ({ kind: KIND, key: 'state', watermark, input: null }),
    },
  }
}
