/**
 * The notes of each session: `<state>/sessions/<session>/notes.md`, 0600, whole or not at all, and what they cover, in
 * `history.db`. The row of a content is there before that content is: after a kill the file tells which of at most two rows holds.
 */
import { hash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Core } from '../core.ts'
import { writeAtomic } from '../platform/files.ts'
import { safeId } from '../platform/text.ts'
import type { SessionKey } from '../sessions/message-table.ts'

export const NOTES_FILE = 'notes.md'

/** What one content of the file covers. */
export type Coverage = {
  /** The last message that is covered, and when it was said. */
  message: string
  saidAt: number
  /** What was in the context of the session then. */
  tokens: number
  source: 'model' | 'rules'
  at: number
}

/** More than a person or a model writes: something else stands in its place. */
const CAP_BYTES = 1_000_000
const LEFTOVER = /^notes\.md\.[0-9a-f]+\.tmp$/

export type NotesFile = ReturnType<typeof createNotesFile>

export function createNotesFile({ stateDir, db }: Core) {
  const root = join(stateDir, 'sessions')
  const ofSession = 'session = @sessionId AND harness = @harness'
  const rows = db.history.prepare(
    `SELECT hash, message, said_at AS saidAt, tokens, source, at FROM session_notes WHERE ${ofSession} ORDER BY id`,
  )
  const removeRow = db.history.prepare(`DELETE FROM session_notes WHERE ${ofSession} AND hash = @hash`)
  const removeOthers = db.history.prepare(`DELETE FROM session_notes WHERE ${ofSession} AND hash <> @hash`)
  const insert = db.history.prepare(
    `INSERT INTO session_notes (harness, session, folder, hash, message, said_at, tokens, source, at)
     VALUES (@harness, @sessionId, @folder, @hash, @message, @saidAt, @tokens, @source, @at)`,
  )
  const folderOfRow = db.history
    .prepare(`SELECT folder FROM session_notes WHERE ${ofSession} ORDER BY id LIMIT 1`)
    .pluck()
  // Upper and lower case may be one on this disk.
  const taken = db.history
    .prepare(`SELECT 1 FROM session_notes WHERE folder = @folder COLLATE NOCASE AND NOT (${ofSession}) LIMIT 1`)
    .pluck()
  const expired = db.history.prepare('DELETE FROM session_notes WHERE at < ?')
  const all = db.history.prepare('SELECT DISTINCT harness, session AS sessionId, folder FROM session_notes')

  const claim = db.history.transaction((row: SessionKey & Coverage & { folder: string; hash: string }) => {
    removeRow.run(row)
    insert.run(row)
  })

  const folderName = (key: SessionKey): string => {
    const known = folderOfRow.get(key) as string | undefined
    if (known !== undefined) return known
    const plain = safeId(key.sessionId)
    // Two harnesses may have named a session alike.
    return taken.get({ ...key, folder: plain }) === undefined ? plain : safeId(`${key.harness} ${key.sessionId}`)
  }
  const folderOf = (key: SessionKey) => join(root, folderName(key))

  /** `covers`: nothing where the text is blank and covers nothing yet. */
  const read = (key: SessionKey): { text: string; covers: Coverage | undefined } | undefined => {
    const text = textAt(join(folderOf(key), NOTES_FILE))
    if (text === undefined) return undefined
    const claims = rows.all(key) as (Coverage & { hash: string })[]
    // Of a text that a person has changed the older one is true in any case.
    const found = claims.find((each) => each.hash === hashOf(text)) ?? claims[0]
    if (!found) return { text, covers: undefined }
    const { hash: _, ...covers } = found
    return { text, covers }
  }

  const write = (key: SessionKey, text: string, covers: Coverage | undefined): void => {
    const name = folderName(key)
    const folder = join(root, name)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    removeLeftovers(folder)
    // 1. What will be true of it, beside what is true of what is there.
    if (covers) claim({ ...covers, ...key, folder: name, hash: hashOf(text) })
    // The file was taken away: what was true of it must not become true of this.
    else removeOthers.run({ ...key, hash: '' })
    // 2. The text.
    writeAtomic(join(folder, NOTES_FILE), text)
    // 3. Nothing else is true any more.
    if (covers) removeOthers.run({ ...key, hash: hashOf(text) })
  }

  return {
    /** It holds nothing else. */
    folderOf,
    read,
    write,
    /** For a purge: nothing of what they said is left; that it was covered stays. */
    emptyAll: (): void => {
      for (const { folder, ...key } of all.all() as (SessionKey & { folder: string })[]) {
        const kept = read(key)
        if (kept?.text && kept.covers) write(key, '', kept.covers)
        else removeLeftovers(join(root, folder))
      }
    },
    /** Forgets what was written before then: the files of that age go, too. */
    expire: (beforeMs: number): number => expired.run(beforeMs).changes,
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
