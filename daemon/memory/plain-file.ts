/** One plain file in an open folder: what is in it, and a new one with content that is on the disk. Follows no link. */
import { hash } from 'node:crypto'
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import type { MemoryError } from '../../schema/errors.ts'
import { type Folder, isCode, refused, refuseMoved } from './descend.ts'
import { shown } from './file-names.ts'
import { stampOf } from './stamp.ts'

/** `hash`: SHA-256 of the bytes, in hex, made when it is asked for. `mode`: permissions only. `stamp`: of the file that was read. */
export type Content = { bytes: Buffer; readonly hash: string; mode: number; stamp: string }

export const CAP_BYTES = 1_048_576
/** Of what was not there before. */
export const NEW_MODE = 0o600

const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY
const OPEN_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

export function hashOf(content: Uint8Array | string): string {
  return hash('sha256', content)
}

/** Whether a kept version gives its bytes back: nothing was taken out of it, and it was not purged. */
export function isExact(version: { hash: string; text: string | undefined } | undefined): boolean {
  return !version || (version.text !== undefined && hashOf(version.text) === version.hash)
}

/** Opens first and looks at what was opened: a name can change what it stands for in between. */
export function readPlain(folder: Folder, leaf: string): Content | undefined {
  const fd = open(folder, leaf)
  if (fd === undefined) return undefined
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) throw notPlain(leaf)
    if (stats.nlink > 1) throw refused(`${shown(leaf)} has another name elsewhere (a hard link)`)
    if (folder.reach === 'path') {
      refuseElsewhere(folder, leaf, fd)
      if (!isSpelledSo(folder, leaf)) return undefined
    }
    const bytes = readUpTo(fd, stats.size)
    if (!bytes) throw refused(`${shown(leaf)} is larger than ${CAP_BYTES} bytes`)
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

/** By path, no byte is written before it is certain that the new file is where it should be. */
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

function open(folder: Folder, leaf: string): number | undefined {
  try {
    return openSync(folder.at(leaf), OPEN_FILE)
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENAMETOOLONG')) return undefined
    const found = lstatSync(folder.at(leaf))
    if (found.isSymbolicLink()) throw refused(`${shown(leaf)} is a link; links are not followed`)
    if (!found.isFile()) throw notPlain(leaf)
    throw error
  }
}

function notPlain(leaf: string): MemoryError {
  return refused(`${shown(leaf)} is not a plain file`)
}

/** From where the file stands; nothing, when it is too large. A file may grow while it is being read. */
export function readUpTo(fd: number, sizeBytes: number): Buffer | undefined {
  const chunks: Buffer[] = []
  for (let total = 0; Math.max(sizeBytes, total) <= CAP_BYTES; ) {
    const chunk = Buffer.allocUnsafe(total === 0 ? sizeBytes + 1 : 65_536)
    const got = readSync(fd, chunk)
    chunks.push(chunk.subarray(0, got))
    total += got
    // A plain file gives less than it was asked for only at its end.
    if (got < chunk.length && total <= CAP_BYTES) return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
  }
  return undefined
}

/** By path, a folder may have been swapped when the file was opened and be back already: the file then is another one. */
function refuseElsewhere(folder: Folder, name: string, fd: number): void {
  refuseMoved(folder)
  const held = fstatSync(fd, { bigint: true })
  const found = lstatSync(folder.at(name), { bigint: true, throwIfNoEntry: false })
  if (found?.ino !== held.ino || found.dev !== held.dev || held.nlink !== 1n)
    throw refused(`${shown(name)} was changed while it was in use`)
}

/** By path, a system that ignores case finds a twin. It then spells the name in its own way. */
function isSpelledSo(folder: Folder, leaf: string): boolean {
  return realpathSync.native(folder.at(leaf)) === folder.at(leaf)
}
