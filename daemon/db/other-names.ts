/**
 * The other names that a purged memory went by: before a person renamed it, in the place its project was moved from, in a
 * directory that two projects share. Known by what stood under them, so asked for before that is gone.
 */
import type { Db } from './database.ts'

export type Name = { dir: string; file: string }

type Known = {
  /** Changes that have to do with what goes. */
  touched: readonly number[]
  /** Contents that say nothing any more. */
  silent: readonly string[]
  /** Files that only point to memories. */
  indexes: readonly string[]
}

/** `spent`: nothing else was ever kept under it. */
export type OtherName = Name & { spent: boolean }

export function otherNames(db: Db, own: Name, { touched, silent, indexes }: Known): OtherName[] {
  const names = db
    .prepare(
      `SELECT DISTINCT dir, file FROM changes WHERE id IN (SELECT value FROM json_each(@touched)) AND op <> 'refused'
         AND file NOT IN (SELECT value FROM json_each(@indexes))`,
    )
    .all({ touched: JSON.stringify(touched), indexes: JSON.stringify(indexes) }) as Name[]
  const said = db.prepare(
    `SELECT 1 FROM changes WHERE dir = @dir AND file = @file
       AND (before_key NOT IN (SELECT value FROM json_each(@silent))
         OR after_key NOT IN (SELECT value FROM json_each(@silent))) LIMIT 1`,
  )
  return names
    .filter(({ dir, file }) => dir !== own.dir || file !== own.file)
    .map((name) => ({ ...name, spent: said.get({ ...name, silent: JSON.stringify(silent) }) === undefined }))
}
