/** Files as this daemon needs them: whole or not at all, private, never through a stranger's folder. */

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  type MakeDirectoryOptions,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'

/** After this returns, a power cut leaves the new content; before, the old. Never a mixture, never an empty file. */
export function writeAtomic(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const fd = openSync(temporary, 'wx', 0o600)
    try {
      writeAll(fd, typeof content === 'string' ? Buffer.from(content) : content)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncPath(dirname(path))
}

/** Content is only on disk once it was synced, a rename only once its folder was. */
export function syncPath(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
}

const PRIVATE_FOLDER: MakeDirectoryOptions = { recursive: true, mode: 0o700 }

/**
 * Makes sure that `folder` exists, is ours and nobody else can enter. A folder that others can enter is refused, not
 * changed: it may be somebody's home that was named by mistake.
 */
export function ensurePrivateFolder(folder: string, purpose: string): void {
  try {
    mkdirSync(folder, PRIVATE_FOLDER)
  } catch (cause) {
    throw new MemoryError('SETUP', `cannot create the ${purpose} folder ${folder}: ${message(cause)}`, {
      hint: `make ${dirname(folder)} writable for you, or name another place`,
      cause,
    })
  }
  const trouble = privateFolderTrouble(folder, statSync(folder), process.getuid?.() ?? -1)
  if (trouble) throw new MemoryError('SETUP', `the ${purpose} folder ${trouble.problem}`, { hint: trouble.remedy })
}

export function privateFolderTrouble(
  folder: string,
  stats: Pick<Stats, 'uid' | 'mode'> & { isDirectory(): boolean },
  uid: number,
): { problem: string; remedy: string } | undefined {
  if (!stats.isDirectory()) return { problem: `${folder} is not a folder`, remedy: `move ${folder} away` }
  if (stats.uid !== uid)
    return { problem: `${folder} belongs to uid ${stats.uid}, not to you`, remedy: 'name a folder of your own' }
  if ((stats.mode & 0o1002) !== 0)
    return {
      problem: `${folder} is a place for everyone (mode ${(stats.mode & 0o7777).toString(8)})`,
      remedy: 'name a folder of its own below it',
    }
  if ((stats.mode & 0o077) !== 0)
    return {
      problem: `${folder} can be entered by others (mode ${(stats.mode & 0o777).toString(8)})`,
      remedy: `chmod 700 ${folder}`,
    }
  if ((stats.mode & 0o700) !== 0o700)
    return {
      problem: `${folder} is closed to you (mode ${(stats.mode & 0o777).toString(8)})`,
      remedy: `chmod 700 ${folder}`,
    }
  return undefined
}

export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Half-written files of a process that was killed. Only before the daemon begins to write. */
export function removeLeftovers(folders: readonly string[]): string[] {
  const doomed = folders
    .flatMap(filesIn)
    .filter((path) => /\.tmp(-journal|-wal|-shm)?$|\.building(-journal|-wal|-shm)?$/.test(path))
  for (const path of doomed) rmSync(path, { force: true })
  return doomed
}

export function filesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
}

/** At any depth; none where there is no such folder. */
export function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
