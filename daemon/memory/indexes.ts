/** The indexes of a memory directory as they stand on disk: its own, and the team's. Makes the directory if need be. */
import type { Confined } from './confined.ts'
import { INDEX_FILE } from './file-name.ts'
import { inFolder } from './folder.ts'

export type Indexes = {
  own: string
  /** Absent when team memory is off, empty when the team has no index yet. */
  team?: string
}

export function readIndexes(dir: string, { withTeam }: { withTeam: boolean }): Indexes {
  return inFolder(dir, (folder) => ({
    own: read(folder, INDEX_FILE),
    ...(withTeam && { team: read(folder, `team/${INDEX_FILE}`) }),
  }))
}

function read(folder: Confined, file: string): string {
  return folder.read(file)?.bytes.toString() ?? ''
}
