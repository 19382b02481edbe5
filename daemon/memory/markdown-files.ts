/**
 * Which markdown files are in a memory directory, by their names and stamps. Follows no link, opens no file.
 * Also where the directory itself has gone to.
 */
import { closeSync, lstatSync, readdirSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { bestReach, descend, enter, type Folder, isCode, openRoot } from './descend.ts'

/** `settled`: a change after this look is sure to show in the stamp. */
export type Stamp = { value: string; settled: boolean }

/** Of a directory with more, the others are compared when they are named or known already. */
export const MOST_FILES = 5_000
const MOST_FOLDERS = 1_000
export const DEPTH_FOLDERS = 8
/** The coarsest stamp of a file system in use counts two seconds: a second write within it can leave it as it was. */
const SETTLED_MS = 3_000

export function markdownFiles(dir: string, nowMs: number): Map<string, Stamp> {
  const found = new Map<string, Stamp>()
  const top = openRoot(dir, bestReach(process.platform))
  let folders = 0
  try {
    walk(top, [], {
      mayEnter: (path) => isMemoryFolder(path.join('/')) && path.length <= DEPTH_FOLDERS && folders++ < MOST_FOLDERS,
      found: (file, stat) => {
        const stats = found.size < MOST_FILES ? stat() : undefined
        if (stats) found.set(file, stampOf(stats, nowMs))
      },
    })
  } finally {
    closeSync(top.fd)
  }
  return found
}

/** Which names are those of memories or their indexes. */
export function isMemoryName(file: string): boolean {
  return file.endsWith('.md') && isMemoryFolder(file)
}

export function isMemoryFolder(folder: string): boolean {
  return folder !== 'logs' && !folder.startsWith('logs/') && !/(?:^|\/)\./.test(folder)
}

/**
 * A directory that is certainly not there any more has lost its files. One behind a link that leads nowhere, or out of
 * reach, may come back as it was: on a disk that is not mounted, say.
 */
export function whereabouts(dir: string): 'here' | 'gone' | 'unknown' {
  for (let at = dir; ; at = dirname(at)) {
    try {
      return statSync(at).isDirectory() && at === dir ? 'here' : 'gone'
    } catch (error) {
      if (!isCode(error, 'ENOENT', 'ENOTDIR') || isLink(at)) return 'unknown'
    }
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}

type Visitor = {
  mayEnter: (path: readonly string[]) => boolean
  found: (file: string, stat: () => Stats | undefined) => void
}

function walk(folder: Folder, path: readonly string[], visitor: Visitor): void {
  for (const entry of readdirSync(folder.at(''), { withFileTypes: true })) {
    const here = [...path, entry.name]
    const file = here.join('/')
    if (entry.isDirectory() && visitor.mayEnter(here)) walkBelow(folder, here, visitor)
    else if (entry.isFile() && isMemoryName(file))
      visitor.found(file, () => lstatSync(folder.at(entry.name), { throwIfNoEntry: false }))
  }
}

/** A folder that is closed to us, or became a link just now, is passed by. */
function walkBelow(folder: Folder, path: readonly string[], visitor: Visitor): void {
  descend(folder, path.slice(-1), enterIfOpen, (below, missing) => {
    if (missing.length === 0) walk(below, path, visitor)
  })
}

function enterIfOpen(parent: Folder, name: string): Folder | undefined {
  try {
    return enter(parent, name)
  } catch (error) {
    if (isCode(error, 'EACCES', 'REFUSED')) return undefined
    throw error
  }
}

/** Nobody can set a file's time of change, so only that one tells how long ago it was; the others tell files apart. */
function stampOf({ ino, size, mtimeMs, ctimeMs }: Stats, nowMs: number): Stamp {
  return { value: `${ino} ${size} ${mtimeMs} ${ctimeMs}`, settled: nowMs - ctimeMs > SETTLED_MS }
}
