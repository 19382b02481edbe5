/** Changes of models that wait for a person's word. */

import { MemoryError } from '../../schema/errors.ts'
import type { Decided } from '../../schema/history.ts'
import type { Db } from '../db/database.ts'
import type { Clock } from '../platform/clock.ts'
import { type Evidence, isDream } from './journal.ts'
import { shorten } from './pointer.ts'
import type { Tombstones } from './tombstones.ts'
import { rejectedValues } from './write-checks.ts'
import type { Gate } from './writer.ts'

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

/**
 * A person decides about a change that waits: approved it goes through the gate, rejected it does not come back. What puts a
 * whole directory in order is decided about as one: half of it would be neither the old order nor the new one.
 */

type Deps = {
  reviews: Reviews
  gate: Gate
  tombstones: Tombstones
  clock: Clock
  /** Every memory of a directory as it is now. */
  memoriesIn: (dir: string) => readonly { file: string; text: string }[]
}

export type Reviewing = {
  approve(id: number): Promise<Decided>
  reject(id: number): Decided
}

export function createReviewing({ reviews, gate, tombstones, clock, memoriesIn }: Deps): Reviewing {
  const need = (id: number): Review => {
    const review = reviews.get(id)
    if (!review) throw new MemoryError('NOT_FOUND', `there is no change ${id} that waits for review`)
    return review
  }
  /** Itself, or with it all others of its run. */
  const unitOf = (review: Review): Review[] => {
    const { runId } = review
    if (runId === undefined || !isDream(runId)) return [review]
    return reviews.list().filter((other) => other.runId === runId)
  }
  const removeAll = (unit: readonly Review[]) => {
    for (const { id } of unit) reviews.remove(id)
  }
  /** Only what a change would have brought in: what was there before it, or is there now, was never in question. */
  const broughtBy = ({ dir, file, after = '' }: Review, unit: readonly Review[]): string[] => {
    const here = unit.length > 1 ? memoriesIn(dir) : []
    const old = new Set([
      ...unit.flatMap((each) => rejectedValues(each.file, each.before ?? '')),
      ...here.flatMap((memory) => rejectedValues(memory.file, memory.text)),
    ])
    return rejectedValues(file, after).filter((value) => !old.has(value))
  }
  return {
    approve: async (id) => {
      const review = need(id)
      const { dir, actor, reason, runId, evidence } = review
      const unit = unitOf(review)
      const writes = unit.map((each) => ({
        file: each.file,
        content: each.after ?? null,
        expect: each.baseHash ?? null,
        because: { reason: `${each.reason} (approved)`, evidence: each.evidence },
      }))
      const by = { actor, reason: `${reason} (approved)`, runId, evidence }
      const along = { before: () => removeAll(unit), takeBack: () => reviews.addAll(unit, () => {}) }
      const done = await gate.alone(dir, (apply) => apply(writes, by, along))
      return { changeId: String(done[unit.indexOf(review)]?.id ?? done[0]?.id) }
    },
    reject: (id) => {
      const review = need(id)
      const unit = unitOf(review)
      const graves = unit.flatMap((each) => {
        const { dir, file, after } = each
        const brought = after === undefined ? [] : broughtBy(each, unit)
        if (after === undefined || brought.length === 0) return []
        const excerpt = shorten(after.replace(/\s+/g, ' '), 200)
        return [tombstones.add({ at: clock.now(), dir, file, excerpt }, brought)]
      })
      removeAll(unit)
      return graves[0] === undefined ? {} : { tombstoneId: String(graves[0]) }
    },
  }
}
