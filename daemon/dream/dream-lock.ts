/**
 * One dream per memory directory, whoever starts it. The lock that other programs know is `.consolidate-lock`: its body names
 * the holder, its time is that of the last consolidation. Among ours a lock that the kernel frees stands before it, and a
 * note in the state folder says how to put the file back, should its holder die.
 */
import { hash } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  futimesSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { explainDiskError } from '../memory/folder.ts'
import type { Clock } from '../platform/clock.ts'
import { writeAtomic } from '../platform/files.ts'
import { holdFile, isAlive } from '../platform/process-lock.ts'

/** After this long nobody believes that the process which the file names is still at it: its number may be another's. */
const STALE_MS = 60 * 60_000

export type Holder = { pid: number; ageMs: number }

export type HeldLock = {
  /** The last consolidation before this one. */
  lastMs: number | undefined
  /** Whether the file still names us. */
  isOurs(): boolean
  /** It happened: its time stays. */
  succeed(): void
  /** It did not: the file is what it was, and may be taken at once. */
  rollBack(): void
}

export type Acquired = { lock: HeldLock } | { heldBy: Holder | 'ours' } | { refused: string }

export type DreamLock = {
  /** When this directory was last consolidated, by anybody. Costs one stat. */
  lastMs(dir: string): number | undefined
  /** Who holds it: stat and read. */
  holder(dir: string): Holder | undefined
  acquire(dir: string, runId: string): Acquired
  /** Puts back what dead holders left; those whose run is on record had done their work. */
  recover(): string[]
}

type Deps = {
  stateDir: string
  clock: Pick<Clock, 'now'>
  pid: number
  /** Whether a run came to its end. */
  isDone: (runId: string) => boolean
}

const Note = z.object({ dir: z.string(), pid: z.int(), runId: z.string(), beforeNs: z.string().nullable() })
type Note = z.infer<typeof Note>

export function createDreamLock({ stateDir, clock, pid, isDone }: Deps): DreamLock {
  const folder = join(stateDir, 'dreams')
  const own = (dir: string) => join(folder, hash('sha256', dir).slice(0, 32))
  const noteOf = (dir: string) => `${own(dir)}.json`

  const holderOf = (seen: Seen | undefined): Holder | undefined => {
    if (seen?.pid === undefined || !isAlive(seen.pid)) return undefined
    const ageMs = clock.now() - msOf(seen.mtimeNs)
    return Math.abs(ageMs) < STALE_MS ? { pid: seen.pid, ageMs } : undefined
  }

  /** Only for whoever holds the kernel's lock: then nobody whom a note names is at it any more. */
  const settle = (note: Note, file: string): boolean => {
    const seen = read(note.dir)
    // Without a number it was killed, or the disk was full, between making room for it and writing it.
    const isNamed = seen !== undefined && (seen.pid === note.pid || seen.pid === undefined)
    const isLeft = isNamed && !isDone(note.runId)
    if (isLeft) putBack(note.dir, note.beforeNs)
    rmSync(file, { force: true })
    return isLeft
  }

  /** What somebody has put a link or a folder in place of is not. */
  const isOurs = (dir: string) => attempt(() => read(dir))?.pid === pid

  /** A lock that could not be written is as it was at once, and not after the next start. */
  const putting = <T>(put: () => T, dir: string): T => {
    try {
      return put()
    } catch (error) {
      const note = readNote(noteOf(dir))
      if (note) attempt(() => settle(note, noteOf(dir)))
      throw error
    }
  }

  const take = (dir: string, runId: string, letGo: () => void): Acquired => {
    const left = readNote(noteOf(dir))
    if (left) inPlace(dir, () => settle(left, noteOf(dir)))
    const before = inPlace(dir, () => read(dir))
    const holder = holderOf(before)
    // Our own number, and no dream of ours: the daemon lives on after its dream.
    if (holder && holder.pid !== pid) return { heldBy: holder }
    const beforeNs = before ? String(before.mtimeNs) : null
    writeAtomic(noteOf(dir), JSON.stringify({ dir, pid, runId, beforeNs } satisfies Note))
    const writing = putting(() => inPlace(dir, () => (before ? overwrite(dir, before, pid) : create(dir, pid))), dir)
    // Somebody came between; whoever reads back another number has lost.
    const seen = writing === 'written' ? read(dir) : undefined
    if (seen?.pid !== pid) {
      rmSync(noteOf(dir), { force: true })
      return { heldBy: holderOf(read(dir)) ?? { pid: 0, ageMs: 0 } }
    }
    const end = () => {
      try {
        rmSync(noteOf(dir), { force: true })
      } finally {
        letGo()
      }
    }
    const rollBack = () => {
      const putItBack = () => {
        putBack(dir, beforeNs)
        return true
      }
      const isBack = !isOurs(dir) || attempt(putItBack)
      // Where it cannot be, the note stays: whoever takes the lock next puts it back.
      if (isBack) end()
      else letGo()
    }
    return {
      lock: {
        lastMs: before && msOf(before.mtimeNs),
        isOurs: () => isOurs(dir),
        succeed: end,
        rollBack,
      },
    }
  }

  const recovered = (note: Note, file: string): boolean => {
    const letGo = holdFile(`${own(note.dir)}.lock`)
    if (!letGo) return false
    try {
      return settle(note, file)
    } finally {
      letGo()
    }
  }

  return {
    lastMs: (dir) => {
      // A folder that is closed to us has no time that anybody could read.
      const stats = attempt(() => lstatSync(join(dir, LOCK_FILE), { throwIfNoEntry: false }))
      return stats?.isFile() ? Math.floor(stats.mtimeMs) : undefined
    },
    holder: (dir) => {
      const holder = holderOf(attempt(() => read(dir)))
      return holder?.pid === pid ? undefined : holder
    },
    acquire: (given, runId) => {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      inPlace(given, () => mkdirSync(given, { recursive: true, mode: 0o700 }))
      // Under all of its names it is one directory, and the number of this process in it would count as free.
      const dir = realpathSync(given)
      const letGo = holdFile(`${own(dir)}.lock`)
      if (!letGo) return { heldBy: 'ours' }
      let acquired: Acquired | undefined
      try {
        acquired = take(dir, runId, letGo)
        return acquired
      } catch (error) {
        if (!(error instanceof NotPlain)) throw error
        return { refused: error.message }
      } finally {
        if (!acquired || !('lock' in acquired)) letGo()
      }
    },
    recover: () => {
      const names = attempt(() => readdirSync(folder)) ?? []
      return names.flatMap((name) => {
        const note = name.endsWith('.json') ? readNote(join(folder, name)) : undefined
        // A directory that cannot be used now is settled by whoever takes it next: nobody has to wait for that.
        const isLeft = note && attempt(() => recovered(note, join(folder, name)))
        return isLeft ? [note.dir] : []
      })
    },
  }
}

