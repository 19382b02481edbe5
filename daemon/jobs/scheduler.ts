/**
 * Lets jobs become due by the calendar. What is due next is on record, so that whatever time was slept through, by the
 * machine or by us, is made up for by one run. Runs nothing itself.
 */

import type { Db } from '../db/database.ts'
import type { Clock, Timer } from '../platform/clock.ts'
import type { Due } from './job.ts'

export type Schedule = {
  name: string
  /** Five or six cron fields, in local time. */
  expression: string
  /** Due at every start as well, for work that must be done by a daemon that is never up for long. */
  atStart?: true
  /** The job that is due; `at` is the moment it was due at, in ISO form, and serves as its watermark. */
  due(at: string): Due
}

type Deps = {
  /** Those in force, by the settings as they are now. */
  schedules: () => readonly Schedule[]
  planned: Schedules
  enqueue: (due: Due) => void
  clock: Clock
  onError: (error: unknown) => void
}

export type Scheduler = {
  /** Looks through all of them; also after a change of the settings. Resolves when all are planned. */
  plan(): Promise<void>
  stop(): void
}

/** As for jobs: a clock that went back by less was corrected, not set. */
const SET_BACK_MS = 60_000
/** What cannot be planned or written is tried again after this long. */
const AFTER_TROUBLE_MS = 60_000
const FURTHEST_MS = 86_400_000

export function createScheduler({ schedules, planned, enqueue, clock, onError }: Deps): Scheduler {
  let timer: Timer | undefined
  let last: Promise<void> = Promise.resolve()
  let round: 'first' | 'under way' | 'over' = 'first'
  let stopped = false

  const record = async ({ name, expression }: Schedule): Promise<void> => {
    const nowMs = clock.now()
    const nextDueMs = await nextAfter(expression, nowMs)
    if (!stopped) planned.set({ name, expression, nextDueMs, plannedMs: nowMs })
  }

  const consider = async (schedule: Schedule, known: Planned | undefined, starting: boolean): Promise<void> => {
    const nowMs = clock.now()
    const isPlanned = known?.expression === schedule.expression && nowMs >= known.plannedMs - SET_BACK_MS
    const dueMs = isPlanned && nowMs >= known.nextDueMs ? known.nextDueMs : undefined
    // Before the next moment is on record: a kill in between repeats the trigger, whose watermark is known by then.
    if (dueMs !== undefined || (starting && schedule.atStart))
      enqueue(schedule.due(new Date(dueMs ?? nowMs).toISOString()))
    if (!isPlanned || dueMs !== undefined) await record(schedule)
  }

  const lookThrough = async (): Promise<void> => {
    if (stopped) return
    const starting = round === 'first'
    round = 'under way'
    timer?.stop()
    let soonestMs = 0
    let nextMs = clock.now() + FURTHEST_MS
    try {
      const known = new Map(planned.list().map((one) => [one.name, one]))
      for (const schedule of schedules()) {
        // One that cannot be understood must not keep the others from their time.
        await consider(schedule, known.get(schedule.name), starting).catch((error) => {
          onError(error)
          soonestMs = AFTER_TROUBLE_MS
        })
        known.delete(schedule.name)
      }
      if (stopped) return
      for (const name of known.keys()) planned.remove(name)
      nextMs = Math.min(nextMs, ...planned.list().map(({ nextDueMs }) => nextDueMs))
    } catch (error) {
      onError(error)
      nextMs = clock.now() + AFTER_TROUBLE_MS
    }
    round = 'over'
    timer = clock.after(Math.max(nextMs - clock.now(), soonestMs), () => void plan())
  }

  const plan = (): Promise<void> => {
    last = round === 'under way' ? last.then(lookThrough) : lookThrough()
    return last
  }

  return {
    plan,
    stop: () => {
      stopped = true
      timer?.stop()
    },
  }
}

/** When each calendar schedule is next due. Kept with the history: an index that is deleted must not make everything due. */

export type Planned = { name: string; expression: string; nextDueMs: number; plannedMs: number }

export type Schedules = {
  list(): Planned[]
  set(planned: Planned): void
  remove(name: string): void
}

export function createSchedules(db: Db): Schedules {
  const list = db.prepare(
    'SELECT name, expression, next_due AS nextDueMs, planned_at AS plannedMs FROM schedules ORDER BY name',
  )
  const set = db.prepare(`
    INSERT OR REPLACE INTO schedules (name, expression, next_due, planned_at)
    VALUES (@name, @expression, @nextDueMs, @plannedMs)`)
  const remove = db.prepare('DELETE FROM schedules WHERE name = ?')
  return {
    list: () => list.all() as Planned[],
    set: (planned) => void set.run(planned),
    remove: (name) => void remove.run(name),
  }
}

/** The 29th of February on a given day of the week may be further away than anyone plans. */
const LONGEST_SEARCH_DAYS = 366 * 8

/** The next moment that a cron expression names, in local time. Throws when the expression cannot be understood, or names no moment within years. */
export async function nextAfter(expression: string, afterMs: number): Promise<number> {
  const { createTask, parse } = await import('node-cron')
  const { hour, minute, second } = parse(expression)
  // Whether a day is meant is asked in a zone without changes of the clocks.
  const fields = expression.trim().split(/\s+/).slice(-3).join(' ')
  const days = createTask(`0 0 12 ${fields}`, () => {}, { timezone: 'UTC' })
  try {
    const from = new Date(afterMs)
    for (let day = 0; day <= LONGEST_SEARCH_DAYS; day++) {
      const date = [from.getFullYear(), from.getMonth(), from.getDate() + day] as const
      if (!days.match(new Date(Date.UTC(...date, 12)))) continue
      for (const h of hour) {
        if (day === 0 && h < from.getHours()) continue
        for (const m of minute)
          for (const s of second) {
            // A time that the change of the clocks leaves out comes an hour later, and is not skipped.
            const at = new Date(...date, h, m, s).getTime()
            if (at > afterMs) return at
          }
      }
    }
    throw new Error(`${expression} names no moment in the next eight years`)
  } finally {
    await days.destroy()
  }
}
