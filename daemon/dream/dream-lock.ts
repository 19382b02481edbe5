/**
 * One dream per memory directory, whichever program starts it. The lock that other programs know is `.consolidate-lock`: its
 * body is the number of the holding process, its time that of the last consolidation. Before it, our own processes take a
 * lock that the kernel frees; a note in the state folder says how to put the file back, should its holder die.
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
import type { Core } from '../core.ts'
import { explainDiskError } from '../memory/folder.ts'
import { writeAtomic } from '../platform/files.ts'
import { takesSignals } from '../platform/process.ts'
import { holdFile } from '../platform/process-lock.ts'
import { type Dreams, isAtEnd } from './dream-table.ts'

export const LOCK_FILE = '.consolidate-lock'

/** A process that a file of this age names is not believed to be at it still: its number may be another's by now. */
const STALE_MS = 60 * 60_000
/** No process has a longer number. */
const BODY_BYTES = 32
const OPEN = constants.O_NOFOLLOW | constants.O_NONBLOCK

export type Holder = { pid: number; ageMs: number }

export type HeldLock = {
  /** The last consolidation before this one. */
  lastMs: number | undefined
  /** Whether the file still names us. */
  isOurs(): boolean
  /** The dream came to its end: its time stays. */
  succeed(): void
  /** It did not: the file is what it was, and may be taken at once. */
  rollBack(): void
}

export type Acquired = { lock: HeldLock } | { heldBy: Holder | 'ours' } | { refused: string }

export type DreamLock = ReturnType<typeof createDreamLock>

const Note = z.object({ dir: z.string(), pid: z.int(), runId: z.string(), beforeNs: z.string().nullable() })
type Note = z.infer<typeof Note>

