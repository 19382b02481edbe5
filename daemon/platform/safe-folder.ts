/**
 * The one safe way to open, list, read and write below a folder. Every folder on the way is held open and entered from the
 * one before, never through a link; a file is opened first, then checked.
 *
 * On Linux a name is resolved in the open folder itself (`/proc/self/fd/…`, in place of the openat that Node lacks).
 * Elsewhere it is resolved by path, and what the names lead to is compared before and after: a program that swaps folders
 * within those microseconds can still win.
 */
import { hash } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  rmdirSync,
  type Stats,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import { shown } from './text.ts'

export type Reach = 'descriptor' | 'path'

type Identity = { dev: bigint; ino: bigint }

export type Folder = {
  fd: number
  /** Of the open folder, whatever its name leads to by now. */
  held: Identity
  reach: Reach
  name: string
  where: string
  parent: Folder | undefined
  at(entry: string): string
}

export type MayBeAt = (where: string) => boolean

const OPEN_FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** A container may lack /proc: then there is only the way by path. */
export function bestReach(platform: NodeJS.Platform): Reach {
  return platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptor' : 'path'
}

const OWN_REACH = bestReach(process.platform)

/** The root may be reached through links if `mayBeAt` allows where they lead. Below it none is followed. */
export function openRoot(root: string, mayBeAt: MayBeAt, reach: Reach = OWN_REACH): Folder {
  const { fd, where } = reach === 'descriptor' ? openAsLed(root) : openAsNamed(root)
  try {
    const folder = asFolder({ fd, reach, name: root, where, parent: undefined })
    if ((reach === 'path' && realpathSync.native(root) !== where) || movedOf(folder)) throw moved(root)
    refuseAstray(root, where, mayBeAt)
    return folder
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

export function inRoot<T>(root: string, mayBeAt: MayBeAt, act: (top: Folder) => T): T {
  const top = openRoot(root, mayBeAt)
  try {
    return act(top)
  } finally {
    closeSync(top.fd)
  }
}

function refuseAstray(root: string, where: string, mayBeAt: MayBeAt): void {
  if (where !== root && !mayBeAt(where)) throw refused(`the folder ${shown(root)} leads elsewhere through a link`)
}

/** The kernel says where the opened folder is, so that the path is walked once. */
function openAsLed(root: string): { fd: number; where: string } {
  const fd = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    return { fd, where: readlinkSync(`/proc/self/fd/${fd}`) }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function openAsNamed(root: string): { fd: number; where: string } {
  const where = realpathSync.native(root)
  return { fd: openSync(where, OPEN_FOLDER), where }
}

function asFolder(folder: Omit<Folder, 'at' | 'held'>): Folder {
  const { dev, ino } = fstatSync(folder.fd, { bigint: true })
  const base = folder.reach === 'descriptor' ? `/proc/self/fd/${folder.fd}` : folder.where
  return { ...folder, held: { dev, ino }, at: (entry) => `${base}/${entry}` }
}

/** Nothing, when there is no such folder. A link is no folder. */
export function enter(parent: Folder, name: string): Folder | undefined {
  const where = parent.at(name)
  try {
    const fd = openSync(where, OPEN_FOLDER)
    return asFolder({ fd, reach: parent.reach, name, where, parent })
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENAMETOOLONG')) return undefined
    if (isCode(error, 'ENOTDIR', 'ELOOP')) throw refused(`${shown(name)} is not a folder; links are not followed`)
    throw error
  }
}

/** Goes down as far as there are folders; `act` gets the names of those that are missing. */
export function descend<T>(
  from: Folder,
  names: readonly string[],
  step: (parent: Folder, name: string) => Folder | undefined,
  act: (folder: Folder, missing: readonly string[]) => T,
): T {
  const [name, ...rest] = names
  if (name === undefined) return act(from, [])
  const next = step(from, name)
  if (!next) return act(from, names)
  try {
    return descend(next, rest, step, act)
  } finally {
    closeSync(next.fd)
  }
}

function movedOf(folder: Folder): Folder | undefined {
  for (let each: Folder | undefined = folder; each; each = each.parent) {
    const found = lstatSync(each.where, { bigint: true, throwIfNoEntry: false })
    if (found?.ino !== each.held.ino || found.dev !== each.held.dev) return each
  }
  return undefined
}

/** Refuses when any folder on the way is no longer the one that its name leads to. */
export function refuseMoved(folder: Folder): void {
  const other = movedOf(folder)
  if (other) throw moved(other.name)
}

export function makeFolder(dir: string, mayBeAt: MayBeAt): void {
  const missing: string[] = []
  let there = dir
  for (; !existsSync(there) && dirname(there) !== there; there = dirname(there)) missing.unshift(basename(there))
  const anywhere = () => true
  inRoot(there, anywhere, (top) => {
    refuseAstray(dir, join(top.where, ...missing), mayBeAt)
    withNewFolders(top, missing, () => {})
  })
}

export function withNewFolders<T>(from: Folder, missing: readonly string[], act: (folder: Folder) => T): T {
  const [name, ...rest] = missing
  if (name === undefined) return act(from)
  const made = make(from, name)
  try {
    return withNewFolders(made, rest, act)
  } catch (error) {
    removeIfEmpty(made)
    throw error
  } finally {
    closeSync(made.fd)
  }
}

function make(parent: Folder, name: string): Folder {
  refuseMoved(parent)
  try {
    mkdirSync(parent.at(name), 0o700)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
  }
  const made = enter(parent, name)
  if (!made) throw refused(`the folder ${shown(name)} was taken away while it was being made`)
  try {
    refuseMoved(made)
    fsyncSync(parent.fd)
    return made
  } catch (error) {
    closeSync(made.fd)
    throw error
  }
}

export function removeIfEmpty(folder: Folder): 'removed' | 'kept' {
  try {
    refuseMoved(folder)
    rmdirSync(folder.where)
    return 'removed'
  } catch {
    return 'kept'
  }
}

/** `hash`: SHA-256 of the bytes, in hex, made on demand. `mode`: permissions only. */
export type Content = { bytes: Buffer; readonly hash: string; mode: number; stamp: string }

export const CAP_BYTES = 1_048_576
export const NEW_MODE = 0o600

const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY
const OPEN_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

export function hashOf(content: Uint8Array | string): string {
  return hash('sha256', content)
}

export function stampOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
}

/** FAT has stamps of two seconds: a second write within them can leave the stamp as it was. */
const SETTLED_MS = 3_000

/** Whether a change after `nowMs` is sure to show in the stamp. No program can set a file's ctime. */
export function isSettled({ ctimeMs }: Pick<Stats, 'ctimeMs'>, nowMs: number): boolean {
  return nowMs - ctimeMs > SETTLED_MS
}

export function readPlain(folder: Folder, leaf: string, capBytes = CAP_BYTES): Content | undefined {
  const fd = openPlain(folder, leaf)
  if (fd === undefined) return undefined
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) throw notPlain(leaf)
    if (stats.nlink > 1) throw refused(`${shown(leaf)} has another name elsewhere (a hard link)`)
    if (folder.reach === 'path') {
      refuseElsewhere(folder, leaf, fd)
      // A file system that ignores case finds a twin, whose real path has the other spelling.
      if (realpathSync.native(folder.at(leaf)) !== folder.at(leaf)) return undefined
    }
    const bytes = readUpTo(fd, stats.size, capBytes)
    if (!bytes) throw refused(`${shown(leaf)} is larger than ${capBytes} bytes`)
    return {
      bytes,
      get hash() {
        return hashOf(bytes)
      },
      mode: stats.mode & 0o777,
      stamp: stampOf(stats),
    }
  } finally {
    closeSync(fd)
  }
}

