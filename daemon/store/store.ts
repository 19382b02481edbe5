/** Both databases, opened, checked and migrated; broken ones set aside. The one place that knows there are two. */
import { existsSync, mkdirSync } from 'node:fs'
import { backUp, backUpBeforeMigration, dailyBackupName, dailyBackups, newestSoundBackup } from './backup.ts'
import { checkInWorker } from './check.ts'
import { closeDatabase, type Db, isCorruption, openDatabase } from './database.ts'
import { problemsOf, setAside } from './integrity.ts'
import { type Layout, storeLayout } from './layout.ts'
import { migrate } from './migrations.ts'
import { finishRepair, repairHistory } from './repair.ts'
import { historyMigrations, indexMigrations } from './tables.ts'

export type Store = {
  history: Db
  /** Ask for it each time: it is replaced when it turns out to be broken. */
  index(): Db
  /** What was found and done at opening, for the log. */
  repairs: string[]
  /** Looks through index.db without keeping anyone waiting; a broken one is set aside and begun anew, and said so. */
  checkIndex(signal: AbortSignal): Promise<string | undefined>
  /** Makes today's backup unless there is one. */
  backUpDaily(nowMs: number): Promise<'made' | 'exists'>
  close(): void
}

export function openStore(stateDir: string, nowMs: number): Store {
  const layout = storeLayout(stateDir)
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const stamp = new Date(nowMs).toISOString().replaceAll(':', '').replace('.', '')
  const repairs: string[] = []
  const history = openHistory(layout, stamp, repairs)
  let index: Db
  try {
    index = openIndex(layout, stamp, repairs)
  } catch (error) {
    history.close()
    throw error
  }

  return {
    history,
    index: () => index,
    repairs,
    checkIndex: async (signal) => {
      const problems = await checkInWorker(layout.index, signal)
      if (problems.length === 0) return undefined
      index.close()
      const aside = setAside(layout.index, layout.corrupt, stamp)
      index = openIndex(layout, stamp, repairs)
      return `index.db was damaged (${problems[0]}); it is kept as ${aside}, and a new one is begun`
    },
    backUpDaily: async (now) => {
      const name = dailyBackupName(now)
      if (dailyBackups(layout.backups).some((file) => file.endsWith(name))) return 'exists'
      await backUp(history, layout.backups, name)
      return 'made'
    },
    close: () => {
      closeDatabase(index)
      closeDatabase(history)
    },
  }
}

function openHistory(layout: Layout, stamp: string, repairs: string[]): Db {
  const finished = finishRepair(layout, stamp)
  if (finished) repairs.push(`finished an interrupted repair of history.db; the damaged file is kept as ${finished}`)
  const problems = existsSync(layout.history) ? problemsOf(layout.history, openDatabase) : []
  if (problems.length > 0) {
    const report = repairHistory(layout, newestSoundBackup(layout.backups), stamp)
    const source = report.backup ? `restored from ${report.backup}` : 'begun anew (there was no sound backup)'
    repairs.push(
      `history.db was damaged (${problems[0]}): ${source} with ${report.rowsRead} rows read from the damaged file, which is kept as ${report.setAside}`,
    )
  }
  return openMigrated(layout.history, (db) =>
    migrate(db, layout.history, historyMigrations, (from) => backUpBeforeMigration(db, layout.backups, from)),
  )
}

function openIndex(layout: Layout, stamp: string, repairs: string[]): Db {
  // Derived data needs no backup before a migration: it can be made again.
  const open = () => openMigrated(layout.index, (db) => migrate(db, layout.index, indexMigrations, () => {}))
  try {
    return open()
  } catch (error) {
    if (!isCorruption(error)) throw error
    const aside = setAside(layout.index, layout.corrupt, stamp)
    repairs.push(`index.db was damaged (${(error as Error).message}); it is kept as ${aside}, and a new one is begun`)
    return open()
  }
}

function openMigrated(file: string, bring: (db: Db) => void): Db {
  const db = openDatabase(file)
  try {
    bring(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
