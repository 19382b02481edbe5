/** Changes of models that wait for a person's word. */
import type { Db } from '../db/database.ts'
import type { Evidence } from './journal.ts'

export type Review = {
  id: number
  at: number
  dir: string
  file: string
  op: 'create' | 'update' | 'delete'
  actor: string
  reason: string
  runId: string | undefined
  baseHash: string | undefined
  before: string | undefined
  after: string | undefined
  evidence: readonly Evidence[]
}

export type Reviews = {
  add(review: Omit<Review, 'id'>): number
  /** All in one transaction, and `before`, which runs first, with them. */
  addAll(reviews: readonly Omit<Review, 'id'>[], before: () => void): void
  get(id: number): Review | undefined
  list(): Review[]
  remove(id: number): void
}

type Row = {
  id: number
  at: number
  dir: string
  file: string
  op: Review['op']
  actor: string
  reason: string
  run: string | null
  base_hash: string | null
  before_text: string | null
  after_text: string | null
  evidence: string
}

export function createReviews(db: Db): Reviews {
  const insert =
    db.prepare(`INSERT INTO reviews (at, dir, file, op, actor, reason, run, base_hash, before_text, after_text, evidence)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const get = db.prepare('SELECT * FROM reviews WHERE id = ?')
  const list = db.prepare('SELECT * FROM reviews ORDER BY id')
  const remove = db.prepare('DELETE FROM reviews WHERE id = ?')
  const add: Reviews['add'] = ({ at, dir, file, op, actor, reason, runId, baseHash, before, after, evidence }) =>
    Number(
      insert.run(
        at,
        dir,
        file,
        op,
        actor,
        reason,
        runId ?? null,
        baseHash ?? null,
        before ?? null,
        after ?? null,
        JSON.stringify(evidence),
      ).lastInsertRowid,
    )
  return {
    add,
    addAll: db.transaction((reviews: readonly Omit<Review, 'id'>[], before: () => void) => {
      before()
      for (const review of reviews) add(review)
    }),
    get: (id) => fromRow(get.get(id) as Row | undefined),
    list: () => (list.all() as Row[]).map((row) => fromRow(row) as Review),
    remove: (id) => void remove.run(id),
  }
}

function fromRow(row: Row | undefined): Review | undefined {
  if (!row) return undefined
  const { run, base_hash, before_text, after_text, evidence, ...same } = row
  return {
    ...same,
    runId: run ?? undefined,
    baseHash: base_hash ?? undefined,
    before: before_text ?? undefined,
    after: after_text ?? undefined,
    evidence: JSON.parse(evidence),
  }
}