function readNote(file: string): Note | undefined {
  const text = attempt(() => readFileSync(file, 'utf8'))
  const note = text === undefined ? undefined : attempt(() => Note.parse(JSON.parse(text)))
  return note
}

/** Memories may be on another disk than what the daemon keeps, which is not to blame then. */
function inPlace<T>(dir: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw explainDiskError(dir, error)
  }
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch {
    return undefined
  }
}

/**
 * `.consolidate-lock` as a file: read, made, taken over and put back. Its body is the number of a process, its time that of
 * the last consolidation. Follows no link: anybody who can write into the directory may have put it there.
 */

export const LOCK_FILE = '.consolidate-lock'

/** No process has a longer number. */
const BODY_BYTES = 32

const OPEN = constants.O_NOFOLLOW | constants.O_NONBLOCK

/** A body is read as leniently as programs write it. */
export type Seen = { pid: number | undefined; mtimeNs: bigint }

export class NotPlain extends Error {}

export function read(dir: string): Seen | undefined {
  const fd = open(dir, constants.O_RDONLY)
  if (fd === undefined) return undefined
  try {
    const { mtimeNs } = fstatSync(fd, { bigint: true })
    const bytes = Buffer.alloc(BODY_BYTES)
    const text = bytes
      .subarray(0, readSync(fd, bytes, 0, BODY_BYTES, 0))
      .toString()
      .trim()
    const pid = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined
    return { pid, mtimeNs }
  } finally {
    closeSync(fd)
  }
}

/** Only if nobody else has: two who find nothing cannot both make it. */
export function create(dir: string, pid: number): 'written' | 'overtaken' {
  try {
    const fd = openSync(join(dir, LOCK_FILE), OPEN | constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
    writeAndClose(fd, String(pid))
    return 'written'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return 'overtaken'
    throw error
  }
}

/** Only over what was judged to be free. */
export function overwrite(dir: string, judged: Seen, pid: number): 'written' | 'overtaken' {
  const now = read(dir)
  if (now?.pid !== judged.pid || now?.mtimeNs !== judged.mtimeNs) return 'overtaken'
  const fd = open(dir, constants.O_WRONLY | constants.O_TRUNC)
  if (fd === undefined) return 'overtaken'
  writeAndClose(fd, String(pid))
  return 'written'
}

export function putBack(dir: string, beforeNs: string | null): void {
  if (beforeNs === null) {
    rmSync(join(dir, LOCK_FILE), { force: true })
    return
  }
  const fd = open(dir, constants.O_WRONLY | constants.O_TRUNC)
  if (fd === undefined) return
  try {
    const seconds = secondsOf(BigInt(beforeNs))
    futimesSync(fd, seconds, seconds)
  } finally {
    closeSync(fd)
  }
}

function writeAndClose(fd: number, text: string): void {
  try {
    writeSync(fd, text)
  } finally {
    closeSync(fd)
  }
}

function open(dir: string, flags: number): number | undefined {
  let fd: number
  try {
    // Nothing is truncated before it is known to be a file of its own.
    fd = openSync(join(dir, LOCK_FILE), OPEN | (flags & ~constants.O_TRUNC))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP' || code === 'EISDIR' || code === 'ENXIO')
      throw new NotPlain(`${LOCK_FILE} is not a plain file`)
    throw error
  }
  const stats = fstatSync(fd)
  if (!stats.isFile() || stats.nlink > 1) {
    closeSync(fd)
    throw new NotPlain(`${LOCK_FILE} is not a plain file of its own`)
  }
  if (flags & constants.O_TRUNC) ftruncateSync(fd)
  return fd
}

export function msOf(ns: bigint): number {
  return Number(ns / 1_000_000n)
}

/**
 * A time is set in seconds, as a floating-point number that the system cuts off: aimed at the middle between two of them,
 * it does not fall into the millisecond before.
 */
function secondsOf(ns: bigint): number {
  const aimed = ns % 1_000_000n < 999_000n ? ns + 500n : ns - 500n
  return Number(aimed) / 1e9
}
