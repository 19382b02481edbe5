/** Deletes what the daemon no longer has to keep: old backups, broken databases set aside, leftovers of a crash. */
import { existsSync, lstatSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expired, type Kept, type Rule } from './expire.ts'

export type Keeping = Rule & { backups: number }

export type SweepDeps = {
  stateDir: string
  /** Folders whose files all fall under age and size. */
  folders: readonly string[]
  /** Newest first. */
  dailyBackups: () => string[]
}

/** Returns what was deleted. */
export function sweepKept({ stateDir, folders, dailyBackups }: SweepDeps, keep: Keeping, nowMs: number): string[] {
  const surplus = dailyBackups().slice(keep.backups)
  const old = expired(folders.flatMap(filesIn), keep, nowMs).map((file) => file.path)
  const doomed = [...surplus, ...old, ...leftovers(stateDir)]
  for (const path of doomed) rmSync(path, { force: true })
  return doomed
}

/** Half-written files of a process that was killed. Only one daemon runs, so nobody is still writing them. */
export function leftovers(folder: string): string[] {
  return filesIn(folder)
    .map((file) => file.path)
    .filter((path) => /\.\d+\.tmp$/.test(path))
}

function filesIn(folder: string): Kept[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) => {
      const stats = lstatSync(path, { throwIfNoEntry: false })
      return stats?.isFile() ? [{ path, bytes: stats.size, modifiedMs: stats.mtimeMs }] : []
    })
}
