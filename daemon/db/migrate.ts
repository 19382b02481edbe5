/** Brings a database to the schema this version knows. Migrations are append-only: a landed one is never edited. */
import { MemoryError } from '../../schema/errors.ts'
import type { Db } from './database.ts'

export type Migration = (db: Db) => void

export function schemaVersion(db: Db): number {
  return db.pragma('user_version', { simple: true }) as number
}

/**
 * All pending steps in one transaction, so a kill leaves the old schema or the new one. `backUp` runs before the first
 * step of a database that already holds something.
 */
export function migrate(db: Db, file: string, migrations: readonly Migration[], backUp: (from: number) => void): void {
  const current = schemaVersion(db)
  if (current > migrations.length || current < 0)
    throw new MemoryError('SETUP', `${file} has schema ${current}, this version knows up to ${migrations.length}`, {
      hint: 'a newer memoryd wrote it: run that version, or put back a backup made before the upgrade',
    })
  if (current === migrations.length) return
  if (current > 0) backUp(current)
  db.transaction(() => {
    for (const step of migrations.slice(current)) step(db)
    db.pragma(`user_version = ${migrations.length}`)
  })()
}
