/** What a directory holds already, for whoever is about to add to it: which memory says the same, and which names are free. */
import { MemoryError } from '../../schema/errors.ts'
import type { MemoryType } from '../../schema/memory.ts'
import type { Confined } from './confined.ts'
import { numbered } from './file-name.ts'
import { inFolder, type Present, readPresent } from './folder.ts'
import { scanMemories } from './scan.ts'
import { parseTopic } from './topic-file.ts'
import { normaliseValue } from './values.ts'

export type Existing = { file: string; type?: MemoryType | undefined }

/** Every memory by what its body says. */
export function memoriesByValue(dir: string): Map<string, Existing> {
  const { items } = scanMemories(dir)
  const known = new Map<string, Existing>()
  inFolder(dir, (folder) => {
    for (const { file, type, hash } of items) {
      // Without a hash it is too large to be read.
      const present = hash === undefined ? undefined : readIfPlain(folder, file)
      const value = present && normaliseValue(parseTopic(present.text).body)
      if (value !== undefined && !known.has(value)) known.set(value, { file, type })
    }
  })
  return known
}

export function freeFile(dir: string, file: string, waiting: ReadonlySet<string>): string {
  const taken = (name: string) =>
    waiting.has(name) || inFolder(dir, (folder) => readPresent(folder, name)) !== undefined
  for (let n = 1; n < 1_000; n++) {
    const name = numbered(file, n)
    if (!taken(name)) return name
  }
  throw new MemoryError('CONFLICT', `there are too many memories called like ${file}`, {
    hint: 'write it under a name',
  })
}

/** One memory that is a link or not readable keeps nobody from remembering another. */
function readIfPlain(folder: Confined, file: string): Present | undefined {
  try {
    return readPresent(folder, file)
  } catch {
    return undefined
  }
}
