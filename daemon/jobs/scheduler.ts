/**
 * Enqueues jobs by the calendar. node-cron fires; one row per schedule says when it is due next, so that one run makes up for
 * times that the machine or the daemon missed.
 */
import type { ScheduledTask } from 'node-cron'
import type { Core } from '../core.ts'
import type { Db } from '../db/database.ts'
import type { Timer } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import type { Due } from './job.ts'
import { SET_BACK_MS } from './job-table.ts'
import type { Runner } from './runner.ts'

export type Schedule = {
  name: string
  /** Five or six cron fields, in local time. */
  expression: string
  /** Due at every start as well: a daemon may never be up for long. */
  atStart?: true
  /** `at`: when it was due, in ISO form; serves as the watermark. */
  due(at: string): Due
}

/** Finds what was missed by a sleeping machine, by a clock that was set, and what could not be written. */
const LOOK_EVERY_MS = 30_000

export function dueState(
  { expression }: Pick<Schedule, 'expression'>,
  row: Planned | undefined,
  nowMs: number,
): 'planned' | 'unplanned' | { dueMs: number } {
  if (row?.expression !== expression || nowMs < row.plannedMs - SET_BACK_MS) return 'unplanned'
  return nowMs >= row.nextDueMs ? { dueMs: row.nextDueMs } : 'planned'
}

export function createScheduler({ clock, db, disk, health, log }: Core, runner: Runner) {
  const rows = createSchedules(db.history)
  const tasks = new Map<string, { schedule: Schedule; task: ScheduledTask }>()
  let schedules: readonly Schedule[] = []
  let isStarting = true
  let isPlanned = true
  let isStopped = false
  let looking: Timer | undefined

  const failed = (error: unknown): void => {
    if (disk.blames(error)) return
    health.failed('schedule', message(error))
    log.error({ err: error }, 'schedules could not be updated')
  }

  const consider = (schedule: Schedule, task: ScheduledTask, isStart = false): void => {
    const { name, expression } = schedule
    const nowMs = clock.now()
    const state = dueState(schedule, rows.get(name), nowMs)
    const dueMs = typeof state === 'object' ? state.dueMs : undefined
    // Before the next time is written: a kill in between repeats the trigger, whose watermark is known by then.
    if (dueMs !== undefined || (isStart && schedule.atStart))
      runner.enqueue(schedule.due(new Date(dueMs ?? nowMs).toISOString()))
    const next = state === 'planned' ? null : task.getNextRun()
    if (next) rows.set({ name, expression, nextDueMs: next.getTime(), plannedMs: nowMs })
  }

  const attempt = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      failed(error)
    }
  }

  const clear = (): void => {
    for (const { task } of tasks.values()) void task.destroy()
    tasks.clear()
  }

  const planAll = async (): Promise<void> => {
    const cron = await import('node-cron')
    if (isStopped) return
    clear()
    const isStart = isStarting
    isStarting = false
    for (const name of rows.names()) if (!schedules.some((schedule) => schedule.name === name)) rows.remove(name)
    // One that node-cron refuses must not hold up the others.
    for (const schedule of schedules)
      attempt(() => {
        const fire = () => attempt(() => consider(schedule, task))
        const task = cron.schedule(schedule.expression, fire, {
          noOverlap: true,
          unref: true,
          suppressMissedWarning: true,
          missedExecutionTolerance: LOOK_EVERY_MS,
        })
        tasks.set(schedule.name, { schedule, task })
        consider(schedule, task, isStart)
      })
    isPlanned = true
  }

  const plan = async (list: readonly Schedule[]): Promise<void> => {
    if (isStopped) return
    schedules = list
    isPlanned = false
    looking ??= clock.every(LOOK_EVERY_MS, look, failed)
    await planAll().catch(failed)
  }

  const look = (): void => {
    const nowMs = clock.now()
    const isKept = [...tasks.values()].every(
      ({ schedule }) => dueState(schedule, rows.get(schedule.name), nowMs) === 'planned',
    )
    if (!isPlanned || !isKept) void plan(schedules)
  }

  return {
    plan,
    stop: (): void => {
      isStopped = true
      looking?.stop()
      clear()
    },
  }
}

/** Kept with the history: deleting the index must not make everything due. */
export type Planned = { name: string; expression: string; nextDueMs: number; plannedMs: number }

export function createSchedules(db: Db) {
  const get = db.prepare(
    'SELECT name, expression, next_due AS nextDueMs, planned_at AS plannedMs FROM schedules WHERE name = ?',
  )
  const names = db.prepare('SELECT name FROM schedules ORDER BY name').pluck()
  const set = db.prepare(`
    INSERT OR REPLACE INTO schedules (name, expression, next_due, planned_at)
    VALUES (@name, @expression, @nextDueMs, @plannedMs)`)
  const remove = db.prepare('DELETE FROM schedules WHERE name = ?')
  return {
    get: (name: string) => get.get(name) as Planned | undefined,
    names: () => names.all() as string[],
    set: (planned: Planned): void => void set.run(planned),
    remove: (name: string): void => void remove.run(name),
  }
}
