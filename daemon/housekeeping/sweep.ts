/** Deletes what the daemon no longer has to keep: old backups, damaged databases set aside, pushed turns, leftovers of a crash. */
import { existsSync, lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
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

function isEmpty(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).length === 0
}

function measured(path: string): Kept[] {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isFile() ? [{ path, bytes: stats.size, modifiedMs: stats.mtimeMs }] : []
}
