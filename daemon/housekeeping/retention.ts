/** Decides which kept files have to go. Does no I/O. */
import { existsSync, lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'

export type Kept = { path: string; bytes: number; modifiedMs: number }
export type Rule = { days: number; maxBytes: number }

const DAY_MS = 86_400_000

/** Too old first; then, oldest first, until the rest fits. A stamp in the future counts as new, not as expired. */
export function expired(files: readonly Kept[], { days, maxBytes }: Rule, nowMs: number): Kept[] {
  const newestFirst = files.toSorted((a, b) => b.modifiedMs - a.modifiedMs)
  let keptBytes = 0
  return newestFirst.filter((file) => {
    if (nowMs - file.modifiedMs > days * DAY_MS) return true
    keptBytes += file.bytes
    return keptBytes > maxBytes
  })
}

/** Deletes what the daemon no longer has to keep: old backups, damaged databases set aside, pushed turns, leftovers of a crash. */

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
