/**
 * Many files at once, each whole or not at all. The disk is waited for beside the main thread and for several together, so
 * that a hundred files keep nobody waiting; they are all there when it is done.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { writeAtomic } from './files.ts'

export type NewFile = { path: string; text: string }

/** More would only wait for each other. */
const AT_ONCE = 8

export async function writeMany(files: readonly NewFile[]): Promise<void> {
  const folders = new Set(files.map(({ path }) => dirname(path)))
  for (const folder of folders) mkdirSync(folder, { recursive: true, mode: 0o700 })
  const waiting = files.values()
  const worker = async () => {
    for (const file of waiting) await writeOne(file)
  }
  const ends = await Promise.allSettled(Array.from({ length: Math.min(AT_ONCE, files.length) }, worker))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed) throw failed.reason
  // A rename is on disk once its folder is.
  for (const folder of folders) await sync(folder)
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
    // Housekeeping came in between and took it for a leftover, or its folder for an empty one: now nobody can.
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeAtomic(path, text)
  }
}

async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
