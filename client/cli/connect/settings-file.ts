/** A settings file of somebody else's: read as it is, replaced whole, never through a link that leads elsewhere by accident. */
import { existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { MemoryError } from '../../../schema/errors.ts'
import { type Draft, draftOf, type Rights, sweepDrafts } from './whole-file.ts'

/** `text` is nothing where there is no file. */
export type SettingsFile = { path: string; text: string | undefined; rights: Rights }

const MOST_BYTES = 5_000_000

export function readSettings(file: string): SettingsFile {
  const path = targetOf(file)
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats) return { path, text: undefined, rights: { mode: 0o600 } }
  if (!stats.isFile()) throw refused(file, 'is no file')
  if (stats.size > MOST_BYTES) throw refused(file, 'is too large for settings')
  // As root everything can be written: what somebody made read-only stays as it is all the same.
  if ((stats.mode & 0o200) === 0) throw refused(file, 'is read-only')
  // A new file takes the place of the old one: the other name would go on with what is no longer the settings.
  if (stats.nlink > 1) throw refused(file, 'has a second name (a hard link), which would be cut off')
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path))
    return { path, text, rights: { mode: stats.mode & 0o7777, owner: { uid: stats.uid, gid: stats.gid } } }
  } catch (cause) {
    throw refused(file, 'cannot be read as UTF-8', cause)
  }
}

/** A new text, on the disk but not yet in its place; it gets there only if nobody has changed the file since it was read. */
export function draftSettings(before: SettingsFile, text: string): Draft {
  const { path, rights } = before
  return explained(path, () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    sweepDrafts(dirname(path))
    const draft = draftOf(path, text, rights)
    const place = () => {
      if (readSettings(path).text !== before.text) throw refused(path, 'was changed by somebody else just now')
      draft.place()
    }
    return { discard: draft.discard, place: () => explained(path, place) }
  })
}

export function replaceSettings(before: SettingsFile, text: string): void {
  const draft = draftSettings(before, text)
  try {
    draft.place()
  } finally {
    draft.discard()
  }
}

function explained<T>(path: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (error instanceof MemoryError) throw error
    throw refused(path, 'cannot be written', error)
  }
}

/** With the folders above it that were made for it, as far as nothing else is in them. */
export function removeSettings({ path }: SettingsFile, upTo: string): void {
  rmSync(path)
  sweepDrafts(dirname(path))
  for (let folder = dirname(path); folder.length > upTo.length && folder.startsWith(upTo); folder = dirname(folder)) {
    try {
      rmdirSync(folder)
    } catch {
      return
    }
  }
}

/** What a connect that was killed has left beside a file. */
export function sweepBeside(file: string): void {
  try {
    sweepDrafts(dirname(targetOf(file)))
  } catch {
    // A link that leads nowhere has nothing beside it.
  }
}

/** Which of the folders of a file are there already. */
export function deepestFolder(file: string): string {
  let folder = dirname(file)
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder)
  return folder
}

/** Settings often are links into a repository of dotfiles: the file behind is changed, the link stays. */
function targetOf(file: string): string {
  if (!lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) return file
  try {
    return realpathSync(file)
  } catch (cause) {
    throw refused(file, 'is a link that leads nowhere', cause)
  }
}

function refused(file: string, why: string, cause?: unknown): MemoryError {
  const because = cause instanceof Error ? ` (${(cause as NodeJS.ErrnoException).code ?? cause.message})` : ''
  return new MemoryError('REFUSED', `${file} ${why}${because}; nothing was changed`, { reason: 'path', cause })
}
