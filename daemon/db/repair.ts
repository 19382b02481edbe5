/**
 * Rebuilds history.db from a backup plus whatever can still be read from the broken file.
 * Numbered so that a kill at any point is taken up at the next start: until step 3 nothing was touched, after it
 * `finishRepair` completes the swap.
 */
import { copyFileSync, existsSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncPath } from '../platform/files.ts'
import type { Db, Layout } from './database.ts'
import {
  closing,
  isCorruption,
  migrate,
  openDatabase,
  openForReading,
  quickCheck,
  readThrough,
  removeDatabase,
  setAside,
} from './database.ts'
import { historyMigrations } from './history-schema.ts'

export function repairHistory(layout: Layout, backup: string | undefined, nowMs: number) {
  // 1. Start from the backup, or from nothing.
  const building = `${layout.history}.building`
  removeDatabase(building)
  if (backup) copyFileSync(backup, building)
  const target = openDatabase(building)
  migrate(target, building, historyMigrations, () => {})

  // 2. Add what the broken file still gives, unless the disk did not give all of it.
  const rowsRead = salvage(layout.history, target)
  readThrough(layout.history)
  target.pragma('journal_mode = DELETE')
  target.close()

  // 3. From here on the rebuilt file is the truth.
  commit(building, layout)
  return { setAside: finishRepair(layout, nowMs) as string, rowsRead }
}

/** Completes a swap that was interrupted; returns where the broken file went, or nothing if there was no repair. */
export function finishRepair(layout: Layout, nowMs: number): string | undefined {
  const rebuilt = rebuiltFile(layout)
  if (!statSync(rebuilt, { throwIfNoEntry: false })) return undefined
  const aside = setAside(layout.history, layout.corrupt, nowMs)
  renameSync(rebuilt, layout.history)
  syncPath(dirname(layout.history))
  return aside
}

/** Puts a backup in the place of the present file, which is kept aside. Only while no daemon runs. */
export function restoreBackup(layout: Layout, backup: string, nowMs: number): string {
  const building = `${layout.history}.building`
  removeDatabase(building)
  // With what its WAL holds: a file that was set aside has one.
  closing(openForReading(backup), (source) => source.prepare('VACUUM INTO ?').run(building))
  commit(building, layout)
  return finishRepair(layout, nowMs) as string
}

function commit(building: string, layout: Layout): void {
  syncPath(building)
  renameSync(building, rebuiltFile(layout))
  syncPath(dirname(layout.history))
}

function rebuiltFile(layout: Layout): string {
  return `${layout.history}.rebuilt`
}

/** A table that is sound replaces the backup's; of a broken one, the readable rows are added. */
function salvage(brokenFile: string, target: Db): number {
  let broken: Db
  try {
    broken = openForReading(brokenFile)
    broken.pragma('schema_version')
  } catch (error) {
    if (existsSync(brokenFile) && !isCorruption(error)) throw error
    // Not even the first page: nothing to add. The file itself is kept.
    return 0
  }
  let rows = 0
  target.pragma('foreign_keys = OFF')
  const tables = target.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
  for (const table of tables.pluck().all() as string[]) {
    try {
      rows += salvageTable(broken, target, table)
    } catch (error) {
      if (!isCorruption(error) && !/no such table/.test((error as Error).message)) throw error
    }
  }
  broken.close()
  return rows
}

function salvageTable(broken: Db, target: Db, table: string): number {
  const sound = quickCheck(broken, table).length === 0
  const columns = columnNames(target, table).filter((name) => columnNames(broken, table).includes(name))
  const names = columns.map((name) => `"${name}"`).join(', ')
  const insert = target.prepare(
    `INSERT OR REPLACE INTO "${table}" (${names}) VALUES (${columns.map(() => '?').join(', ')})`,
  )
  return target.transaction(() => {
    const before = sound ? 0 : count(target, table)
    if (sound) target.exec(`DELETE FROM "${table}"`)
    // From both ends: a broken page in the middle hides neither what stands before it nor what stands after it.
    for (const direction of sound ? ['ASC'] : ['ASC', 'DESC']) {
      try {
        const read = broken.prepare(`SELECT ${names} FROM "${table}" ORDER BY rowid ${direction}`).raw()
        for (const row of read.iterate() as Iterable<unknown[]>) insertIfValid(insert, row)
      } catch (error) {
        if (!isCorruption(error)) throw error
      }
    }
    return count(target, table) - before
  })()
}

function count(db: Db, table: string): number {
  return db.prepare(`SELECT count(*) FROM "${table}"`).pluck().get() as number
}

function insertIfValid(insert: { run(...values: unknown[]): unknown }, row: unknown[]): void {
  try {
    insert.run(...row)
  } catch (error) {
    if (!String((error as { code?: string }).code).startsWith('SQLITE_CONSTRAINT')) throw error
  }
}

function columnNames(db: Db, table: string): string[] {
  return (db.pragma(`table_info("${table}")`) as { name: string }[]).map((column) => column.name)
}
