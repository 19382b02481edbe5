/**
 * Where a fork may look. Turns what a model calls a path into the one place it leads to, after every link was followed,
 * and denies what is not inside. Reads no content.
 */
import { realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { type Denied, quoted } from './denied.ts'

export type Reach = {
  /** Relative paths begin here. */
  memoryDir: string
  /** Folders besides it that may be read: the project, transcripts. */
  readable: readonly string[]
  /** Single files that may be read, and nothing beside them. */
  files?: readonly string[]
  /** Never, though they may be inside: what the daemon keeps for itself. */
  closed: readonly string[]
}

/** `path` holds no link. `root`: what it is inside of. `inMemory`: from the memory directory on, where it is inside. */
export type Place = { path: string; root: string; inMemory: string | undefined; asked: string }

export type Places = {
  memoryDir: string
  locate(asked: string): Place | Denied
  /** A place below one, with no link on the way: for names that were found there. */
  below(place: Place, within: string): Place | Denied
  /** For a change: a way through a link is denied even where it ends inside. */
  locateChange(asked: string): Place | Denied
}

/** Folders and files that hold keys wherever they stand; a project may be somebody's whole home. */
const KEYS = new Set(['.ssh', '.gnupg', '.aws', '.netrc', '.npmrc', '.pypirc', '.docker', '.kube', '.git-credentials'])

export function createPlaces({ memoryDir, readable, files = [], closed }: Reach): Places {
  const memory = followed(memoryDir)
  const roots = [memory, ...readable.map(followed)]
  const shut = closed.map(followed)
  const single = new Set(files.map(followed))

  const placed = (path: string, asked: string): Place | Denied => {
    const root = roots.find((each) => isInside(path, each)) ?? (single.has(path) ? dirname(path) : undefined)
    if (root === undefined)
      return { denied: `${quoted(asked)} is outside the memory directory, the transcripts and the project` }
    // The memory directory may itself be inside a closed folder.
    if (root !== memory && shut.some((each) => isInside(path, each)))
      return { denied: `${quoted(asked)} is what the daemon keeps for itself` }
    if (
      relative(root, path)
        .split(sep)
        .some((name) => KEYS.has(name.toLowerCase()))
    )
      return { denied: `${quoted(asked)} is a place for keys and is not read` }
    return { path, root, inMemory: isInside(path, memory) ? relative(memory, path) : undefined, asked }
  }

  const locate = (asked: string): Place | Denied => {
    const trouble = troubleWith(asked)
    return trouble ? { denied: `${quoted(asked)} ${trouble}` } : placed(followed(resolve(memory, asked)), asked)
  }

  /** Somebody's home is elsewhere, unless it is the memory directory that is named by way of it. */
  const isElsewhere = (asked: string): boolean => {
    if (asked.startsWith('~')) return !endsWithStartOf(memory, asked.slice(1))
    return asked.includes('://') || !isInside(resolve(memory, asked), memory)
  }

  return {
    memoryDir: memory,
    locate,
    below: (place, within) => {
      const path = join(place.path, within)
      return placed(path, path)
    },
    locateChange: (asked) => {
      const place = locate(asked)
      // A name that leads nowhere is a slip; one that leads elsewhere is none, however it is spelled.
      if ('denied' in place) return troubleWith(asked) && !isElsewhere(asked) ? place : { ...place, astray: true }
      if (place.inMemory === undefined || place.inMemory === '') {
        const denied = `${quoted(asked)} is not a file in the memory directory, and nothing else may be changed`
        return { denied, ...(place.inMemory === undefined && { astray: true }) }
      }
      const plain = isAbsolute(asked) ? [memory, memoryDir] : [memory]
      if (!plain.some((dir) => relative(dir, resolve(memory, asked)) === place.inMemory))
        return { denied: `${quoted(asked)} leads through a link; name the file itself` }
      return place
    },
  }
}

export function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)
}

/** Without links, as far as it exists; what is missing stays as it was said. */
export function followed(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A loop of links, or a folder that is closed to us: nothing behind it is ever found inside.
    if (code !== 'ENOENT' && code !== 'ENOTDIR') return join(sep, 'unreachable', basename(path))
    const parent = dirname(path)
    return parent === path ? path : join(followed(parent), basename(path))
  }
}

/** Whether a path begins with folders that another one ends with. */
function endsWithStartOf(ending: string, path: string): boolean {
  for (let folder = dirname(path); folder !== sep && folder !== '.'; folder = dirname(folder))
    if (folder.startsWith(sep) && ending.endsWith(folder)) return true
  return false
}

function troubleWith(asked: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\x00-\x1f\x7f]/.test(asked)) return 'holds a control character'
  if (Buffer.byteLength(asked) > 4096) return 'is too long for a path'
  if (asked.startsWith('~')) return 'begins with ~, which means nothing here; name the whole path'
  if (asked.includes('://')) return 'is an address, not a path'
  return undefined
}
