/** Where capture and recall are switched off by a person. Survives restarts. */
import type { Db } from '../db/database.ts'

export type Pauses = {
  add(project: string, at: number): void
  remove(project: string): void
  removeAll(): void
  list(): string[]
}

export function createPauses(db: Db): Pauses {
  const add = db.prepare('INSERT OR IGNORE INTO pauses (project, at) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM pauses WHERE project = ?')
  const removeAll = db.prepare('DELETE FROM pauses')
  const list = db.prepare('SELECT project FROM pauses ORDER BY project').pluck()
  return {
    add: (project, at) => void add.run(project, at),
    remove: (project) => void remove.run(project),
    removeAll: () => void removeAll.run(),
    list: () => list.all() as string[],
  }
}
