/** Folders whose transcripts somebody had read. Kept where nothing can be derived from anything else. */
import type { Db } from '../db/database.ts'

export type ImportedFolder = { dir: string; harness: string | undefined }

export type Imports = {
  /** What was said last about a folder counts. */
  add(folder: ImportedFolder, at: number): void
  /** It is not looked through any more; what was read of it stays. */
  remove(dir: string): void
  list(): ImportedFolder[]
}

export function createImports(db: Db): Imports {
  const add = db.prepare(
    `INSERT INTO imports (dir, harness, at) VALUES (@dir, @harness, @at)
     ON CONFLICT (dir) DO UPDATE SET harness = @harness, at = @at`,
  )
  const remove = db.prepare('DELETE FROM imports WHERE dir = ?')
  const list = db.prepare('SELECT dir, harness FROM imports ORDER BY dir')
  return {
    add: ({ dir, harness }, at) => void add.run({ dir, harness: harness ?? null, at }),
    remove: (dir) => void remove.run(dir),
    list: () =>
      (list.all() as { dir: string; harness: string | null }[]).map((row) => ({
        dir: row.dir,
        harness: row.harness ?? undefined,
      })),
  }
}
