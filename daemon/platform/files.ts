/** Files that are whole or not there at all, private folders, and small files that hold a secret. */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'

/** After this returns, a power cut leaves the new content; before, the old. Never a mixture, never an empty file. */
export function writeAtomic(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const fd = fs.openSync(temporary, 'wx', 0o600)
    try {
      fs.writeFileSync(fd, content)
      fs.fsyncSync(fd)
    } finally {
      fs.closeSync(fd)
    }
    fs.renameSync(temporary, path)
  } catch (error) {
    fs.rmSync(temporary, { force: true })
    throw error
  }
  syncPath(dirname(path))
}

/** A rename is on disk only once its folder was synced. */
export function syncPath(path: string): void {
  const fd = fs.openSync(path, 'r')
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

const PRIVATE_FOLDER: fs.MakeDirectoryOptions = { recursive: true, mode: 0o700 }

/** A folder that others can enter is refused, not changed: it may be a home folder that was named by mistake. */
export function ensurePrivateFolder(folder: string, purpose: string): void {
  try {
    fs.mkdirSync(folder, PRIVATE_FOLDER)
  } catch (cause) {
    throw new MemoryError('SETUP', `cannot create the ${purpose} folder ${folder}: ${message(cause)}`, {
      hint: `make ${dirname(folder)} writable for you, or name another place`,
      cause,
    })
  }
  const trouble = privateFolderProblem(folder, fs.statSync(folder), process.getuid?.() ?? -1)
  if (trouble) throw new MemoryError('SETUP', `the ${purpose} folder ${trouble.problem}`, { hint: trouble.remedy })
}

export function privateFolderProblem(
  folder: string,
  stats: Pick<fs.Stats, 'uid' | 'mode' | 'isDirectory'>,
  uid: number,
): { problem: string; remedy: string } | undefined {
  const mode = (stats.mode & 0o777).toString(8)
  if (!stats.isDirectory()) return { problem: `${folder} is not a folder`, remedy: `move ${folder} away` }
  if (stats.uid !== uid)
    return { problem: `${folder} belongs to uid ${stats.uid}, not to you`, remedy: 'name a folder of your own' }
  if ((stats.mode & 0o1002) !== 0)
    return {
      problem: `${folder} is a place for everyone (mode ${(stats.mode & 0o7777).toString(8)})`,
      remedy: 'name a folder of its own below it',
    }
  if ((stats.mode & 0o077) !== 0)
    return { problem: `${folder} can be entered by others (mode ${mode})`, remedy: `chmod 700 ${folder}` }
  if ((stats.mode & 0o700) !== 0o700)
    return { problem: `${folder} is closed to you (mode ${mode})`, remedy: `chmod 700 ${folder}` }
  return undefined
}

export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Half-written files of a process that was killed. Only before the daemon begins to write. */
export function removeLeftovers(
  folders: readonly string[],
  which = /\.(tmp|building)(-journal|-wal|-shm)?$/,
): string[] {
  const doomed = folders.flatMap(filesIn).filter((path) => which.test(path))
  for (const path of doomed) fs.rmSync(path, { force: true })
  return doomed
}

export function filesIn(folder: string): string[] {
  return fs.statSync(folder, { throwIfNoEntry: false }) ? fs.readdirSync(folder).map((name) => join(folder, name)) : []
}

export function filesBelow(folder: string): string[] {
  if (!fs.existsSync(folder)) return []
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

/** The beginning of a plain file, and its size. A name may lead to a device without an end, or a pipe without a writer. */
export function readHead(path: string, capBytes: number, flags = 0): { head: Buffer; sizeBytes: number } | undefined {
  try {
    const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK | flags)
    try {
      const stats = fs.fstatSync(fd)
      if (!stats.isFile()) return undefined
      const head = Buffer.alloc(Math.min(stats.size, capBytes))
      return { head: head.subarray(0, fs.readSync(fd, head, 0, head.length, 0)), sizeBytes: stats.size }
    } finally {
      fs.closeSync(fd)
    }
  } catch {
    return undefined
  }
}

const WINDOW_BYTES = 4_194_304

/** A file that may be larger than memory, in windows that overlap. `held`: its descriptor where it is open, which stays open. */
export function* windowsOf(file: string, overlapBytes: number, held?: number): Generator<Buffer> {
  const window = Buffer.allocUnsafe(WINDOW_BYTES + overlapBytes)
  const fd = held ?? fs.openSync(file, 'r')
  try {
    for (let start = 0, bytes = window.length; bytes === window.length; start += WINDOW_BYTES) {
      bytes = 0
      // A read ends before bytes that the disk does not give; only the next one fails.
      for (let got = 1; got > 0; bytes += got)
        got = fs.readSync(fd, window, bytes, window.length - bytes, start + bytes)
      yield window.subarray(0, bytes)
    }
  } finally {
    if (fd !== held) fs.closeSync(fd)
  }
}

const LARGEST_BYTES = 16_384

/** A small file that holds a secret: read only when no other user could have read it, else refused with the remedy. */
export function readPrivateFile(path: string): { text: string } | { trouble: string; remedy: string } {
  let fd: number | undefined
  try {
    // Without waiting: a pipe without a writer would block for ever.
    fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
    const stats = fs.fstatSync(fd)
    const mode = (stats.mode & 0o777).toString(8)
    if (!stats.isFile()) return { trouble: `${path} is not a file`, remedy: 'name a file that holds the key alone' }
    if (stats.uid !== process.getuid?.())
      return { trouble: `${path} belongs to uid ${stats.uid}, not to you`, remedy: 'make a file of your own' }
    if (stats.mode & 0o077)
      return { trouble: `${path} can be read by others (mode ${mode})`, remedy: `chmod 600 ${path}` }
    if (stats.size > LARGEST_BYTES)
      return { trouble: `${path} is ${stats.size} bytes long`, remedy: 'it should hold the key alone' }
    return { text: fs.readFileSync(fd, 'utf8') }
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (missing) return { trouble: `${path} is not there`, remedy: `write the key into it and chmod 600 ${path}` }
    return { trouble: `${path} cannot be read: ${message(error)}`, remedy: `make it yours: chmod 600 ${path}` }
  } finally {
    if (fd !== undefined) fs.closeSync(fd)
  }
}

export type NewFile = { path: string; text: string }

const AT_ONCE = 8

/** Many files, each whole or not at all, on disk when it returns; off the main thread, so that requests go on. */
export async function writeMany(files: readonly NewFile[]): Promise<void> {
  const folders = new Set(files.map(({ path }) => dirname(path)))
  for (const folder of folders) fs.mkdirSync(folder, PRIVATE_FOLDER)
  const waiting = files.values()
  const worker = async () => {
    for (const file of waiting) await writeOne(file)
  }
  const ends = await Promise.allSettled(Array.from({ length: Math.min(AT_ONCE, files.length) }, worker))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed) throw failed.reason
  for (const folder of folders) syncPath(folder)
}

async function writeOne({ path, text }: NewFile): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    // Housekeeping took the temporary file for a leftover, or its folder for an empty one. It cannot come between these two.
    fs.mkdirSync(dirname(path), PRIVATE_FOLDER)
    writeAtomic(path, text)
  }
}
