/** Knows whether the state folder can be written: raised when a write fails, cleared when a probe succeeds again. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock, Timer } from './clock.ts'
import { message, writeAtomic } from './files.ts'
import type { Health } from './health.ts'

const PROBE_EVERY_MS = 5_000
/** Needs a block of its own: a file of a few bytes may still fit on a full disk. */
const PROBE = Buffer.alloc(64 * 1024)

export function isDiskError(error: unknown): boolean {
  const code = String((error as { code?: unknown } | undefined)?.code)
  return /^(SQLITE_(FULL|IOERR|READONLY|CANTOPEN|PERM)|ENOSPC|EDQUOT|EROFS|EIO)/.test(code)
}

export function createDisk(stateDir: string, clock: Clock, health: Health) {
  const listeners: (() => void)[] = []
  let probing: Timer | undefined
  const stop = () => {
    probing?.stop()
    probing = undefined
  }
  const failed = (problem: string) => {
    health.raise('disk', `cannot write to ${stateDir} (${problem}); free space or make it writable`)
    const probe = () => {
      if (!canWrite(stateDir)) return
      health.clear('disk')
      stop()
      for (const listener of listeners) listener()
    }
    probing ??= clock.every(PROBE_EVERY_MS, probe, (error) => failed(message(error)))
  }
  return {
    failed,
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
