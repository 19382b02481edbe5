/** What people rejected for good. Values are kept as hashes: recognising one needs no copy of it. */
import type { Db } from '../db/database.ts'

export type Tombstone = { id: number; at: number; dir: string; file: string; excerpt: string }

export type Tombstones = {
  add(tombstone: Omit<Tombstone, 'id'>, values: readonly string[]): number
  /** The tombstone one of these values lies under in one of these directories, if any. */
  find(dirs: readonly string[], values: readonly string[]): Tombstone | undefined
  list(): Tombstone[]
  /** Another one whenever something was rejected or lifted; empty while nothing is. */
  stamp(): string
  /** Tells whether there was one. */
  lift(id: number): boolean
}

export function createTombstones(db: Db): Tombstones {
  const insert = db.prepare('INSERT INTO tombstones (at, dir, file, excerpt) VALUES (?, ?, ?, ?)')
  const insertValue = db.prepare('INSERT OR IGNORE INTO tombstone_values (dir, value, tombstone) VALUES (?, ?, ?)')
  // Asked with every write, and nearly always in vain: one question for all values.
  const find = db.prepare(`SELECT t.* FROM json_each(?) d JOIN json_each(?) s
    JOIN tombstone_values v ON v.dir = d.value AND v.value = s.value JOIN tombstones t ON t.id = v.tombstone LIMIT 1`)
  const list = db.prepare('SELECT * FROM tombstones ORDER BY id DESC')
  const stamp = db.prepare(`SELECT iif(count(*) = 0, '', max(id) || ' ' || count(*)) FROM tombstones`).pluck()
  const remove = db.prepare('DELETE FROM tombstones WHERE id = ?')
  /** Recall asks with every question. Nothing where something may have changed since it was looked up. */
  let lastStamp: string | undefined
  return {
    add: db.transaction(({ at, dir, file, excerpt }: Omit<Tombstone, 'id'>, values: readonly string[]) => {
      lastStamp = undefined
      const id = Number(insert.run(at, dir, file, excerpt).lastInsertRowid)
      for (const value of values) insertValue.run(dir, value, id)
      return id
    }),
    find: (dirs, values) => find.get(JSON.stringify(dirs), JSON.stringify(values)) as Tombstone | undefined,
    list: () => list.all() as Tombstone[],
    stamp: () => {
      lastStamp ??= stamp.get() as string
      return lastStamp
    },
    lift: (id) => {
      lastStamp = undefined
      return remove.run(id).changes > 0
    },
  }
}
