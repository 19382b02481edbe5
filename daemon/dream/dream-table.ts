/** The history of dreams, in numbers: names and words of memories are in the journal alone. */
import type { DreamFacts, DreamOutcome } from '../../schema/dream.ts'
import type { Db } from '../db/database.ts'

export type DreamRecord = {
  runId: string
  dir: string
  /** Identifies its input: the same input is not dreamed about again. */
  watermark: string
  trigger: string
  beganMs: number
  endedMs: number
  outcome: DreamOutcome
  why: string | undefined
  facts: Partial<DreamFacts>
}

/** Since the last dream that completed. `usd`: only those since a given moment. */
export type Failures = { times: number; lastMs: number; usd: number }

const AT_END: readonly DreamOutcome[] = ['applied', 'nothing', 'review']

export function isAtEnd(outcome: DreamOutcome | undefined): boolean {
  return outcome !== undefined && AT_END.includes(outcome)
}

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
    VALUES (@runId, @dir, @watermark, @trigger, @beganMs, @endedMs, @outcome, @why, @facts)
    ON CONFLICT (run) DO NOTHING`)
  const expire = db.prepare(`DELETE FROM dreams WHERE dir = @dir AND id NOT IN
    (SELECT id FROM dreams WHERE dir = @dir ORDER BY id DESC LIMIT ${KEEP})`)
  const remove = db.prepare('DELETE FROM dreams WHERE run = ?')
  const get = db.prepare(`${SELECT} WHERE run = ?`)
  const last = db.prepare(`${SELECT} WHERE dir = ? ORDER BY id DESC LIMIT 1`)
  const atEnd = `outcome IN (${AT_END.map((outcome) => `'${outcome}'`).join(', ')})`
  const ended = db.prepare(`${SELECT} WHERE dir = ? AND ${atEnd} ORDER BY id DESC`)
  const covers = db.prepare(`SELECT 1 FROM dreams WHERE dir = ? AND watermark = ? AND ${atEnd}`).pluck()
  // Ordered by id, not by time: the clock may have been wrong for a while.
  const failures = db.prepare(`
    WITH failed AS (SELECT * FROM dreams WHERE dir = @dir AND NOT ${atEnd}
      AND id > coalesce((SELECT max(id) FROM dreams WHERE dir = @dir AND ${atEnd}), 0))
    SELECT count(*) AS times, coalesce((SELECT ended_at FROM failed ORDER BY id DESC LIMIT 1), 0) AS lastMs,
      coalesce(sum(json_extract(facts, '$.spent.usd')) FILTER (WHERE ended_at > @sinceMs), 0) AS usd FROM failed`)
  return {
    add: ({ why, facts, ...dream }: DreamRecord): void => {
      insert.run({ ...dream, why: why ?? null, facts: JSON.stringify(facts) })
      expire.run({ dir: dream.dir })
    },
    remove: (runId: string) => void remove.run(runId),
    get: (runId: string) => dreamOf(get.get(runId)),
    last: (dir: string) => dreamOf(last.get(dir)),
    /** Since when no model has read the logs; `lastMs`: the last consolidation. Rules alone read no logs. */
    unreadSince: (dir: string, lastMs: number | undefined): number | undefined => {
      const [newest, ...earlier] = ended.all(dir).flatMap((row) => dreamOf(row) ?? [])
      const isByRules = newest?.facts.mode === 'rules' && lastMs !== undefined && lastMs <= newest.endedMs + SLACK_MS
      const byModel = [newest, ...earlier].find((dream) => dream?.facts.mode === 'model')
      // A later consolidation was by another program, with a model.
      const sinceMs = isByRules ? byModel?.beganMs : lastMs
      const { logsTo } = byModel?.facts ?? {}
      if (logsTo === undefined || sinceMs === undefined) return sinceMs
      // The logs that were left. `dailyLogs` begins a day earlier: two days on, the last one read is not read again.
      return Math.min(sinceMs, Date.parse(logsTo) + 2 * DAY_MS)
    },
    covers: (dir: string, watermark: string): boolean => covers.get(dir, watermark) !== undefined,
    failures: (dir: string, sinceMs: number) => failures.get({ dir, sinceMs }) as Failures,
  }
}

function dreamOf(found: unknown): DreamRecord | undefined {
  if (!found) return undefined
  const row = found as DreamRecord & { why: string | null; facts: string }
  return { ...row, why: row.why ?? undefined, facts: JSON.parse(row.facts) as Partial<DreamFacts> }
}
