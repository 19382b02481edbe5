/** Knows whether the state folder can be written: raised when a write fails, cleared when a probe succeeds again. */
import { rmSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { Clock, Timer } from './clock.ts'
import { message, writeAtomic } from './files.ts'
import type { Health } from './health.ts'

const PROBE_EVERY_MS = 5_000
/** Needs a block of its own: a file of a few bytes may still fit on a full disk. */
export const PROBE = Buffer.alloc(64 * 1024)

const DISK = /^(SQLITE_(FULL|IOERR|READONLY|CANTOPEN|PERM)|ENOSPC|EDQUOT|EROFS|EIO|EMKDIR)/
const FILES = ['too many files are open', 'raise the limit of open files, or end what opens them']
const CLOSED = ['permission is denied', 'make it readable and writable for you']
const problems: Record<string, string[]> = {
  ...{ ENOSPC: ['there is no space left'], EROFS: ['it is read-only'], EIO: ['its disk fails'] },
  EDQUOT: ['the quota is used up', 'make room there, or raise the quota'],
  ...{ EMKDIR: ['no folder can be made'], EACCES: CLOSED, EPERM: CLOSED, EMFILE: FILES, ENFILE: FILES },
}

export function diskProblem(error: unknown): { code: string; what: string; hint: string } | undefined {
  const code = codeOf(error)
  const [what, hint = 'make room there, or make it writable for you'] = problems[code] ?? []
  return what === undefined ? undefined : { code, what, hint }
}

/** Node has no name for a quota that is used up, and takes what it cannot make on a broken disk for missing. */
function codeOf(error: unknown): string {
  const { code, errno, syscall } = Object(error) as NodeJS.ErrnoException
  if (syscall === 'mkdir' && code === 'ENOENT') return 'EMKDIR'
  return errno === -constants.errno.EDQUOT ? 'EDQUOT' : String(code)
}

export const isDiskError = (error: unknown): boolean => DISK.test(codeOf(error))

export type Disk = ReturnType<typeof createDisk>

export function createDisk(stateDir: string, clock: Clock, health: Health) {
  const listeners: (() => void)[] = []
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
