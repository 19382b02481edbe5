/**
 * How far the notes of each session go, in `history.db`. A row says of one content of the file what it covers, and is
 * there before that content is: whatever a kill leaves, the file itself tells which of at most two rows is true.
 */
import type { Db } from '../db/database.ts'

export type NotesKey = { harness: string; session: string }

export type NotesClaim = {
  /** SHA-256 of the file, in hex. */
  hash: string
  /** The last message that is covered, and when it was said. */
  message: string
  saidAt: number
  /** What was in the context of the session then. */
  tokens: number
  source: 'model' | 'rules'
  at: number
}

export type NotesTable = {
  /** Oldest first. */
  claims(key: NotesKey): NotesClaim[]
  /** Before the content is written. */
  claim(key: NotesKey, folder: string, claim: NotesClaim): void
  /** The content is on disk: no other is true any more. */
  settle(key: NotesKey, hash: string): void
  /** Where the notes of a session are, if it has any. */
  folderOf(key: NotesKey): string | undefined
  /** Whether another session has its notes there, also where upper and lower case are one. */
  isTaken(folder: string, key: NotesKey): boolean
  /** Forgets what was written down before then: the file of it is gone by its age as well. */
  expire(beforeMs: number): number
  /** Every session that has notes. */
  all(): (NotesKey & { folder: string })[]
}

export function createNotesTable(db: Db): NotesTable {
  const claims = db.prepare(
    `SELECT hash, message, said_at AS saidAt, tokens, source, at FROM session_notes
     WHERE session = @session AND harness = @harness ORDER BY id`,
  )
  const remove = db.prepare(
    'DELETE FROM session_notes WHERE session = @session AND harness = @harness AND hash = @hash',
  )
  const insert = db.prepare(
    `INSERT INTO session_notes (harness, session, folder, hash, message, said_at, tokens, source, at)
     VALUES (@harness, @session, @folder, @hash, @message, @saidAt, @tokens, @source, @at)`,
  )
  const settle = db.prepare(
    'DELETE FROM session_notes WHERE session = @session AND harness = @harness AND hash <> @hash',
  )
  const folder = db
    .prepare('SELECT folder FROM session_notes WHERE session = @session AND harness = @harness ORDER BY id LIMIT 1')
    .pluck()
  const taken = db
    .prepare(
      `SELECT 1 FROM session_notes WHERE folder = @folder COLLATE NOCASE
         AND NOT (session = @session AND harness = @harness) LIMIT 1`,
    )
    .pluck()
  const expire = db.prepare('DELETE FROM session_notes WHERE at < ?')
  const all = db.prepare('SELECT DISTINCT harness, session, folder FROM session_notes')
  return {
    claims: (key) => claims.all(key) as NotesClaim[],
    claim: db.transaction((key: NotesKey, at: string, claim: NotesClaim) => {
      remove.run({ ...key, hash: claim.hash })
      insert.run({ ...key, folder: at, ...claim })
    }),
    settle: (key, hash) => void settle.run({ ...key, hash }),
    folderOf: (key) => folder.get(key) as string | undefined,
    isTaken: (at, key) => taken.get({ ...key, folder: at }) !== undefined,
    expire: (beforeMs) => expire.run(beforeMs).changes,
    all: () => all.all() as (NotesKey & { folder: string })[],
  }
}
