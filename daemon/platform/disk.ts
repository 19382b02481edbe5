/** Knows whether the state folder can be written: raised when a write fails, cleared when a probe succeeds again. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock, Timer } from './clock.ts'
import type { Conditions } from './conditions.ts'

export type Disk = {
  /** A write failed for a reason that lies with the disk. */
  failed(problem: string): void
  stop(): void
}

const PROBE_EVERY_MS = 5_000
/** Large enough to need a block of its own: a file of a few bytes may still fit where nothing else does. */
const PROBE = Buffer.alloc(64 * 1024)

type Deps = { stateDir: string; clock: Clock; conditions: Conditions }

export function createDisk({ stateDir, clock, conditions }: Deps): Disk {
  let probing: Timer | undefined
  const stop = () => {
    probing?.stop()
    probing = undefined
  }
  return {
    failed: (problem) => {
      conditions.raise('disk', `cannot write to ${stateDir} (${problem}); free space or make it writable`)
      probing ??= clock.every(PROBE_EVERY_MS, () => {
        if (!canWrite(stateDir)) return
        conditions.clear('disk')
        stop()
      })
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
