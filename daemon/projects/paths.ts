/** Paths that anyone may have put there: what is at them and where they lead. Bounded, never blocking, never throwing. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { basename, dirname, isAbsolute, join, normalize, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

/** `unreachable`: it may be there, but a closed folder, a loop of links or a name too long stands before it. */
export type Kind = 'file' | 'folder' | 'other' | 'absent' | 'unreachable'

/** The coarsest stamp of a file system in use (FAT): a second write within it can leave the stamp as it was. */
const STAMP_STEP_MS = 2_000
/** As many as Linux follows. */
const MOST_LINKS = 40
export const LONGEST_PATH_BYTES = 4_096

export type Probe = ReturnType<typeof createProbe>

/** Remembers what it saw, so that an answer made from it holds for as long as `isUnchanged`. */
export function createProbe() {
  const stamps = new Map<string, Stamp>()
  const targets = new Map<string, string | undefined>()
  let newestMs = 0

  // The stamp is taken before the content: a change in between is seen by the next look instead of being missed.
  const stampAt = (path: string): Stamp => {
    const stamp = stamps.get(path) ?? stampOf(path)
    stamps.set(path, stamp)
    newestMs = Math.max(newestMs, stamp.ctimeMs)
    return stamp
  }

  return {
    /** What is at `path`, links followed. */
    kind: (path: string): Kind => stampAt(path).kind,
    /** The whole content of a regular file; nothing when it is anything else, longer than `capBytes` or out of reach. */
    read: (path: string, capBytes: number): { bytes: Buffer; uid: number } | undefined => {
      const stamp = stampAt(path)
      if (stamp.kind !== 'file' || stamp.size > capBytes) return undefined
      return readWhole(path, capBytes)
    },
    /** `path` with every link followed, also where its end does not exist yet; nothing when that cannot be told. */
    resolve: (path: string): string | undefined => {
      if (!targets.has(path)) targets.set(path, followLinks(path))
      return targets.get(path)
    },
    isUnchanged: (): boolean =>
      [...stamps].every(([path, stamp]) => isDeepStrictEqual(stamp, stampOf(path))) &&
      [...targets].every(([path, target]) => target === followLinks(path)),
    /** Whether a change after `nowMs`, the moment before the first look, is sure to show in a later one. */
    isSettledAt: (nowMs: number): boolean => nowMs - newestMs >= STAMP_STEP_MS,
  }
}

type Stamp = { kind: Kind; ino?: number; size: number; mtimeMs?: number; ctimeMs: number }

function stampOf(path: string): Stamp {
  const nothing = { size: 0, ctimeMs: 0 }
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (!stats) return { kind: 'absent', ...nothing }
    const { ino, size, mtimeMs, ctimeMs } = stats
    if (stats.isFile()) return { kind: 'file', ino, size, mtimeMs, ctimeMs }
    // Every commit changes the times of `.git`; the files in it that count have stamps of their own.
    return { kind: stats.isDirectory() ? 'folder' : 'other', ino, ...nothing }
  } catch {
    return { kind: 'unreachable', ...nothing }
  }
}

function readWhole(path: string, capBytes: number): { bytes: Buffer; uid: number } | undefined {
  let fd: number
  try {
    // It was a file a moment ago; if it is a pipe by now, this must not wait for its writer.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return undefined
  }
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile() || stats.size > capBytes) return undefined
    const bytes = Buffer.allocUnsafe(stats.size)
    let done = 0
    while (done < bytes.length) {
      const count = readSync(fd, bytes, done, bytes.length - done, done)
      if (count === 0) break
      done += count
    }
    return { bytes: bytes.subarray(0, done), uid: stats.uid }
  } catch {
    return undefined
  } finally {
    closeSync(fd)
  }
}

/** What exists is the system's to resolve; behind it, step by step, a link to what is not there yet may still stand. */
function followLinks(path: string): string | undefined {
  if (path.length > LONGEST_PATH_BYTES) return undefined
  try {
    let there = path
    const steps: string[] = []
    while (!existsSync(there) && there !== '/') {
      steps.push(basename(there))
      there = dirname(there)
    }
    let place = realpathSync.native(there)
    let links = 0
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      const next = join(place, step)
      const link = lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(next) : undefined
      if (link === undefined) place = next
      else if (++links > MOST_LINKS) return undefined
      else {
        if (isAbsolute(link)) place = '/'
        steps.push(...link.split('/').filter(Boolean).reverse())
      }
    }
    return place
  } catch {
    return undefined
  }
}

/** Whether a folder lies in one that the settings name private, by whatever way either is reached. */

/** The private folder that covers one of these, if any does. */
export function privateFolder(named: readonly string[], folders: readonly string[]): string | undefined {
  if (named.length === 0) return undefined
  const places = folders.flatMap(waysTo)
  return named.find((secret) => waysTo(secret).some((from) => places.some((place) => covers(from, place))))
}

export function covers(folder: string, place: string): boolean {
  return folder === sep || place === folder || place.startsWith(folder + sep)
}

/** As it is written, and with its links followed where it exists. */
function waysTo(path: string): string[] {
  const written = normalize(path).replace(/(.)\/+$/, '$1')
  try {
    return [written, realpathSync(written)]
  } catch {
    return [written]
  }
}
