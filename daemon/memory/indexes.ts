/** Both indexes of a memory directory, loaded: its own, and the team's where there is one. */
import { existsSync } from 'node:fs'
import { INDEX_FILE, inFolder } from './folder.ts'
import { type LoadedIndex, loadIndex } from './index-file.ts'

export type Indexes = { own: LoadedIndex; team: LoadedIndex | undefined }

export function readIndexes(dir: string, { team }: { team: boolean }): Indexes {
  if (!existsSync(dir)) return { own: loadIndex(''), team: undefined }
  return inFolder(dir, (folder) => {
    const load = (file: string) => {
      const content = folder.read(file)
      return content && loadIndex(content.bytes)
    }
    return { own: load(INDEX_FILE) ?? loadIndex(''), team: team ? load(`team/${INDEX_FILE}`) : undefined }
  })
}
