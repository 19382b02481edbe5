/**
 * Which markdown files are in a memory directory, by their names and stamps. Opens none of them.
 * Also where the directory itself has gone to.
 */
import { lstatSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { inRoot, isCode } from './descend.ts'
import { DEPTH_FOLDERS, type Visitor, visitMemories } from './memory-tree.ts'
import { isSettled, stampOf } from './stamp.ts'

/** `settled`: a change after this look is sure to show in the stamp. */
export type Stamp = { value: string; settled: boolean }

/** Of a directory with more, the others are compared when they are named or known already. */
export const MOST_FILES = 5_000
const MOST_FOLDERS = 1_000

export function markdownFiles(dir: string, nowMs: number): Map<string, Stamp> {
  const found = new Map<string, Stamp>()
  let folders = 0
  const visitor: Visitor = {
    enters: (_folder, depth) => depth <= DEPTH_FOLDERS && folders++ < MOST_FOLDERS,
    file: (file, stat) => {
      const stats = found.size < MOST_FILES ? stat() : undefined
      if (stats) found.set(file, { value: stampOf(stats), settled: isSettled(stats, nowMs) })
    },
    otherThing: () => {},
    // One that is closed to us, or became a link just now, is passed by.
    closedFolder: (_folder, cause) => {
      if (!isCode(cause, 'EACCES', 'REFUSED')) throw cause
    },
  }
  inRoot(dir, (top) => visitMemories(top, visitor))
  return found
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
