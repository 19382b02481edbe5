/** A settings file of a harness: read as it is, and replaced whole or not at all, whatever a full disk or a kill leaves of it. */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { dirname, join } from 'node:path'
import { syncPath } from '../../../daemon/platform/files.ts'
import { takesSignals } from '../../../daemon/platform/process.ts'
import { MemoryError } from '../../../schema/errors.ts'

type Rights = { mode: number; owner?: { uid: number; gid: number } }

type SettingsFile = { path: string; text: string | undefined; rights: Rights }

const MAX_BYTES = 5_000_000

export function readSettings(file: string): SettingsFile {
  const path = targetOf(file)
  const stats = fs.statSync(path, { throwIfNoEntry: false })
  if (!stats) return { path, text: undefined, rights: { mode: 0o600 } }
  if (!stats.isFile()) throw refused(file, 'is no file')
  if (stats.size > MAX_BYTES) throw refused(file, 'is too large for settings')
  // Root could write it all the same.
  if ((stats.mode & 0o200) === 0) throw refused(file, 'is read-only')
  // A new file takes the place of the old one: the other name would keep the old settings.
  if (stats.nlink > 1) throw refused(file, 'has a second name (a hard link), which would be cut off')
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(fs.readFileSync(path))
    return { path, text, rights: { mode: stats.mode & 0o7777, owner: { uid: stats.uid, gid: stats.gid } } }
  } catch (cause) {
    throw refused(file, 'cannot be read as UTF-8', cause)
  }
}

/** Only if the file is as it was read. `note` runs once the new text is on disk, and returns how to take it back. */
export function replaceSettings({ path, text: before, rights }: SettingsFile, text: string, note?: () => () => void) {
  try {
    fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    sweepDrafts(dirname(path))
    writeWhole(path, text, rights, (place) => {
      const takeBack = note?.()
      try {
        if (readSettings(path).text !== before) throw refused(path, 'was changed by another program just now')
        place()
      } catch (error) {
        takeBack?.()
        throw error
      }
    })
  } catch (error) {
    throw error instanceof MemoryError ? error : refused(path, 'cannot be written', error)
  }
}

/** With the folders above it that were made for it, as far as nothing else is in them. */
export function removeSettings({ path }: SettingsFile, upTo: string): void {
  fs.rmSync(path)
  sweepDrafts(dirname(path))
  for (let folder = dirname(path); folder.length > upTo.length && folder.startsWith(upTo); folder = dirname(folder)) {
    try {
      fs.rmdirSync(folder)
    } catch {
      return
    }
  }
}

export function sweepBeside(file: string): void {
  try {
    sweepDrafts(dirname(targetOf(file)))
  } catch {
    // A link that leads nowhere has nothing beside it.
  }
}

export function deepestFolder(file: string): string {
  let folder = dirname(file)
  while (!fs.existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder)
  return folder
}

/** Settings often are links into a repository of dotfiles: the file behind is changed, the link stays. */
function targetOf(file: string): string {
  if (!fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) return file
  try {
    return fs.realpathSync(file)
  } catch (cause) {
    throw refused(file, 'is a link that leads nowhere', cause)
  }
}

function refused(file: string, why: string, cause?: unknown): MemoryError {
  const because = cause instanceof Error ? ` (${(cause as NodeJS.ErrnoException).code ?? cause.message})` : ''
  return new MemoryError('REFUSED', `${file} ${why}${because}; nothing was changed`, { reason: 'path', cause })
}

/** The name has the pid of the writer: it tells whether the draft is still being written. */
const DRAFT = /^\.memoryd-(\d+)-[0-9a-f]{12}$/

/** All of it is on the disk, beside the file, before `replace` puts it in its place. */
export function writeWhole(
  path: string,
  text: string,
  { mode, owner }: Rights,
  replace: (place: () => void) => void = (place) => place(),
): void {
  const draft = join(dirname(path), `.memoryd-${process.pid}-${randomBytes(6).toString('hex')}`)
  const bytes = Buffer.from(text)
  try {
    const fd = fs.openSync(draft, 'wx', 0o600)
    try {
      // A disk that fills up takes a part of it, and calls that a success.
      for (let done = 0; done < bytes.length; ) done += fs.writeSync(fd, bytes, done)
      const { uid, gid } = fs.fstatSync(fd)
      if (owner && (owner.uid !== uid || owner.gid !== gid)) fs.fchownSync(fd, owner.uid, owner.gid)
      fs.fchmodSync(fd, mode)
      fs.fsyncSync(fd)
    } finally {
      fs.closeSync(fd)
    }
    if (!fs.readFileSync(draft).equals(bytes)) throw new Error('what was written is not what is there')
    replace(() => {
      fs.renameSync(draft, path)
      try {
        syncPath(dirname(path))
      } catch {
        // Some file systems cannot sync a folder; the file is in its place.
      }
    })
  } finally {
    fs.rmSync(draft, { force: true })
  }
}

export function sweepDrafts(folder: string): void {
  for (const name of namesIn(folder)) {
    const pid = Number(DRAFT.exec(name)?.[1])
    if (pid === process.pid || (pid > 0 && !takesSignals(pid))) fs.rmSync(join(folder, name), { force: true })
  }
}

export function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder)
  } catch {
    return []
  }
}
