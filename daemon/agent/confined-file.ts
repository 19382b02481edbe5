/**
 * Reads one file or lists one folder at a place that was found to be inside. The way there is gone again from the root on,
 * each folder held open and entered from the one before: whatever has become a link since is not followed, and a swap
 * while this runs shows nothing from elsewhere. Waits for nothing.
 */
import { hash } from 'node:crypto'
import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, read } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { enter, type Folder, isCode, openRoot, type Reach, refuseMoved } from '../platform/safe-folder.ts'
import type { Place } from './permissions.ts'
import { type Denied, type Failed, quoted } from './tool-output.ts'

export type Entry = { name: string; kind: 'file' | 'folder' | 'other' }
export type Content = { bytes: Buffer; hash: string }
export type Facts = { kind: Entry['kind']; bytes: number; modifiedMs: number }

const OPEN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY
const readBytes = promisify(read)

/** What a place holds by the way of open folders; `reach` is for who tests the other way. */
export function createConfined({ reach }: { reach?: Reach } = {}) {
  /** Goes to the folder, acts in it, and closes all that was opened. */
  const inFolder = async <T extends object>(
    place: Place,
    names: readonly string[],
    act: (folder: Folder) => T | Promise<T>,
  ): Promise<T | Denied | Failed> => {
    const open: Folder[] = []
    let entering: (() => boolean) | undefined
    try {
      let folder = openRoot(place.root, () => false, reach)
      open.push(folder)
      for (const name of names) {
        const parent = folder
        entering = () => isLink(parent, name)
        const next = enter(parent, name)
        if (!next) return missing(place)
        open.push(next)
        folder = next
      }
      entering = undefined
      if (folder.reach === 'path') refuseMoved(folder)
      const found = await act(folder)
      if (folder.reach === 'path') refuseMoved(folder)
      return found
    } catch (error) {
      if (!isCode(error, 'REFUSED')) return trouble(place, error)
      // A file in the place of a folder is no attempt to lead elsewhere.
      return entering?.() === false ? missing(place) : moved(place)
    } finally {
      for (const { fd } of open) closeSync(fd)
    }
  }

  const readFile = async (place: Place, capBytes: number): Promise<Content | Denied | Failed> => {
    const [names, last] = wayTo(place)
    if (last === undefined) return { denied: `${quoted(place.asked)} is not a plain file` }
    return inFolder(place, names, async (folder) => {
      const fd = openSync(folder.at(last), OPEN)
      try {
        // Of what was opened, not of what its name leads to by now.
        const stats = fstatSync(fd, { bigint: true })
        if (!stats.isFile()) return { denied: `${quoted(place.asked)} is not a plain file` }
        if (stats.nlink > 1n) return { denied: `${quoted(place.asked)} has another name elsewhere (a hard link)` }
        if (stats.size > BigInt(capBytes))
          return { failed: `${quoted(place.asked)} is larger than ${capBytes} bytes; look for words in it with Grep` }
        const bytes = await allOf(fd, Number(stats.size))
        if (folder.reach === 'path' && !isSame(stats, folder.at(last))) return moved(place)
        return { bytes, hash: hash('sha256', bytes) }
      } finally {
        closeSync(fd)
      }
    })
  }

  /** At most `most` entries, in no order. */
  const list = (place: Place, most: number): Promise<Entry[] | Denied | Failed> => {
    const [names, last] = wayTo(place)
    return inFolder(place, last === undefined ? names : [...names, last], async (folder) => {
      const entries: Entry[] = []
      for await (const entry of await opendir(folder.at('.'), { bufferSize: 512 })) {
        if (entries.length >= most) break
        entries.push({ name: entry.name, kind: kindOf(entry) })
      }
      return entries
    })
  }

  /** Of the place itself: a link is told as one. */
  const facts = async (place: Place): Promise<Facts | Denied | Failed> => {
    const [names, last] = wayTo(place)
    return inFolder(place, names, (folder) => {
      const stats = last === undefined ? fstatSync(folder.fd) : lstatSync(folder.at(last))
      return { kind: kindOf(stats), bytes: stats.size, modifiedMs: Math.trunc(stats.mtimeMs) }
    })
  }

  return { readFile, list, facts }
}

/** The folders from the root on, and the name in the last of them; none for the root itself. */
function wayTo({ root, path }: Place): [string[], string | undefined] {
  const names = path === root ? [] : relative(root, path).split(sep)
  return [names.slice(0, -1), names.at(-1)]
}

async function allOf(fd: number, size: number): Promise<Buffer> {
  const bytes = Buffer.alloc(size)
  let done = 0
  while (done < size) {
    const { bytesRead } = await readBytes(fd, bytes, done, size - done, done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return bytes.subarray(0, done)
}

function kindOf(of: { isFile(): boolean; isDirectory(): boolean }): Entry['kind'] {
  return of.isFile() ? 'file' : of.isDirectory() ? 'folder' : 'other'
}

function isSame({ ino, dev }: BigIntStats, path: string): boolean {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return found?.ino === ino && found.dev === dev
}

function isLink(folder: Folder, name: string): boolean {
  return lstatSync(folder.at(name), { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

function moved({ asked }: Place): Denied {
  return { denied: `${quoted(asked)} was replaced while it was being read` }
}

function missing({ asked }: Place): Failed {
  return { failed: `there is no ${quoted(asked)}` }
}

function trouble(place: Place, error: unknown): Denied | Failed {
  const asked = quoted(place.asked)
  if (isCode(error, 'ENOENT', 'ENOTDIR')) return missing(place)
  if (isCode(error, 'ELOOP', 'ENXIO')) return { denied: `${asked} is a link or not a plain file` }
  if (isCode(error, 'EACCES', 'EPERM')) return { denied: `${asked} is closed to us` }
  if (isCode(error, 'ENAMETOOLONG')) return { denied: `${asked} is too long for a path` }
  return { failed: `${asked} could not be read (${(error as NodeJS.ErrnoException).code ?? 'for an unknown reason'})` }
}
