/** What came of dreams, in numbers: names and words of memories are in the journal alone. */
import type { DreamFacts, DreamOutcome } from '../../schema/dream.ts'
import type { Db } from '../db/database.ts'

export type DreamRecord = {
  runId: string
  dir: string
  /** How far its input went: the same input is not dreamed about again. */
  watermark: string
  trigger: string
  beganMs: number
  endedMs: number
  outcome: DreamOutcome
  why: string | undefined
  facts: Partial<DreamFacts>
}

/** Those since the last one that came to its end. `usd`: what those since a moment have cost. */
export type Failures = { times: number; lastMs: number; usd: number }

const AT_END: readonly DreamOutcome[] = ['applied', 'nothing', 'review']

/** Whether it did what it was for, though that may have been nothing; the lock then says when. */
export function isAtEnd(outcome: DreamOutcome | undefined): boolean {
  return outcome !== undefined && AT_END.includes(outcome)
}

/** Of each directory. */
const KEEP = 100
/** A file system and a clock may differ by so much. */
const SLACK_MS = 2_000
const DAY_MS = 86_400_000
const SELECT = `SELECT run AS runId, dir, watermark, trigger, began_at AS beganMs, ended_at AS endedMs, outcome, why, facts
  FROM dreams`

export type Dreams = ReturnType<typeof createDreams>

export function createDreams(db: Db) {
  const insert = db.prepare(`
    INSERT INTO dreams (run, dir, watermark, trigger, began_at, ended_at, outcome, why, facts)
    VALUES (@runId, @dir, @watermark, @trigger, @beganMs, @endedMs, @outcome, @why, @facts)`)
  const expire = db.prepare(`DELETE FROM dreams WHERE dir = @dir AND id NOT IN
    (SELECT id FROM dreams WHERE dir = @dir ORDER BY id DESC LIMIT ${KEEP})`)
  const remove = db.prepare('DELETE FROM dreams WHERE run = ?')
  const get = db.prepare(`${SELECT} WHERE run = ?`)
  const last = db.prepare(`${SELECT} WHERE dir = ? ORDER BY id DESC LIMIT 1`)
  const atEnd = `outcome IN (${AT_END.map((outcome) => `'${outcome}'`).join(', ')})`
  const ended = db.prepare(`${SELECT} WHERE dir = ? AND ${atEnd} ORDER BY id DESC`)
  const covers = db.prepare(`SELECT 1 FROM dreams WHERE dir = ? AND watermark = ? AND ${atEnd}`).pluck()
  // The latest is the last one written: a clock that was wrong for a while may have given an earlier one a later time.
  const failures = db.prepare(`
    WITH failed AS (SELECT * FROM dreams WHERE dir = @dir AND NOT ${atEnd}
      AND id > coalesce((SELECT max(id) FROM dreams WHERE dir = @dir AND ${atEnd}), 0))
    SELECT count(*) AS times, coalesce((SELECT ended_at FROM failed ORDER BY id DESC LIMIT 1), 0) AS lastMs,
      coalesce(sum(json_extract(facts, '$.spent.usd')) FILTER (WHERE ended_at > @sinceMs), 0) AS usd FROM failed`)
  return {
    /** Plain SQL: part of the transaction that changes the memories. */
    add: ({ why, facts, ...dream }: DreamRecord): void => {
      insert.run({ ...dream, why: why ?? null, facts: JSON.stringify(facts) })
      expire.run({ dir: dream.dir })
    },
    remove: (runId: string) => void remove.run(runId),
    get: (runId: string) => dreamOf(get.get(runId)),
    last: (dir: string) => dreamOf(last.get(dir)),
    /** Since when no model has seen it, given when it was last consolidated: rules alone read no logs. */
    unreadSince: (dir: string, lastMs: number | undefined): number | undefined => {
      const [newest, ...earlier] = ended.all(dir).flatMap((row) => dreamOf(row) ?? [])
      const isByRules = newest?.facts.mode === 'rules' && lastMs !== undefined && lastMs <= newest.endedMs + SLACK_MS
      const byModel = [newest, ...earlier].find((dream) => dream?.facts.mode === 'model')
      // Whatever consolidated it after that was another program, and had a model.
      const sinceMs = isByRules ? byModel?.beganMs : lastMs
      const { logsTo } = byModel?.facts ?? {}
      if (logsTo === undefined || sinceMs === undefined) return sinceMs
      // What one could not take in waits for the next, whatever happened in between. The search for logs begins a day
      // early: two days on, the last one that was read is not read again, which would be all a dream takes in if it is long.
      return Math.min(sinceMs, Date.parse(logsTo) + 2 * DAY_MS)
    },
    /** Whether a dream with this input came to its end. */
    covers: (dir: string, watermark: string): boolean => covers.get(dir, watermark) !== undefined,
    failures: (dir: string, sinceMs: number) => failures.get({ dir, sinceMs }) as Failures,
  }
}

function dreamOf(found: unknown): DreamRecord | undefined {
  if (!found) return undefined
  const row = found as DreamRecord & { why: string | null; facts: string }
  return { ...row, why: row.why ?? undefined, facts: JSON.parse(row.facts) as Partial<DreamFacts> }
}
