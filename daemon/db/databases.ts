/** Both databases, opened, checked and migrated; broken ones set aside. The one place that knows there are two. */
import { closeSync, existsSync, lstatSync, mkdirSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import { type Disk, isDiskError } from '../platform/disk.ts'
import { createInTurn } from '../platform/queue.ts'
import { backUp, backUpBeforeMigration, dailyBackupName, newestUsableBackup } from './backup.ts'
import type { Db, Layout } from './database.ts'
import {
  checkInWorker,
  closeDatabase,
  isCorruption,
  leaveCheckpoints,
  migrate,
  openDatabase,
  problemsOf,
  schemaVersion,
  setAside,
  storeLayout,
} from './database.ts'
import { historyMigrations } from './history-schema.ts'
import { indexMigrations } from './index-schema.ts'
import { finishRepair, repairHistory } from './repair.ts'

export type Databases = ReturnType<typeof openDatabases>

export function openDatabases(stateDir: string, nowMs: number) {
  const layout = storeLayout(stateDir)
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const repairs: string[] = []
  const history = openHistory(layout, nowMs, repairs)
  let index: Db
  try {
    index = openIndex(layout, nowMs, repairs)
  } catch (error) {
    history.close()
    throw error
  }
  let held: number | undefined
  const inTurn = createInTurn()
  const alone = <T>(work: () => Promise<T>): Promise<T> => inTurn('history.db', work)
  const listeners: (() => void)[] = []

  const replaceDamagedIndex = async (signal: AbortSignal): Promise<string | undefined> => {
    held ??= openSync(layout.index, 'r')
    const [problem] = await checkInWorker(layout.index, held, signal)
    if (problem === undefined) return undefined
    index.close()
    held = void closeSync(held)
    const aside = setAside(layout.index, layout.corrupt, nowMs)
    index = openIndex(layout, nowMs, repairs)
    return indexDamage(problem, aside)
  }

  return {
    history,
    /** Ask for it each time: it is replaced when it turns out to be broken. */
    index: () => index,
    repairs,
    onIndexReplaced: (listener: () => void) => void listeners.push(listener),
    /** After an unclean stop, in a thread of its own; again once a disk that failed has recovered. Returns how to stop it. */
    checkIndex: (lastStop: 'clean' | 'unclean', disk: Disk, report: (what: unknown) => void) => {
      const giveUp = new AbortController()
      let checked: Promise<void> | undefined
      const replaced = (damage: string | undefined) => {
        if (damage === undefined) return
        report(damage)
        for (const listener of listeners) listener()
      }
      const failed = (error: unknown) => {
        if (disk.blames(error)) checked = undefined
        else report(error)
      }
      const check = () => {
        checked ??= replaceDamagedIndex(giveUp.signal).then(replaced, failed)
      }
      if (lastStop === 'unclean') {
        check()
        disk.onRecovered(check)
      }
      return () => {
        giveUp.abort()
        return checked
      }
    },
    backUpDaily: (nowMs: number) =>
      alone(async (): Promise<'made' | 'exists'> => {
        const name = dailyBackupName(nowMs)
        if (existsSync(join(layout.backups, name))) return 'exists'
        await backUp(history, layout.backups, name)
        return 'made'
      }),
    /** Waits for whatever else copies history.db as a whole, then runs `work` alone: no copy is made of a half. */
    alone,
    close: () => {
      closeDatabase(index)
      if (held !== undefined) closeSync(held)
      closeDatabase(history)
    },
  }
}

function openHistory(layout: Layout, nowMs: number, repairs: string[]): Db {
  const finished = finishRepair(layout, nowMs)
  if (finished) repairs.push(`finished an interrupted repair of history.db; the damaged file is kept as ${finished}`)
  const newestBackup = () => newestUsableBackup(layout.backups, nowMs)
  const problems = historyProblems(layout.history, newestBackup)
  if (problems.length > 0) {
    const backup = newestBackup()
    const report = repairHistory(layout, backup, nowMs)
    const source = backup ? `restored from ${backup}` : 'begun anew (there was no sound backup)'
    repairs.push(
      `history.db was damaged (${problems[0]}): ${source} with ${report.rowsRead} rows read from the damaged file${existsSync(report.setAside) ? `, which is kept as ${report.setAside}` : ''}`,
    )
  }
  try {
    return openMigrated(layout.history, (db) =>
      migrate(db, layout.history, historyMigrations, (from) => backUpBeforeMigration(db, layout.backups, from)),
    )
  } catch (cause) {
    if (cause instanceof MemoryError || isDiskError(cause) || isCorruption(cause)) throw cause
    // Damage in a file that was just found sound is the disk. Anything else is a file that is not ours.
    throw new MemoryError('SETUP', `${layout.history} cannot be used: ${(cause as Error).message}`, {
      hint: 'move it away; the newest backup takes its place at the next start',
      cause,
    })
  }
}

/** With a backup there was a history: one that is gone or holds nothing is as damaged as one with a broken page. */
function historyProblems(file: string, newestBackup: () => string | undefined): string[] {
  if (!statSync(file, { throwIfNoEntry: false })) return newestBackup() ? ['it was missing'] : []
  const empty = (db: Db) => (schemaVersion(db) === 0 && newestBackup() ? ['it was empty'] : [])
  return problemsOf(file, openDatabase, empty)
}

function openIndex(layout: Layout, nowMs: number, repairs: string[]): Db {
  // Derived data needs no backup before a migration: it can be made again.
  const open = () =>
    openMigrated(layout.index, (db) => {
      leaveCheckpoints(db)
      migrate(db, layout.index, indexMigrations, () => {})
    })
  const isForeign = lstatSync(layout.index, { throwIfNoEntry: false })?.isFile() === false
  try {
    return open()
  } catch (error) {
    // It may be deleted at any time, so nothing that stands in its place keeps the daemon from starting.
    if (error instanceof MemoryError || (isDiskError(error) && !isForeign)) throw error
    if (isCorruption(error) && problemsOf(layout.index, openDatabase).length === 0) return open()
    const aside = setAside(layout.index, layout.corrupt, nowMs)
    repairs.push(indexDamage((error as Error).message, aside))
    return open()
  }
}

function indexDamage(problem: string, aside: string): string {
  return `index.db was damaged (${problem}); it is kept as ${aside}, and a new one is begun`
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