/** A run that is on record as done is not rolled back. */
export function createDreamLock({ stateDir, clock }: Core, dreams: Dreams) {
  const { pid } = process
  const folder = join(stateDir, 'dreams')
  const own = (dir: string) => join(folder, hash('sha256', dir).slice(0, 32))
  const noteOf = (dir: string) => `${own(dir)}.json`
  /** Directories that a dream of this process is at. */
  const held = new Set<string>()

  const holderOf = (seen: Seen | undefined): Holder | undefined => {
    if (seen?.pid === undefined || !takesSignals(seen.pid)) return undefined
    const ageMs = clock.now() - msOf(seen.mtimeNs)
    return Math.abs(ageMs) < STALE_MS ? { pid: seen.pid, ageMs } : undefined
  }

  /** Only with the kernel's lock in hand: then the process that a note names is not at it any more. */
  const settle = (note: Note, file: string): boolean => {
    const seen = read(note.dir)
    // Without a number it was killed, or the disk was full, between making room for it and writing it.
    const isNamed = seen !== undefined && (seen.pid === note.pid || seen.pid === undefined)
    const isLeft = isNamed && !isAtEnd(dreams.get(note.runId)?.outcome)
    if (isLeft) putBack(note.dir, note.beforeNs)
    rmSync(file, { force: true })
    return isLeft
  }

  /** A link or a folder in its place is not ours. */
  const isOurs = (dir: string) => attempt(() => read(dir))?.pid === pid

  const take = (dir: string, runId: string, letGo: () => void): Acquired => {
    const note = noteOf(dir)
    // 1. What a dead holder left is put back first.
    const left = readNote(note)
    if (left) inPlace(dir, () => settle(left, note))
    const before = inPlace(dir, () => read(dir))
    const holder = holderOf(before)
    // Our own number, and no dream of ours: the daemon lives on after its dream.
    if (holder && holder.pid !== pid) return { heldBy: holder }

    // 2. The note, then the file.
    const beforeNs = before ? String(before.mtimeNs) : null
    const noted: Note = { dir, pid, runId, beforeNs }
    writeAtomic(note, JSON.stringify(noted))
    let written: boolean
    try {
      written = inPlace(dir, () => (before ? overwrite(dir, before, pid) : create(dir, pid)))
    } catch (error) {
      // Half of it may be written: it is put back now, and not after the next start.
      attempt(() => settle(noted, note))
      throw error
    }
    // 3. A program that came between has won: the number in the file decides.
    if (!written || read(dir)?.pid !== pid) {
      rmSync(note, { force: true })
      return { heldBy: holderOf(read(dir)) ?? { pid: 0, ageMs: 0 } }
    }

    const end = () => {
      try {
        rmSync(note, { force: true })
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
      // Where it cannot be, the note stays: the next process to take the lock puts it back.
      if (isBack) end()
      else letGo()
    }
    return { lock: { lastMs: before && msOf(before.mtimeNs), isOurs: () => isOurs(dir), succeed: end, rollBack } }
  }

  return {
    /** When this directory was last consolidated, by any program. Costs one stat. */
    lastMs: (dir: string): number | undefined => {
      // The time of a folder that is closed to us is unknown.
      const stats = attempt(() => lstatSync(join(dir, LOCK_FILE), { throwIfNoEntry: false }))
      return stats?.isFile() ? Math.floor(stats.mtimeMs) : undefined
    },
    /** Which process is at it. Our own number in the file means nothing once our dream is over. */
    holder: (dir: string): Holder | undefined => {
      if (held.has(dir)) return { pid, ageMs: 0 }
      const holder = holderOf(attempt(() => read(dir)))
      return holder?.pid === pid ? undefined : holder
    },
    acquire: (given: string, runId: string): Acquired => {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      inPlace(given, () => mkdirSync(given, { recursive: true, mode: 0o700 }))
      // Under all of its names it is one directory, and the number of this process in it would count as free.
      const dir = realpathSync(given)
      const release = holdFile(`${own(dir)}.lock`)
      if (!release) return { heldBy: 'ours' }
      const letGo = () => {
        held.delete(given)
        release()
      }
      held.add(given)
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
    /** Puts back what dead holders left, and tells in which directories; those whose run is on record had done their work. */
    recover: (): string[] => {
      const names = attempt(() => readdirSync(folder)) ?? []
      return names.flatMap((name) => {
        const file = join(folder, name)
        const note = name.endsWith('.json') ? readNote(file) : undefined
        const letGo = note && holdFile(`${own(note.dir)}.lock`)
        if (!letGo) return []
        try {
          return settle(note, file) ? [note.dir] : []
        } catch {
          // A directory that cannot be used now is settled by the next process that takes its lock: the start does not wait.
          return []
        } finally {
          letGo()
        }
      })
    },
  }
}

function readNote(file: string): Note | undefined {
  return attempt(() => Note.parse(JSON.parse(readFileSync(file, 'utf8'))))
}

/** Memories may be on another disk than the state folder, which is not to blame then. */
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

class NotPlain extends Error {}

/** A body is read as leniently as programs write it. */
type Seen = { pid: number | undefined; mtimeNs: bigint }

function read(dir: string): Seen | undefined {
  const fd = open(dir, constants.O_RDONLY)
  if (fd === undefined) return undefined
  try {
    const { mtimeNs } = fstatSync(fd, { bigint: true })
    const bytes = Buffer.alloc(BODY_BYTES)
    const text = bytes.toString('utf8', 0, readSync(fd, bytes, 0, BODY_BYTES, 0)).trim()
    return { pid: /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined, mtimeNs }
  } finally {
    closeSync(fd)
  }
}

/** Only if no other program has: of two that find nothing one makes it. */
function create(dir: string, pid: number): boolean {
  try {
    const fd = openSync(join(dir, LOCK_FILE), OPEN | constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
    writeAndClose(fd, String(pid))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Only over what was found to be free. */
function overwrite(dir: string, found: Seen, pid: number): boolean {
  const now = read(dir)
  if (now?.pid !== found.pid || now?.mtimeNs !== found.mtimeNs) return false
  const fd = open(dir, constants.O_WRONLY | constants.O_TRUNC)
  if (fd === undefined) return false
  writeAndClose(fd, String(pid))
  return true
}

function putBack(dir: string, beforeNs: string | null): void {
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

/** Follows no link: any program that can write into the directory may have put one there. */
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

function msOf(ns: bigint): number {
  return Number(ns / 1_000_000n)
}

/** The kernel cuts the floating-point seconds off: half a microsecond more keeps it out of the millisecond before. */
function secondsOf(ns: bigint): number {
  const aimed = ns % 1_000_000n < 999_000n ? ns + 500n : ns - 500n
  return Number(aimed) / 1e9
}
