/** How each session is told to models: decided once, and then the same bytes for as long as it is told. */
import { type Db, withoutWaiting } from '../db/database.ts'

export type RenderingKey = { harness: string; session: string }

/** `cuts`: what is left out of the message; opaque here. */
export type FrozenMessage = { number: number; message: string; cuts: string }

/** `anchor`: the number of the first message that is told. `next`: no number is ever given twice. */
export type Rendering = { anchor: number; notes: string; next: number }

export type Renderings = {
  find(key: RenderingKey): Rendering | undefined
  /** Those of the named messages that are known, and all from the anchor on. */
  frozen(key: RenderingKey, messages: readonly string[]): FrozenMessage[]
  /** All of it or nothing. Sessions that nobody told of for long go. */
  save(
    key: RenderingKey,
    rendering: Rendering,
    news: { added: readonly FrozenMessage[]; gone: readonly string[] },
    at: number,
  ): void
}

/** A session that was not told for so long begins anew when it is. */
const KEEP_MS = 30 * 86_400_000

export function createRenderings(db: Db): Renderings {
  const get = db.prepare('SELECT id, anchor, notes, next FROM renderings WHERE harness = ? AND session = ?')
  const known =
    db.prepare(`SELECT number, message, cuts FROM rendered_messages WHERE rendering = @id AND number >= @anchor
    UNION SELECT number, message, cuts FROM rendered_messages
      WHERE rendering = @id AND message IN (SELECT value FROM json_each(@messages))
    ORDER BY number`)
  const put = db
    .prepare(
      `INSERT INTO renderings (harness, session, anchor, notes, next, at)
       VALUES (@harness, @session, @anchor, @notes, @next, @at)
       ON CONFLICT (session, harness) DO UPDATE SET anchor = @anchor, notes = @notes, next = @next, at = @at
       RETURNING id`,
    )
    .pluck()
  const add = db.prepare('INSERT INTO rendered_messages (rendering, number, message, cuts) VALUES (?, ?, ?, ?)')
  const remove = db.prepare('DELETE FROM rendered_messages WHERE rendering = ? AND message = ?')
  const expire = db.prepare('DELETE FROM renderings WHERE at < ?')
  const find = ({ harness, session }: RenderingKey) =>
    get.get(harness, session) as (Rendering & { id: number }) | undefined
  const save = db.transaction(
    (key: RenderingKey, rendering: Rendering, { added, gone }: Parameters<Renderings['save']>[2], at: number) => {
      expire.run(at - KEEP_MS)
      const id = put.get({ ...key, ...rendering, at })
      for (const message of gone) remove.run(id, message)
      for (const { number, message, cuts } of added) add.run(id, number, message, cuts)
    },
  )
  return {
    find: (key) => {
      const found = find(key)
      return found && { anchor: found.anchor, notes: found.notes, next: found.next }
    },
    frozen: (key, messages) => {
      const found = find(key)
      if (!found) return []
      const { id, anchor } = found
      return known.all({ id, anchor, messages: JSON.stringify(messages) }) as FrozenMessage[]
    },
    // What a power cut takes back is decided again, and costs a cache at most.
    save: (key, rendering, changes, at) => withoutWaiting(db, () => save(key, rendering, changes, at)),
  }
}
