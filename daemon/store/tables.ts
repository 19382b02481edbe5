/** The tables of both databases, as the steps that made them. A step that has landed is never edited: append another. */
import type { Migration } from './migrations.ts'

/** What cannot be derived again. */
export const historyMigrations: readonly Migration[] = [
  (db) =>
    db.exec(`
      CREATE TABLE pauses (
        project TEXT PRIMARY KEY,
        at INTEGER NOT NULL
      ) STRICT;
    `),
]

/** What can be derived again; may be deleted at any time. Its tables arrive with the transcripts. */
export const indexMigrations: readonly Migration[] = []
