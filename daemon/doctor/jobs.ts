/** Looks for jobs that do not get on: given up, at it for hours, or due and taken by nobody. Changes nothing. */
import { existsSync } from 'node:fs'
import { hasTable, openForReading } from '../db/database.ts'
import type { Job } from '../jobs/job-rows.ts'
import { createJobTable } from '../jobs/job-table.ts'
import type { Finding } from './finding.ts'

const HOUR_MS = 3_600_000
const MOST_LOOKED_AT = 999

/** `awake`: a daemon runs that should take what is due. */
export function jobFinding(indexFile: string, { nowMs, awake }: { nowMs: number; awake: boolean }): Finding {
  const check = 'jobs'
  if (!existsSync(indexFile)) return { check, state: 'ok', message: 'none yet' }
  const db = openForReading(indexFile)
  try {
    if (!hasTable(db, 'jobs')) return { check, state: 'ok', message: 'none yet' }
    const jobs = createJobTable(() => db)
    const counts = jobs.counts()
    const all = (state: string) => jobs.list({ state, limit: MOST_LOOKED_AT }).jobs
    const slow = awake ? all('running').find(({ startedMs = nowMs }) => nowMs - startedMs > HOUR_MS) : undefined
    if (slow) return stuck(`${slow.id} has been running for more than an hour`, `memoryd jobs kill ${slow.id}`)
    const left = awake
      ? all('queued').find(({ readyMs, createdMs }) => nowMs - Math.max(readyMs, createdMs) > HOUR_MS)
      : undefined
    if (left) return stuck(`${left.id} has been due for more than an hour, and nobody takes it`, 'memoryd restart')
    const failed = newestOfEach(jobs.list({ limit: MOST_LOOKED_AT }).jobs).find(({ state }) => state === 'failed')
    if (failed) {
      const why = failed.error ?? 'for no reason that is known'
      return stuck(`${counts.failed} given up, ${failed.id} among them: ${why}`, `memoryd jobs retry ${failed.id}`)
    }
    const { queued, waiting, running } = counts
    return { check, state: 'ok', message: `${queued} queued, ${waiting} waiting, ${running} running` }
  } finally {
    db.close()
  }
}

/** A failure that newer work of the same kind and key has overtaken is none any more. */
function newestOfEach(newestFirst: readonly Job[]): Job[] {
  const seen = new Set<string>()
  return newestFirst.filter(({ kind, key }) => {
    const known = seen.size
    return seen.add(`${kind} ${key}`).size > known
  })
}

function stuck(message: string, remedy: string): Finding {
  return { check: 'jobs', state: 'warning', message, remedy }
}
