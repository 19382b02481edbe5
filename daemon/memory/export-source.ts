/** What is kept about one directory, page by page, so that all of it never has to be in memory. */
import type { Db } from '../db/database.ts'
import type { Change, Op } from './journal.ts'

/** The journal is only appended to: all up to `upTo` is the same however long the reading takes. */
export type Moment = { dir: string; upTo: number; changes: number }

/** A version by its hash and the key of its text, if that is kept. */
export type Keyed = { hash: string; text: string | null } | null
export type KeptText = { key: string; text: string }
export type KeptPart = { file: string; op: Op; before: Keyed; after: Keyed; undoable: boolean }
export type KeptChange = KeptPart &
  Pick<Change, 'at' | 'actor' | 'reason' | 'runId' | 'evidence'> & { parts: KeptPart[] }
export type KeptTombstone = { at: number; file: string; excerpt: string; values: string[] }

export type ExportSource = {
  moment(dir: string): Moment
  textOf(key: string): string | undefined
  /** In their order; each comes with the texts that none before it had. */
  changes(moment: Moment): Iterable<{ texts: KeptText[]; change: KeptChange }>
  tombstones(dir: string): Iterable<KeptTombstone>
}

type Row = {
  id: number
  at: number
  file: string
  op: Op
  actor: string
  reason: string
  run: string | null
  before_hash: string | null
  before_key: string | null
  after_hash: string | null
  after_key: string | null
  undoable: number
  evidence: string
}

const PAGE_CHANGES = 100

const COLUMNS =
  'id, at, file, op, actor, reason, run, before_hash, before_key, after_hash, after_key, undoable, evidence'
/** A part counts where the change lies that it belongs to. */
const earlier = (column: 'before_key' | 'after_key') => `SELECT 1 FROM changes c
  JOIN changes w ON w.id = coalesce(c.part_of, c.id) WHERE c.${column} = @key AND c.id < @id AND w.dir = @dir LIMIT 1`

export function createExportSource(db: Db): ExportSource {
  const last = db.prepare('SELECT coalesce(max(id), 0) FROM changes WHERE dir = ?').pluck()
  const count = db.prepare('SELECT count(*) FROM changes WHERE dir = ? AND id <= ? AND part_of IS NULL').pluck()
  const text = db.prepare('SELECT text FROM contents WHERE key = ?').pluck()
  // In the order of the table: by the index on files, every page would sort all of the directory again.
  const page = db.prepare(`SELECT ${COLUMNS} FROM changes NOT INDEXED
    WHERE dir = ? AND id <= ? AND id > ? AND part_of IS NULL ORDER BY id LIMIT ${PAGE_CHANGES}`)
  const parts = db.prepare(`SELECT ${COLUMNS} FROM changes WHERE part_of = ? ORDER BY id`)
  const usedBefore = [db.prepare(earlier('before_key')), db.prepare(earlier('after_key'))]
  const tombstones = db.prepare('SELECT id, at, file, excerpt FROM tombstones WHERE dir = ? ORDER BY id')
  const values = db.prepare('SELECT value FROM tombstone_values WHERE tombstone = ? ORDER BY value').pluck()
  const textOf = (key: string) => text.get(key) as string | undefined

  const newTexts = (dir: string, id: number, rows: readonly Row[]): KeptText[] => {
    const keys = new Set(rows.flatMap((row) => [row.before_key, row.after_key]))
    return [...keys].flatMap((key) => {
      if (key === null || usedBefore.some((used) => used.get({ key, id, dir }) !== undefined)) return []
      const kept = textOf(key)
      return kept === undefined ? [] : [{ key, text: kept }]
    })
  }

  return {
    moment: (dir) => {
      const upTo = last.get(dir) as number
      return { dir, upTo, changes: count.get(dir, upTo) as number }
    },
    textOf,
    changes: function* ({ dir, upTo }) {
      for (let after = 0; ; ) {
        const rows = page.all(dir, upTo, after) as Row[]
        for (const row of rows) {
          const belonging = parts.all(row.id) as Row[]
          yield { texts: newTexts(dir, row.id, [row, ...belonging]), change: changeOf(row, belonging) }
        }
        if (rows.length < PAGE_CHANGES) return
        after = rows.at(-1)?.id ?? upTo
      }
    },
    tombstones: function* (dir) {
      for (const { id, ...same } of tombstones.all(dir) as (Omit<KeptTombstone, 'values'> & { id: number })[])
        yield { ...same, values: values.all(id) as string[] }
    },
  }
}

function changeOf(row: Row, parts: readonly Row[]): KeptChange {
  const { at, actor, reason, run, evidence } = row
  return {
    at,
    ...partOf(row),
    actor,
    reason,
    runId: run ?? undefined,
    evidence: JSON.parse(evidence),
    parts: parts.map(partOf),
  }
}

function partOf({ file, op, before_hash, before_key, after_hash, after_key, undoable }: Row): KeptPart {
  return {
    file,
    op,
    before: keyed(before_hash, before_key),
    after: keyed(after_hash, after_key),
    undoable: undoable === 1,
  }
}

function keyed(hash: string | null, text: string | null): Keyed {
  return hash === null ? null : { hash, text }
}
