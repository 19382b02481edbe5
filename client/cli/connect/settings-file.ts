/** A settings file of somebody else's: read as it is, replaced whole, never through a link that leads elsewhere by accident. */
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { MemoryError } from '../../../schema/errors.ts'

/** `text` is nothing where there is no file. */
export type SettingsFile = { path: string; text: string | undefined; mode: number }

const MOST_BYTES = 5_000_000

export function readSettings(file: string): SettingsFile {
  const path = targetOf(file)
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats) return { path, text: undefined, mode: 0o600 }
  if (!stats.isFile()) throw refused(file, 'is no file')
  if (stats.size > MOST_BYTES) throw refused(file, 'is too large for settings')
  // As root everything can be written: what somebody made read-only stays as it is all the same.
  if ((stats.mode & 0o200) === 0) throw refused(file, 'is read-only')
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path))
    return { path, text, mode: stats.mode & 0o777 }
  } catch (cause) {
    throw refused(file, 'cannot be read as UTF-8', cause)
  }
}

/** Whole or not at all, and only if nobody has changed it since it was read. */
export function replaceSettings(before: SettingsFile, text: string): void {
  const { path, mode } = before
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const draft = join(dirname(path), `.memoryd-${randomBytes(6).toString('hex')}`)
  try {
    const fd = openSync(draft, 'wx', mode)
    try {
      writeSync(fd, text)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    if (readSettings(path).text !== before.text) throw refused(path, 'was changed by somebody else just now')
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    if (error instanceof MemoryError) throw error
    throw refused(path, 'cannot be written', error)
  }
}

/** With the folders above it that were made for it, as far as nothing else is in them. */
export function removeSettings({ path }: SettingsFile, upTo: string): void {
  rmSync(path)
  for (let folder = dirname(path); folder.length > upTo.length && folder.startsWith(upTo); folder = dirname(folder)) {
    try {
      rmdirSync(folder)
    } catch {
      return
    }
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
