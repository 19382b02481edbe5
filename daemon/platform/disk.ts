/** Knows whether the state folder can be written: raised when a write fails, cleared when a probe succeeds again. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock, Timer } from './clock.ts'
import type { Conditions } from './conditions.ts'
import { message } from './files.ts'

export type Disk = {
  /** A write failed; tells whether the reason lies with the disk, and takes note of it if so. */
  blames(error: unknown): boolean
  failed(problem: string): void
  stop(): void
}

const PROBE_EVERY_MS = 5_000
/** Large enough to need a block of its own: a file of a few bytes may still fit where nothing else does. */
const PROBE = Buffer.alloc(64 * 1024)

/** The disk is the problem: it may pass by itself, and nothing that was acknowledged is in doubt. */
export function isDiskTrouble(error: unknown): boolean {
  const code = String((error as { code?: unknown } | undefined)?.code)
  return /^(SQLITE_(FULL|IOERR|READONLY|CANTOPEN|PERM)|ENOSPC|EDQUOT|EROFS|EIO)/.test(code)
}

type Deps = { stateDir: string; clock: Clock; conditions: Conditions; onRecovered: () => void }

export function createDisk({ stateDir, clock, conditions, onRecovered }: Deps): Disk {
  let probing: Timer | undefined
  const stop = () => {
    probing?.stop()
    probing = undefined
  }
  const failed = (problem: string) => {
    conditions.raise('disk', `cannot write to ${stateDir} (${problem}); free space or make it writable`)
    const probe = () => {
      if (!canWrite(stateDir)) return
      conditions.clear('disk')
      stop()
      onRecovered()
    }
    probing ??= clock.every(PROBE_EVERY_MS, probe, (error) => failed(message(error)))
  }
  return {
    failed,
    blames: (error) => {
      const trouble = isDiskTrouble(error)
      if (trouble) failed(message(error))
      return trouble
    },
    stop,
  }
}

function canWrite(folder: string): boolean {
  const path = join(folder, `probe.${process.pid}.tmp`)
  try {
    const fd = openSync(path, 'w', 0o600)
    try {
      writeSync(fd, PROBE)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    return true
  } catch {
    return false
  } finally {
    rmSync(path, { force: true })
  }
}
