/** A memory directory as one thing: whether anything is in it, which one it is, and another name for it. */
import { lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { syncPath } from '../platform/files.ts'
import { isCode } from './descend.ts'

/** Whatever name it has, the same directory has the same one; nothing for what is no directory. */
export function inodeOf(dir: string): string | undefined {
  const stats = lstatSync(dir, { bigint: true, throwIfNoEntry: false })
  return stats?.isDirectory() ? `${stats.dev}:${stats.ino}` : undefined
}

/** Folders within folders count for nothing as long as no file is in them; a closed one may hold anything. */
export function holdsNothing(dir: string): boolean {
  return everythingIn(dir, 1).length === 0
}

/** Every file in it by its path, also those that are no memories. */
export function everythingIn(dir: string, most: number): string[] {
  const found: string[] = []
  const walk = (path: string) => {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (!stats || found.length >= most) return
    const names = stats.isDirectory() ? namesIn(path) : undefined
    if (names) for (const name of names) walk(join(path, name))
    else found.push(relative(dir, path))
  }
  walk(dir)
  return found
}

function namesIn(dir: string): string[] | undefined {
  try {
    return readdirSync(dir).sort()
  } catch {
    return undefined
  }
}

/** On the disk when it returns. A target that holds nothing makes way; another disk is another matter. */
export function renameFolder(from: string, to: string): 'renamed' | 'other-disk' {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  removeFolders(to)
  try {
    renameSync(from, to)
  } catch (error) {
    if (isCode(error, 'EXDEV')) return 'other-disk'
    throw error
  }
  syncPath(dirname(to))
  syncPath(dirname(from))
  return 'renamed'
}

/** Fails on the first file: somebody may have put one there just now. */
export function removeFolders(dir: string): void {
  if (inodeOf(dir) === undefined) return
  for (const name of readdirSync(dir)) removeFolders(join(dir, name))
  rmdirSync(dir)
}
