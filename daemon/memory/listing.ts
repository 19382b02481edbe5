/** Which memories and indexes a directory holds, as they are now, however many. */
import { existsSync } from 'node:fs'
import type { Ground } from './bringing.ts'
import { inRoot, isCode } from './descend.ts'
import { READ_CAP_SEGMENTS } from './file-name.ts'
import { inFolder, readPresent } from './folder.ts'
import { type Visitor, visitMemories } from './memory-tree.ts'

export type Listing = {
  /** With slashes, sorted. */
  files: string[]
  folders: string[]
  /** Folders that cannot be looked into or lie too deep, and what is called like a memory and is no plain file. */
  closed: string[]
}

export function listMemories(dir: string): Listing {
  const files: string[] = []
  const folders: string[] = []
  const closed: string[] = []
  const visitor: Visitor = {
    enters: (folder, depth) => {
      folders.push(folder)
      if (depth < READ_CAP_SEGMENTS) return true
      closed.push(folder)
      return false
    },
    file: (file) => void files.push(file),
    otherThing: (file) => void closed.push(file),
    closedFolder: (folder) => void closed.push(folder),
  }
  if (existsSync(dir)) visit(dir, visitor)
  return { files: files.sort(), folders: folders.sort(), closed: closed.sort() }
}

/** One that has gone just now holds nothing. */
function visit(dir: string, visitor: Visitor): void {
  try {
    inRoot(dir, (top) => visitMemories(top, visitor))
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error
  }
}

/** The directory as it is for what comes from elsewhere. */
export function groundOf(dir: string): Ground {
  const { files, folders, closed } = listMemories(dir)
  const readable = new Set(files)
  return {
    names: [...files, ...folders, ...closed],
    hashAt: (file) => (readable.has(file) ? hashIn(dir, file) : undefined),
  }
}

/** Nothing for what cannot be read safely: then it is the same as nothing else. */
function hashIn(dir: string, file: string): string | undefined {
  try {
    return inFolder(dir, (folder) => readPresent(folder, file))?.hash
  } catch {
    return undefined
  }
}
