/** The notes of sessions. A row is written before its text: after a kill the text's hash tells which row holds. */
import { lstatSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Core } from '../core.ts'
import { removeLeftovers, writeAtomic } from '../platform/files.ts'
import { hashOf } from '../platform/safe-folder.ts'
import { safeId } from '../platform/text.ts'
import type { SessionKey } from '../sessions/message-table.ts'

export const NOTES_FILE = 'notes.md'

export type Coverage = {
  message: string
  saidAt: number
  /** The context of the session at that message. */
  tokens: number
  source: 'model' | 'rules'
  at: number
}

/** More than a person or a model writes: it is not ours. */
const CAP_BYTES = 1_000_000
const LEFTOVER = /\/notes\.md\.[0-9a-f]+\.tmp$/

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
  // The disk may ignore upper and lower case.
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
    // Two harnesses may use the same session id.
    return taken.get({ ...key, folder: plain }) === undefined ? plain : safeId(`${key.harness} ${key.sessionId}`)
  }
  const folderOf = (key: SessionKey) => join(root, folderName(key))

  const read = (key: SessionKey): { text: string; covers: Coverage | undefined } | undefined => {
    const text = textAt(join(folderOf(key), NOTES_FILE))
    if (text === undefined) return undefined
    const claims = rows.all(key) as (Coverage & { hash: string })[]
    // A person has changed the text: the older row is true in any case.
    const found = claims.find((each) => each.hash === hashOf(text)) ?? claims[0]
    if (!found) return { text, covers: undefined }
    const { hash: _, ...covers } = found
    return { text, covers }
  }

  const write = (key: SessionKey, text: string, covers: Coverage | undefined): void => {
    const name = folderName(key)
    const folder = join(root, name)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    removeLeftovers([folder], LEFTOVER)
    // 1. The row of the new text, beside that of the old one.
    if (covers) claim({ ...covers, ...key, folder: name, hash: hashOf(text) })
    // The file is gone: the row of the old text must not apply to the new one.
    else removeOthers.run({ ...key, hash: '' })
    // 2. The text.
    writeAtomic(join(folder, NOTES_FILE), text)
    // 3. The old row goes.
    if (covers) removeOthers.run({ ...key, hash: hashOf(text) })
  }

  return {
    folderOf,
    read,
    write,
    /** For a purge: the texts go, what they covered stays. */
    emptyAll: (): void => {
      for (const { folder, ...key } of all.all() as (SessionKey & { folder: string })[]) {
        const kept = read(key)
        if (kept?.text && kept.covers) write(key, '', kept.covers)
        else removeLeftovers([join(root, folder)], LEFTOVER)
      }
    },
    /** The files of that age are deleted by housekeeping. */
    expire: (beforeMs: number): number => expired.run(beforeMs).changes,
  }
}

function textAt(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isFile() && stats.size <= CAP_BYTES ? readFileSync(path, 'utf8') : undefined
}
