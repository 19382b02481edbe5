/**
 * Reads one file or lists one folder at a place that was found to be inside, and makes sure that what was opened is still
 * that place: a folder on the way may have become a link since. Follows nothing, waits for nothing.
 */
import { hash } from 'node:crypto'
import { constants, realpathSync } from 'node:fs'
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises'
import { type Denied, type Failed, quoted } from './denied.ts'
import type { Place } from './places.ts'

export type Entry = { name: string; kind: 'file' | 'folder' | 'other' }
export type Content = { bytes: Buffer; hash: string }

const OPEN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

export async function readConfined(place: Place, capBytes: number): Promise<Content | Denied | Failed> {
  const opened = await openPlain(place)
  if (!('handle' in opened)) return opened
  const { handle } = opened
  try {
    const stats = await handle.stat({ bigint: true })
    if (!stats.isFile()) return { denied: `${quoted(place.asked)} is not a plain file` }
    if (stats.nlink > 1n) return { denied: `${quoted(place.asked)} has another name elsewhere (a hard link)` }
    const found = await lstat(place.path, { bigint: true }).catch(() => undefined)
    if (found?.ino !== stats.ino || found.dev !== stats.dev || !isWhereItWas(place)) return moved(place)
    if (stats.size > BigInt(capBytes))
      return { failed: `${quoted(place.asked)} is larger than ${capBytes} bytes; look for words in it with Grep` }
    const bytes = Buffer.alloc(Number(stats.size))
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0)
    const whole = bytes.subarray(0, bytesRead)
    return { bytes: whole, hash: hash('sha256', whole) }
  } finally {
    await handle.close()
  }
}

export async function listConfined(place: Place): Promise<Entry[] | Denied | Failed> {
  try {
    const found = await readdir(place.path, { withFileTypes: true })
    if (!isWhereItWas(place)) return moved(place)
    return found.map((entry) => ({
      name: entry.name,
      kind: entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : 'other',
    }))
  } catch (error) {
    return trouble(place, error)
  }
}

export type Facts = { kind: Entry['kind']; bytes: number; modifiedMs: number }

/** Of the place itself: a link is told as one. */
export async function factsOf(place: Place): Promise<Facts | Denied | Failed> {
  try {
    const stats = await lstat(place.path)
    if (!isWhereItWas(place)) return moved(place)
    const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other'
    return { kind, bytes: stats.size, modifiedMs: Math.trunc(stats.mtimeMs) }
  } catch (error) {
    return trouble(place, error)
  }
}

async function openPlain(place: Place): Promise<{ handle: FileHandle } | Denied | Failed> {
  try {
    return { handle: await open(place.path, OPEN) }
  } catch (error) {
    return trouble(place, error)
  }
}

function isWhereItWas({ path }: Place): boolean {
  try {
    return realpathSync.native(path) === path
  } catch {
    return false
  }
}

function moved({ asked }: Place): Denied {
  return { denied: `${quoted(asked)} was replaced while it was being read` }
}

function trouble({ asked }: Place, error: unknown): Denied | Failed {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return { failed: `there is no ${quoted(asked)}` }
  if (code === 'ELOOP' || code === 'ENXIO') return { denied: `${quoted(asked)} is a link or not a plain file` }
  if (code === 'EACCES' || code === 'EPERM') return { denied: `${quoted(asked)} is closed to us` }
  if (code === 'ENAMETOOLONG') return { denied: `${quoted(asked)} is too long for a path` }
  return { failed: `${quoted(asked)} could not be read (${code ?? 'for an unknown reason'})` }
}
