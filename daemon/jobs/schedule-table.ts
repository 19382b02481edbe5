/** When each calendar schedule is next due. Kept with the history: an index that is deleted must not make everything due. */
import type { Db } from '../db/database.ts'

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
