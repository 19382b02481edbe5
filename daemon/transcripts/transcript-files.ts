/** What the main thread asks about files that the other thread reads. Only reads. */
import { type Db, preparedIn } from '../db/database.ts'

export type TranscriptFiles = {
  /** How far a file was read, if it was, is not known to be gone and has not to be read again. */
  cursor(path: string): string | undefined
  /** Files that are not known to be gone, a page at a time. */
  present(page: { after: number; limit: number }): { id: number; harness: string; root: string; path: string }[]
  /** Lines that could not be used, by why. */
  skipped(): Record<string, number>
}

export function createTranscriptFiles(current: () => Db): TranscriptFiles {
  const statements = preparedIn(current, prepare)
  return {
    cursor: (path) => statements().cursor.get(path) as string | undefined,
    present: (page) => statements().present.all(page) as ReturnType<TranscriptFiles['present']>,
    skipped: () => Object.fromEntries(statements().skipped.all() as [string, number][]),
  }
}

function prepare(db: Db) {
  return {
    cursor: db.prepare('SELECT cursor FROM files WHERE path = ? AND gone = 0 AND again = 0').pluck(),
    present: db.prepare(
      'SELECT id, harness, root, path FROM files WHERE id > @after AND gone = 0 ORDER BY id LIMIT @limit',
    ),
    skipped: db.prepare('SELECT reason, sum(count) FROM skipped_lines GROUP BY reason ORDER BY reason').raw(),
  }
}
