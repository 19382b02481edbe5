/** The hourly round: ends purges, makes today's backup, deletes what is past its retention. A failure shows in `status`. */
import { existsSync, lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Core } from '../core.ts'
import { dailyBackups, migrationBackups } from '../db/backup.ts'
import type { JobKind, Outcome } from '../jobs/job.ts'
import type { Schedule } from '../jobs/scheduler.ts'
import { filesBelow, filesIn, message, removeLeftovers } from '../platform/files.ts'
import type { Purges } from './purge.ts'

const KIND = 'housekeeping'
const DAY_MS = 86_400_000

/** Deletes rows from before then, and may return how many. */
type OnSweep = (beforeMs: number) => unknown

export function createHousekeeping(core: Core, purges: Purges) {
  const { db, stateDir, layout, settings, clock, health, log } = core
  const listeners: OnSweep[] = []

  const sweep = async (): Promise<number> => {
    const toolResults = join(stateDir, 'tool-results')
    // A context service that is writing one of them now notices, and writes it again.
    removeLeftovers(filesIn(toolResults))
    const { retention } = settings.current()
    const beforeMs = clock.now() - retention.days * DAY_MS
    let rows = 0
    for (const listener of listeners) rows += Number(listener(beforeMs) ?? 0)
    const kept = [
      ...filesIn(layout.corrupt),
      ...migrationBackups(layout.backups),
      join(stateDir, 'logs', 'launchd.log'),
      ...filesBelow(join(stateDir, 'sessions')),
      ...filesBelow(toolResults),
    ]
    const doomed = [
      ...dailyBackups(layout.backups).slice(retention.backups),
      ...expired(kept.flatMap(measured), retention, clock.now()).map(({ path }) => path),
    ]
    for (const path of doomed) removeWithFolder(path)
    return doomed.length + rows
  }

  const run = async (): Promise<Outcome> => {
    try {
      // Before the backup, which would hold what a purge has not taken out yet.
      for (const { change } of await purges.finish()) log.info({ change }, 'finished a purge')
      await db.backUpDaily(clock.now())
      const deleted = await db.alone(sweep)
      if (deleted > 0) log.info({ deleted }, 'deleted what is past its retention')
      health.clear('housekeeping')
      return { done: { deleted } }
    } catch (error) {
      // A condition of its own; the round is run again when the disk has recovered.
      if (core.disk.blames(error)) return { postponed: 'the disk cannot be written' }
      health.raise('housekeeping', `today's backup and clean-up failed and will be tried again: ${message(error)}`)
      return { failed: message(error) }
    }
  }

  const job: JobKind = { name: KIND, model: 'never', run }
  const schedule: Schedule = {
    name: KIND,
    expression: '0 * * * *',
    atStart: true,
    due: (watermark) => ({ kind: KIND, key: 'state', watermark, input: null }),
  }
  return { job, schedule, onSweep: (...added: OnSweep[]) => void listeners.push(...added) }
}

type Kept = { path: string; bytes: number; modifiedMs: number }

/** Too old first; then, oldest first, until the rest fits. A stamp in the future counts as new, not as expired. Pure. */
export function expired(files: readonly Kept[], rule: { days: number; maxBytes: number }, nowMs: number): Kept[] {
  const newestFirst = files.toSorted((a, b) => b.modifiedMs - a.modifiedMs)
  let keptBytes = 0
  return newestFirst.filter((file) => {
    if (nowMs - file.modifiedMs > rule.days * DAY_MS) return true
    keptBytes += file.bytes
    return keptBytes > rule.maxBytes
  })
}

function measured(path: string): Kept[] {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isFile() ? [{ path, bytes: stats.size, modifiedMs: stats.mtimeMs }] : []
}

function removeWithFolder(path: string): void {
  rmSync(path, { force: true })
  const folder = dirname(path)
  if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder)
}
