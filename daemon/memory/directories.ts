/** Memory directories that were seen, so that edits made while the daemon was away are noticed. */
import type { Db } from '../db/database.ts'

export type Directory = { dir: string; root: string }

export type Directories = {
  remember(directory: Directory): 'new' | 'known'
  list(): Directory[]
  /** All directories of the project that this one belongs to, this one included. */
  ofSameProject(dir: string): string[]
  /** Whoever comes this way again is news. */
  forget(directory: Directory): void
}

export function createDirectories(db: Db): Directories {
  const insert = db.prepare('INSERT OR IGNORE INTO directories (dir, root) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM directories WHERE dir = ? AND root = ?')
  const list = db.prepare('SELECT dir, root FROM directories ORDER BY dir, root')
  const siblings = db
    .prepare('SELECT other.dir FROM directories own JOIN directories other USING (root) WHERE own.dir = ?')
    .pluck()
  const known = new Set((list.all() as Directory[]).map(({ dir, root }) => `${dir}\n${root}`))
  return {
    remember: ({ dir, root }) => {
      // Asked for with every request; written only when it is news.
      if (known.has(`${dir}\n${root}`)) return 'known'
      insert.run(dir, root)
      known.add(`${dir}\n${root}`)
      return 'new'
    },
    ofSameProject: (dir) => [...new Set([dir, ...(siblings.all(dir) as string[])])],
    list: () => list.all() as Directory[],
    forget: ({ dir, root }) => {
      known.delete(`${dir}\n${root}`)
      remove.run(dir, root)
    },
  }
}
