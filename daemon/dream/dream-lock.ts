/**
 * One dream per memory directory, in any program. Other programs know the lock as `.consolidate-lock`: its body is the
 * pid of the holder, its mtime the time of the last consolidation. Our own processes take a kernel lock first; a note in
 * the state folder says how to restore the file if its holder dies.
 */
import { hash } from 'node:crypto'
import fs from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Core } from '../core.ts'
import { explainDiskError } from '../memory/folder.ts'
import { writeAtomic } from '../platform/files.ts'
import { takesSignals } from '../platform/process.ts'
import { holdFile } from '../platform/process-lock.ts'
import { type Dreams, isAtEnd } from './dream-table.ts'

export const LOCK_FILE = '.consolidate-lock'

/** An older file is stale: its pid may have been reused. */
const STALE_MS = 60 * 60_000
const BODY_BYTES = 32
const OPEN = fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK

export type Holder = { pid: number; ageMs: number }

export type Acquired = ReturnType<DreamLock['acquire']>

export type DreamLock = ReturnType<typeof createDreamLock>

const Note = z.object({ dir: z.string(), pid: z.int(), runId: z.string(), beforeNs: z.string().nullable() })
type Note = z.infer<typeof Note>

/** A run that `dreams` has as done is not rolled back. */
export function createDreamLock({ stateDir, clock }: Core, dreams: Dreams) {
  const { pid } = process
  const folder = join(stateDir, 'dreams')
  const own = (dir: string) => join(folder, hash('sha256', dir).slice(0, 32))
  const noteOf = (dir: string) => `${own(dir)}.json`
  const held = new Set<string>()

  const holderOf = (seen: Seen | undefined): Holder | undefined => {
    if (seen?.pid === undefined || !takesSignals(seen.pid)) return undefined
    const ageMs = clock.now() - msOf(seen.mtimeNs)
    return Math.abs(ageMs) < STALE_MS ? { pid: seen.pid, ageMs } : undefined
  }

  /** Needs the kernel lock: then the process that the note names is not dreaming any more. */
  const settle = (note: Note, file: string): boolean => {
    const seen = read(note.dir)
    // Without a pid its holder was killed, or the disk was full, between truncating and writing.
    const isNamed = seen !== undefined && (seen.pid === note.pid || seen.pid === undefined)
    const isLeft = isNamed && !isAtEnd(dreams.get(note.runId)?.outcome)
    if (isLeft) putBack(note.dir, note.beforeNs)
    fs.rmSync(file, { force: true })
    return isLeft
  }

  const isOurs = (dir: string) => attempt(() => read(dir))?.pid === pid

  const take = (dir: string, runId: string, letGo: () => void) => {
    const note = noteOf(dir)
    // 1. What a dead holder left is restored first.
    const left = readNote(note)
    if (left) inPlace(dir, () => settle(left, note))
    const before = inPlace(dir, () => read(dir))
    const holder = holderOf(before)
    // Our own pid without a dream of ours is left over: the daemon outlives its dreams.
    if (holder && holder.pid !== pid) return { heldBy: holder }

    // 2. The note before the file.
    const beforeNs = before ? String(before.mtimeNs) : null
    const noted: Note = { dir, pid, runId, beforeNs }
    writeAtomic(note, JSON.stringify(noted))
    let written: boolean
    try {
      written = inPlace(dir, () => (before ? overwrite(dir, before, pid) : create(dir, pid)))
    } catch (error) {
      // The file may be half-written: restore it now, not after the next start.
      attempt(() => settle(noted, note))
      throw error
    }
    // 3. Another program may have written it at the same time: the pid in the file decides.
    if (!written || read(dir)?.pid !== pid) {
      fs.rmSync(note, { force: true })
      return { heldBy: holderOf(read(dir)) ?? { pid: 0, ageMs: 0 } }
    }

    const end = () => {
      // A note that stays does no harm: the next holder finds that its run has ended.
      attempt(() => fs.rmSync(note, { force: true }))
      letGo()
    }
    const rollBack = () => {
      try {
        if (isOurs(dir)) putBack(dir, beforeNs)
      } catch {
        // The note stays, and the next holder restores the file.
        return letGo()
      }
      end()
    }
    return { lock: { lastMs: before && msOf(before.mtimeNs), isOurs: () => isOurs(dir), succeed: end, rollBack } }
  }

  return {
    lastMs: (dir: string): number | undefined => {
      const stats = attempt(() => fs.lstatSync(join(dir, LOCK_FILE), { throwIfNoEntry: false }))
      return stats?.isFile() ? Math.floor(stats.mtimeMs) : undefined
    },
    /** Our own pid in the file counts only while we dream. */
    holder: (dir: string): Holder | undefined => {
      if (held.has(dir)) return { pid, ageMs: 0 }
      const holder = holderOf(attempt(() => read(dir)))
      return holder?.pid === pid ? undefined : holder
    },
    acquire: (given: string, runId: string) => {
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
      inPlace(given, () => fs.mkdirSync(given, { recursive: true, mode: 0o700 }))
      // One lock for all paths of the directory: our own pid in the file would count as free.
      const dir = fs.realpathSync(given)
      const release = holdFile(`${own(dir)}.lock`)
      if (!release) return { heldBy: 'ours' as const }
      const letGo = () => {
        held.delete(given)
        release()
      }
      held.add(given)
      let acquired: ReturnType<typeof take> | undefined
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
    recover: (): string[] => {
      const names = attempt(() => fs.readdirSync(folder)) ?? []
      return names.flatMap((name) => {
        const file = join(folder, name)
        const note = name.endsWith('.json') ? readNote(file) : undefined
        const letGo = note && holdFile(`${own(note.dir)}.lock`)
        if (!letGo) return []
        try {
          return settle(note, file) ? [note.dir] : []
        } catch {
          // A directory that cannot be used now is settled when its lock is taken next.
          return []
        } finally {
          letGo()
        }
      })
    },
  }
}

function readNote(file: string): Note | undefined {
  return attempt(() => Note.parse(JSON.parse(fs.readFileSync(file, 'utf8'))))
}

/** Memories may be on another disk than the state folder. */
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

type Seen = { pid: number | undefined; mtimeNs: bigint }

function read(dir: string): Seen | undefined {
  const fd = open(dir, fs.constants.O_RDONLY)
  if (fd === undefined) return undefined
  try {
    const { mtimeNs } = fs.fstatSync(fd, { bigint: true })
    const bytes = Buffer.alloc(BODY_BYTES)
    const text = bytes.toString('utf8', 0, fs.readSync(fd, bytes, 0, BODY_BYTES, 0)).trim()
    return { pid: /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined, mtimeNs }
  } finally {
    fs.closeSync(fd)
  }
}

function create(dir: string, pid: number): boolean {
  try {
    const fd = fs.openSync(
      join(dir, LOCK_FILE),
      OPEN | fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL,
      0o600,
    )
    writeAndClose(fd, String(pid))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function overwrite(dir: string, found: Seen, pid: number): boolean {
  const now = read(dir)
  if (now?.pid !== found.pid || now?.mtimeNs !== found.mtimeNs) return false
  const fd = open(dir, fs.constants.O_WRONLY | fs.constants.O_TRUNC)
  if (fd === undefined) return false
  writeAndClose(fd, String(pid))
  return true
}

function putBack(dir: string, beforeNs: string | null): void {
  if (beforeNs === null) {
    fs.rmSync(join(dir, LOCK_FILE), { force: true })
    return
  }
  const fd = open(dir, fs.constants.O_WRONLY | fs.constants.O_TRUNC)
  if (fd === undefined) return
  try {
    const seconds = secondsOf(BigInt(beforeNs))
    fs.futimesSync(fd, seconds, seconds)
  } finally {
    fs.closeSync(fd)
  }
}

function writeAndClose(fd: number, text: string): void {
  try {
    fs.writeSync(fd, text)
  } finally {
    fs.closeSync(fd)
  }
}

/** Follows no link: any program that can write into the directory may have put one there. */
function open(dir: string, flags: number): number | undefined {
  let fd: number
  try {
    // Truncated only once it is known to be a plain file.
    fd = fs.openSync(join(dir, LOCK_FILE), OPEN | (flags & ~fs.constants.O_TRUNC))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP' || code === 'EISDIR' || code === 'ENXIO')
      throw new NotPlain(`${LOCK_FILE} is not a plain file`)
    throw error
  }
  const stats = fs.fstatSync(fd)
  if (!stats.isFile() || stats.nlink > 1) {
    fs.closeSync(fd)
    throw new NotPlain(`${LOCK_FILE} is not a plain file of its own`)
  }
  if (flags & fs.constants.O_TRUNC) fs.ftruncateSync(fd)
  return fd
}

function msOf(ns: bigint): number {
  return Number(ns / 1_000_000n)
}

/** The kernel truncates floating-point seconds: half a microsecond keeps them within the right millisecond. */
function secondsOf(ns: bigint): number {
  const aimed = ns % 1_000_000n < 999_000n ? ns + 500n : ns - 500n
  return Number(aimed) / 1e9
}
