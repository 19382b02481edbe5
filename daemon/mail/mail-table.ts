/** Mail between agents, box by box, until it is acknowledged or has expired. Decides nothing. */
import type { Db } from '../db/database.ts'

export type NewMail = {
  at: number
  sender: string
  /** Whose it is. */
  box: string
  /** What the sender wrote: `*` where it went to all. */
  addressed: string
  kind: string
  body: string
  summary: string | undefined
  request: string | undefined
  approve: boolean | undefined
}
export type StoredMail = NewMail & { id: number }

/** Mail that names a request, without what it says. */
export type Named = Pick<NewMail, 'sender' | 'box' | 'kind'>

export type MailTable = {
  /** All or none: `plan` says what, and may throw. */
  addAll(plan: () => readonly NewMail[]): number[]
  /** Not acknowledged, oldest first, after the one with this id. Taken one by one: a box may hold more than memory should. */
  waiting(boxes: readonly string[], after: number): Iterable<StoredMail>
  count(boxes: readonly string[]): number
  /** Everything that names this request, acknowledged or not. */
  naming(request: string): Named[]
  /** Returns those that were not before. */
  acknowledge(boxes: readonly string[], ids: readonly number[]): number[]
  expire(beforeMs: number): number
}

type Row = Omit<StoredMail, 'summary' | 'request' | 'approve'> & {
  summary: string | null
  request: string | null
  approve: number | null
}

const IN_BOXES = 'box IN (SELECT value FROM json_each(@boxes)) AND acknowledged = 0'

export function createMailTable(db: Db): MailTable {
  const insert = db.prepare(`INSERT INTO mail (at, sender, box, addressed, kind, body, summary, request, approve)
    VALUES (@at, @sender, @box, @addressed, @kind, @body, @summary, @request, @approve)`)
  const waiting = db.prepare(
    `SELECT id, at, sender, box, addressed, kind, body, summary, request, approve FROM mail
     WHERE ${IN_BOXES} AND id > @after ORDER BY id`,
  )
  const count = db.prepare(`SELECT count(*) FROM mail WHERE ${IN_BOXES}`).pluck()
  const naming = db.prepare('SELECT sender, box, kind FROM mail WHERE request = ?')
  const acknowledge = db
    .prepare(
      `UPDATE mail SET acknowledged = 1, body = '', summary = NULL
       WHERE ${IN_BOXES} AND id IN (SELECT value FROM json_each(@ids)) RETURNING id`,
    )
    .pluck()
  const expire = db.prepare('DELETE FROM mail WHERE at < ?')
  return {
    addAll: db.transaction((plan: () => readonly NewMail[]) =>
      plan().map(({ summary = null, request = null, approve, ...mail }) =>
        Number(
          insert.run({ ...mail, summary, request, approve: approve === undefined ? null : Number(approve) })
            .lastInsertRowid,
        ),
      ),
    ),
    waiting: function* (boxes, after) {
      for (const row of waiting.iterate({ boxes: JSON.stringify(boxes), after }) as Iterable<Row>) yield fromRow(row)
    },
    count: (boxes) => count.get({ boxes: JSON.stringify(boxes) }) as number,
    naming: (request) => naming.all(request) as Named[],
    acknowledge: (boxes, ids) =>
      (acknowledge.all({ boxes: JSON.stringify(boxes), ids: JSON.stringify(ids) }) as number[]).sort((a, b) => a - b),
    expire: (beforeMs) => expire.run(beforeMs).changes,
  }
}

function fromRow({ summary, request, approve, ...row }: Row): StoredMail {
  return {
    ...row,
    summary: summary ?? undefined,
    request: request ?? undefined,
    approve: approve === null ? undefined : approve === 1,
  }
}
