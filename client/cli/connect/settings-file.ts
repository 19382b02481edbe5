/** A settings file of a harness: read as it is, replaced whole, never through a link that leads elsewhere by accident. */

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
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
export type SettingsFile = { path: string; text: string | undefined; rights: Rights }

const MOST_BYTES = 5_000_000

export function readSettings(file: string): SettingsFile {
  const path = targetOf(file)
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats) return { path, text: undefined, rights: { mode: 0o600 } }
  if (!stats.isFile()) throw refused(file, 'is no file')
  if (stats.size > MOST_BYTES) throw refused(file, 'is too large for settings')
  // As root everything can be written: a read-only file is left alone all the same.
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

/** A new text, on the disk but not yet in its place; it gets there only if the file is unchanged since it was read. */
export function draftSettings(before: SettingsFile, text: string): Draft {
  const { path, rights } = before
  return explained(path, () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    sweepDrafts(dirname(path))
    const draft = draftOf(path, text, rights)
    const place = () => {
      if (readSettings(path).text !== before.text) throw refused(path, 'was changed by another program just now')
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

/** The lines in which two texts differ, as `diff` shows them. Pure. */

const CONTEXT = 2
/** Settings have fewer lines; of longer files only the differing middle is compared. */
const MOST_CELLS = 4_000_000

export function lineDiff(before: string, after: string): string[] {
  const old = linesOf(before)
  const now = linesOf(after)
  const marked = compare(old, now)
  const shown = new Set<number>()
  for (const [n, line] of marked.entries())
    if (!line.startsWith(' ')) for (let at = n - CONTEXT; at <= n + CONTEXT; at++) shown.add(at)
  return marked.flatMap((line, n) => (shown.has(n) ? [line] : shown.has(n - 1) ? ['...'] : []))
}

function linesOf(text: string): string[] {
  const lines = text.split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

function compare(old: readonly string[], now: readonly string[]): string[] {
  if (old.length * now.length > MOST_CELLS) return [...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)]
  const width = now.length + 1
  const longest = new Uint32Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      longest[i * width + j] =
        old[i] === now[j]
          ? (longest[(i + 1) * width + j + 1] as number) + 1
          : Math.max(longest[(i + 1) * width + j] as number, longest[i * width + j + 1] as number)
  const marked: string[] = []
  let i = 0
  let j = 0
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      marked.push(` ${old[i++]}`)
      j++
    } else if (
      i < old.length &&
      (j >= now.length || (longest[(i + 1) * width + j] as number) >= (longest[i * width + j + 1] as number))
    )
      marked.push(`-${old[i++]}`)
    else marked.push(`+${now[j++]}`)
  }
  return marked
}

/** Files that are written whole or not at all, whatever a full disk or a kill leaves of the attempt. */

export type Rights = { mode: number; owner?: { uid: number; gid: number } }

export type Draft = {
  /** From then on it is the file. */
  place(): void
  /** Nothing is left of it; does nothing once it is placed. */
  discard(): void
}

/** The pid of its writer is in the name: it tells whether the file is still being written. */
const DRAFT = /^\.memoryd-(\d+)-[0-9a-f]{12}$/

/** All of it is on the disk, beside the file, before anything is replaced. */
export function draftOf(path: string, text: string, { mode, owner }: Rights): Draft {
  const draft = join(dirname(path), `.memoryd-${process.pid}-${randomBytes(6).toString('hex')}`)
  const bytes = Buffer.from(text)
  const discard = () => rmSync(draft, { force: true })
  try {
    const fd = openSync(draft, 'wx', 0o600)
    try {
      // A disk that fills up takes a part of it, and calls that a success.
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
      const { uid, gid } = fstatSync(fd)
      if (owner && (owner.uid !== uid || owner.gid !== gid)) fchownSync(fd, owner.uid, owner.gid)
      fchmodSync(fd, mode)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    if (!readFileSync(draft).equals(bytes)) throw new Error('what was written is not what is there')
  } catch (error) {
    discard()
    throw error
  }
  return {
    discard,
    place: () => {
      renameSync(draft, path)
      syncFolder(dirname(path))
    },
  }
}

export function writeWhole(path: string, text: string, rights: Rights): void {
  const draft = draftOf(path, text, rights)
  try {
    draft.place()
  } finally {
    draft.discard()
  }
}

/** What a killed one has left in a folder. */
export function sweepDrafts(folder: string): void {
  for (const name of namesIn(folder)) {
    const [draft, pid] = DRAFT.exec(name) ?? []
    if (draft !== undefined && !isAlive(Number(pid))) rmSync(join(folder, draft), { force: true })
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** So that a crash of the machine does not undo the renaming; where folders cannot be synced, it may. */
function syncFolder(folder: string): void {
  try {
    const fd = openSync(folder, 'r')
    try {
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch {
    // It is in its place all the same.
  }
}
