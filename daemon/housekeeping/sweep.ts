/** Deletes what the daemon no longer has to keep: old backups, damaged databases set aside, pushed turns, leftovers of a crash. */
import { existsSync, lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expired, type Kept, type Rule } from './expire.ts'

export type Keeping = Rule & { backups: number }

export type SweepDeps = {
  /** Files that all fall under age and size together. */
  kept: () => string[]
  /** Newest first. */
  dailyBackups: () => string[]
}

/** Returns what was deleted. */
export function sweepKept({ kept, dailyBackups }: SweepDeps, keep: Keeping, nowMs: number): string[] {
  const surplus = dailyBackups().slice(keep.backups)
  const old = expired(kept().flatMap(measured), keep, nowMs).map((file) => file.path)
  const doomed = [...surplus, ...old]
  for (const path of doomed) {
    rmSync(path, { force: true })
    if (isEmpty(dirname(path))) rmdirSync(dirname(path))
  }
  return doomed
}

/** Half-written files of a process that was killed. Only for a time when nobody can be writing them: before we begin. */
export function removeLeftovers(folders: readonly string[]): string[] {
  const doomed = folders
    .flatMap(filesIn)
    .filter((path) => /\.tmp(-journal|-wal|-shm)?$|\.building(-journal|-wal|-shm)?$/.test(path))
  for (const path of doomed) rmSync(path, { force: true })
  return doomed
}

export function filesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
}

function isEmpty(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).length === 0
}

/** At any depth; none where there is no such folder. */
export function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function measured(path: string): Kept[] {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isFile() ? [{ path, bytes: stats.size, modifiedMs: stats.mtimeMs }] : []
}
