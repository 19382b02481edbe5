/** Knows whether the state folder can be written: raised when a write fails, cleared when a probe succeeds again. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock, Timer } from './clock.ts'
import { message, writeAtomic } from './files.ts'
import type { Health } from './health.ts'

const PROBE_EVERY_MS = 5_000
/** Needs a block of its own: a file of a few bytes may still fit on a full disk. */
export const PROBE = Buffer.alloc(64 * 1024)

export function isDiskError(error: unknown): boolean {
  const code = String((error as { code?: unknown } | undefined)?.code)
  return /^(SQLITE_(FULL|IOERR|READONLY|CANTOPEN|PERM)|ENOSPC|EDQUOT|EROFS|EIO)/.test(code)
}

export function createDisk(stateDir: string, clock: Clock, health: Health) {
  const listeners: (() => void)[] = []
  /** Folders that could not be written, and how that is tried again. */
  const trials = new Map<string, () => boolean>()
  let probing: Timer | undefined
  const stop = () => {
    probing?.stop()
    probing = undefined
  }
  const tryAll = () => {
    const well = [...trials].filter(([, isWell]) => isWell())
    for (const [folder] of well) trials.delete(folder)
    if (trials.size === 0) stop()
    if (well.length > 0) for (const listener of listeners) listener()
  }
  const tryUntil = (folder: string, isWell: () => boolean) => {
    trials.set(folder, isWell)
    probing ??= clock.every(PROBE_EVERY_MS, tryAll, (error) => failed(message(error)))
  }
  const failed = (problem: string) => {
    health.raise('disk', `cannot write to ${stateDir} (${problem}); free space or make it writable`)
    tryUntil(stateDir, () => {
      const isWell = canWrite(stateDir)
      if (isWell) health.clear('disk')
      return isWell
    })
  }
  return {
    failed,
    /** For a folder that may be on another disk, which is no condition of the daemon. */
    tryUntil,
    /** Whether the disk is the cause of a failed write; if so, it becomes a condition. */
    blames: (error: unknown) => {
      const trouble = isDiskError(error)
      if (trouble) failed(message(error))
      return trouble
    },
    onRecovered: (listener: () => void) => void listeners.push(listener),
    stop,
  }
}

function canWrite(folder: string): boolean {
  const path = join(folder, `probe.${process.pid}.tmp`)
  try {
    writeAtomic(path, PROBE)
    return true
  } catch {
    return false
  } finally {
    rmSync(path, { force: true })
  }
}
