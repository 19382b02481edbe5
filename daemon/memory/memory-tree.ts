/**
 * The way through a memory directory: which names in it are those of memories and their indexes, folder by folder. Follows
 * no link, opens no file, never goes into hidden folders and logs. How far it goes is up to whoever looks.
 */
import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { descend, enter, type Folder } from './descend.ts'

/** As deep as a memory is found by itself; one that lies deeper can still be named. */
export const DEPTH_FOLDERS = 8

export type Visitor = {
  /** Whether to look into a folder, so many levels below the directory. */
  enters(folder: string, depth: number): boolean
  file(file: string, stat: () => Stats | undefined): void
  /** Something that is called like a memory and is no plain file. */
  otherThing(file: string): void
  closedFolder(folder: string, cause: unknown): void
}

/** Throws when the directory itself cannot be looked into. */
export function visitMemories(folder: Folder, visitor: Visitor, path: readonly string[] = []): void {
  for (const entry of readdirSync(folder.at(''), { withFileTypes: true })) {
    const here = [...path, entry.name]
    const name = here.join('/')
    if (entry.isDirectory()) {
      if (isMemoryFolder(name) && visitor.enters(name, here.length)) visitBelow(folder, visitor, here)
    } else if (isMemoryName(name)) {
      if (entry.isFile()) visitor.file(name, () => lstatSync(folder.at(entry.name), { throwIfNoEntry: false }))
      else visitor.otherThing(name)
    }
  }
}

function visitBelow(folder: Folder, visitor: Visitor, path: readonly string[]): void {
  try {
    descend(folder, path.slice(-1), enter, (below, missing) => {
      if (missing.length === 0) visitMemories(below, visitor, path)
    })
  } catch (error) {
    visitor.closedFolder(path.join('/'), error)
  }
}

export function isMemoryName(file: string): boolean {
  return file.endsWith('.md') && isMemoryFolder(file)
}

export function isMemoryFolder(folder: string): boolean {
  return folder !== 'logs' && !folder.startsWith('logs/') && !/(?:^|\/)\./.test(folder)
}
