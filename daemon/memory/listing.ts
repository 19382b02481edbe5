/** Which memories and indexes a directory holds, as they are now. Follows no link; hidden files and logs are none. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Ground } from './bringing.ts'
import { inFolder, readPresent } from './folder.ts'

export type Listing = {
  /** With slashes, sorted. */
  files: string[]
  folders: string[]
  /** Folders that cannot be looked into, and what is called like a memory and is no plain file. */
  closed: string[]
}

export function listMemories(dir: string): Listing {
  const found: Listing = { files: [], folders: [], closed: [] }
  if (existsSync(dir)) walk(dir, '', found)
  return { files: found.files.sort(), folders: found.folders.sort(), closed: found.closed.sort() }
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

function walk(dir: string, under: string, found: Listing): void {
  for (const entry of readdirSync(join(dir, under), { withFileTypes: true })) {
    const file = `${under}${entry.name}`
    if (entry.name.startsWith('.') || file === 'logs') continue
    if (entry.isDirectory()) {
      found.folders.push(file)
      try {
        walk(dir, `${file}/`, found)
      } catch {
        found.closed.push(file)
      }
    } else if (entry.name.endsWith('.md')) (entry.isFile() ? found.files : found.closed).push(file)
  }
}
