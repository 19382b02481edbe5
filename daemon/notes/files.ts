/**
 * Where the notes of each session are: `<state>/sessions/<session>/notes.md`, 0600, whole or not at all. What they cover is
 * on record before they are there, so that file and record agree whenever somebody looks: the file decides.
 */
import { hash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeAtomic } from '../platform/files.ts'
import { safeId } from '../platform/safe-id.ts'
import type { NotesClaim, NotesKey, NotesTable } from './notes-table.ts'

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
