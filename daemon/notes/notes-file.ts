/**
 * Where the notes of each session are: `<state>/sessions/<session>/notes.md`, 0600, whole or not at all. What they cover is
 * on record before they are there, so that file and record agree whenever somebody looks: the file decides.
 */
import { hash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Db } from '../db/database.ts'
import { writeAtomic } from '../platform/files.ts'
import { safeId } from '../platform/text.ts'

export const NOTES_FILE = 'notes.md'

/** `covers`: what is true of this text; nothing where it is blank and covers nothing yet. */
export type Kept = { text: string; covers: NotesClaim | undefined }

export type NotesFiles = {
  /** The folder, which holds nothing else. */
  folderOf(key: NotesKey): string
  read(key: NotesKey): Kept | undefined
  write(key: NotesKey, text: string, covers: Omit<NotesClaim, 'hash'> | undefined): void
  /** Nothing of what they said is left; that it was covered stays. */
  emptyAll(): void
}

type Deps = { stateDir: string; table: NotesTable }

/** More than anybody writes: something else stands in its place. */
const CAP_BYTES = 1_000_000
const LEFTOVER = /^notes\.md\.[0-9a-f]+\.tmp$/

export function createNotesFiles({ stateDir, table }: Deps): NotesFiles {
  const root = join(stateDir, 'sessions')
  const nameOf = (key: NotesKey): string => {
    const known = table.folderOf(key)
    if (known !== undefined) return known
    const plain = safeId(key.session)
    // Two harnesses may have named a session alike.
    return table.isTaken(plain, key) ? safeId(`${key.harness} ${key.session}`) : plain
  }
  const folderOf = (key: NotesKey) => join(root, nameOf(key))

  const read = (key: NotesKey): Kept | undefined => {
    const text = textAt(join(folderOf(key), NOTES_FILE))
    if (text === undefined) return undefined
    const claims = table.claims(key)
    // Of a text that a person has changed the older one is true in any case.
    return { text, covers: claims.find((claim) => claim.hash === hashOf(text)) ?? claims[0] }
  }

  const write: NotesFiles['write'] = (key, text, covers) => {
    const name = nameOf(key)
    const folder = join(root, name)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    removeLeftovers(folder)
    // 1. What will be true of it, beside what is true of what is there.
    if (covers) table.claim(key, name, { ...covers, hash: hashOf(text) })
    // The file was taken away: what was true of it must not become true of this.
    else table.settle(key, '')
    // 2. The text.
    writeAtomic(join(folder, NOTES_FILE), text)
    // 3. Nothing else is true any more.
    if (covers) table.settle(key, hashOf(text))
  }

  return {
    folderOf,
    read,
    write,
    emptyAll: () => {
      for (const { harness, session, folder } of table.all()) {
        const key = { harness, session }
        const kept = read(key)
        if (kept?.text && kept.covers) write(key, '', kept.covers)
        else removeLeftovers(join(root, folder))
      }
    },
  }
}

export function hashOf(text: string): string {
  return hash('sha256', text, 'hex')
}

function textAt(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isFile() && stats.size <= CAP_BYTES ? readFileSync(path, 'utf8') : undefined
}

/** Half-written by a process that was killed. */
function removeLeftovers(folder: string): void {
  if (!lstatSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  for (const name of readdirSync(folder)) if (LEFTOVER.test(name)) rmSync(join(folder, name), { force: true })
}

/**
 * How far the notes of each session go, in `history.db`. A row says of one content of the file what it covers, and is
 * there before that content is: whatever a kill leaves, the file itself tells which of at most two rows is true.
 */

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
