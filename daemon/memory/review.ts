/** Changes of models that wait for a person: an approved one is written, a rejected one does not come back. A dream is one unit. */
import { MemoryError } from '../../schema/errors.ts'
import type { Decided } from '../../schema/history.ts'
import type { Core } from '../core.ts'
import type { Db } from '../db/database.ts'
import { readDirectory } from './consolidate.ts'
import { type Evidence, isDream } from './journal.ts'
import { excerptOf, rejectedValues, type Tombstones } from './tombstones.ts'
import type { Writer } from './writer.ts'

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

export type NewReview = Omit<Review, 'id'>

export type Reviews = ReturnType<typeof createReviews>

export function createReviews(db: Db) {
  const select = `SELECT id, at, dir, file, op, actor, reason, run AS runId, base_hash AS baseHash, before_text AS before,
    after_text AS after, evidence FROM reviews`
  const insert = db.prepare(`
    INSERT INTO reviews (at, dir, file, op, actor, reason, run, base_hash, before_text, after_text, evidence)
    VALUES (@at, @dir, @file, @op, @actor, @reason, @runId, @baseHash, @before, @after, @evidence)`)
  const byId = db.prepare(`${select} WHERE id = ?`)
  const all = db.prepare(`${select} ORDER BY id`)
  const inDir = db.prepare(`${select} WHERE dir = ? ORDER BY id`)
  const remove = db.prepare('DELETE FROM reviews WHERE id = ?')
  const list = (dir?: string) => ((dir === undefined ? all.all() : inDir.all(dir)) as Row[]).map(fromRow)
  const addAll = db.transaction((reviews: readonly NewReview[], inTransaction?: () => void) => {
    inTransaction?.()
    return reviews.map((review) => Number(insert.run(rowOf(review)).lastInsertRowid))
  })
  return {
    addAll: (reviews: readonly NewReview[], inTransaction?: () => void): number[] => addAll(reviews, inTransaction),
    get: (id: number): Review | undefined => {
      const row = byId.get(id) as Row | undefined
      return row && fromRow(row)
    },
    list,
    filesIn: (dir: string): Set<string> => new Set(list(dir).map(({ file }) => file)),
    remove: (id: number): void => void remove.run(id),
  }
}

type Maybe = 'runId' | 'baseHash' | 'before' | 'after'
type Row = Omit<Review, Maybe | 'evidence'> & Record<Maybe, string | null> & { evidence: string }

function fromRow({ runId, baseHash, before, after, evidence, ...same }: Row): Review {
  return {
    ...same,
    runId: runId ?? undefined,
    baseHash: baseHash ?? undefined,
    before: before ?? undefined,
    after: after ?? undefined,
    evidence: JSON.parse(evidence),
  }
}

function rowOf({ runId, baseHash, before, after, evidence, ...same }: NewReview): Omit<Row, 'id'> {
  return {
    ...same,
    runId: runId ?? null,
    baseHash: baseHash ?? null,
    before: before ?? null,
    after: after ?? null,
    evidence: JSON.stringify(evidence),
  }
}

export function createReview({ clock, db }: Core, reviews: Reviews, writer: Writer, tombstones: Tombstones) {
  const need = (id: number): Review => {
    const review = reviews.get(id)
    if (!review)
      throw new MemoryError('NOT_FOUND', `there is no change ${id} that waits`, { hint: 'run: memoryd review' })
    return review
  }
  /** The change, or all changes of the dream that it belongs to. */
  const unitOf = (review: Review): Review[] => {
    const { runId } = review
    if (runId === undefined || !isDream(runId)) return [review]
    return reviews.list().filter((other) => other.runId === runId)
  }
  const removeAll = (unit: readonly Review[]) => {
    for (const { id } of unit) reviews.remove(id)
  }
  /** Text that was there before the changes, or is there now: it was never in question. */
  const oldValues = (dir: string, unit: readonly Review[]): Set<string> => {
    const here = unit.length > 1 ? readDirectory(dir).memories : []
    return new Set([
      ...unit.flatMap(({ file, before = '' }) => rejectedValues(file, before)),
      ...here.flatMap(({ file, text }) => rejectedValues(file, text)),
    ])
  }
  return {
    approve: async (id: number): Promise<Decided> => {
      const review = need(id)
      const { dir, actor, reason, runId, evidence } = review
      const unit = unitOf(review)
      const writes = unit.map((each) => ({
        file: each.file,
        content: each.after ?? null,
        expect: each.baseHash ?? null,
        because: { reason: `${each.reason} (approved)`, evidence: each.evidence },
      }))
      const author = { actor, reason: `${reason} (approved)`, runId, evidence }
      const done = await writer.write(dir, writes, author, () => {
        removeAll(unit)
        return () => reviews.addAll(unit)
      })
      return { changeId: String(done[unit.indexOf(review)]?.id ?? done[0]?.id) }
    },
    reject: (id: number): Decided => {
      const review = need(id)
      const unit = unitOf(review)
      const old = oldValues(review.dir, unit)
      const rejected = unit.flatMap(({ dir, file, after = '' }) => {
        const values = rejectedValues(file, after).filter((value) => !old.has(value))
        return values.length === 0 ? [] : [{ at: clock.now(), dir, file, excerpt: excerptOf(after), values }]
      })
      const [tombstone] = db.history.transaction(() => {
        removeAll(unit)
        return rejected.map(({ values, ...about }) => tombstones.add(about, values))
      })()
      return tombstone === undefined ? {} : { tombstoneId: String(tombstone) }
    },
  }
}