export function writeNew(folder: Folder, name: string, bytes: Uint8Array, { mode }: { mode: number }): void {
  if (folder.reach === 'path') refuseMoved(folder)
  const fd = openSync(folder.at(name), OPEN_NEW, NEW_MODE)
  try {
    if (folder.reach === 'path') refuseElsewhere(folder, name, fd)
    if (mode !== NEW_MODE) fchmodSync(fd, mode)
    writeFileSync(fd, bytes)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function openPlain(folder: Folder, leaf: string): number | undefined {
  try {
    return openSync(folder.at(leaf), OPEN_FILE)
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENAMETOOLONG')) return undefined
    const found = lstatSync(folder.at(leaf), { throwIfNoEntry: false })
    if (found?.isSymbolicLink()) throw refused(`${shown(leaf)} is a link; links are not followed`)
    if (found?.isFile() === false) throw notPlain(leaf)
    throw error
  }
}

/** Reads on from where `fd` stands; nothing when it is too large. A file may grow meanwhile. */
export function readUpTo(fd: number, sizeBytes: number, capBytes = CAP_BYTES): Buffer | undefined {
  const chunks: Buffer[] = []
  for (let total = 0; Math.max(sizeBytes, total) <= capBytes; ) {
    const chunk = Buffer.allocUnsafe(total === 0 ? sizeBytes + 1 : 65_536)
    const got = readSync(fd, chunk)
    chunks.push(chunk.subarray(0, got))
    total += got
    // A plain file gives less than it was asked for only at its end.
    if (got < chunk.length && total <= capBytes) return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
  }
  return undefined
}

/** A folder may have been swapped for the moment in which the file was opened: then the file is another one. */
function refuseElsewhere(folder: Folder, name: string, fd: number): void {
  refuseMoved(folder)
  const held = fstatSync(fd, { bigint: true })
  const found = lstatSync(folder.at(name), { bigint: true, throwIfNoEntry: false })
  if (found?.ino !== held.ino || found.dev !== held.dev || held.nlink !== 1n)
    throw refused(`${shown(name)} was changed while it was in use`)
}

export function isCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | undefined)?.code ?? '')
}

export function refused(words: string): MemoryError {
  return new MemoryError('REFUSED', words, { reason: 'path' })
}

function notPlain(leaf: string): MemoryError {
  return refused(`${shown(leaf)} is not a plain file`)
}

function moved(name: string): MemoryError {
  return refused(`the folder ${shown(name)} was replaced while it was in use`)
}
