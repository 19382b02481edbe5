/**
 * The way into a memory directory: refuses what is bent, makes the folders that are missing and takes empty ones away. How
 * folders are held open is platform's.
 */
import { closeSync, fsyncSync, mkdirSync, rmdirSync } from 'node:fs'
import { MemoryError } from '../../schema/errors.ts'
import {
  enterFolder,
  type Folder,
  isCode,
  movedOf,
  OWN_REACH,
  openRootFolder,
  type Reach,
} from '../platform/safe-folder.ts'
import { shown } from './file-names.ts'

export { type Folder, isCode, OWN_REACH, type Reach } from '../platform/safe-folder.ts'

/** Whether a directory that was reached through a link may be where it was found to be. */
export type MayBeAt = (where: string) => boolean

/** `mayBeAt` is asked only where a link leads to another place than the one that was named. */
export function openRoot(root: string, reach: Reach, mayBeAt: MayBeAt = () => true): Folder {
  const top = openRootFolder(root, reach)
  if (top === 'moved') throw moved(root)
  try {
    refuseAstray(root, top.where, mayBeAt)
    return top
  } catch (error) {
    closeSync(top.fd)
    throw error
  }
}

/** Of what is held open, or is about to be made in it: a link may have stood on the way for that one moment only. */
export function refuseAstray(root: string, where: string, mayBeAt: MayBeAt): void {
  if (where === root || (!isAgentDir(root) && mayBeAt(where))) return
  throw refused(`the folder ${shown(root)} leads elsewhere through a link`)
}

/** A sub-agent's, which may stand in a repository: it is located with every link followed, so that none may be left in it. */
function isAgentDir(dir: string): boolean {
  return /\/agent-memory(-local)?\/[^/]+$/.test(dir)
}

/** Opens the root for as long as `act` takes. */
export function inRoot<T>(root: string, act: (top: Folder) => T): T {
  const top = openRoot(root, OWN_REACH)
  try {
    return act(top)
  } finally {
    closeSync(top.fd)
  }
}

/** Nothing, when there is no such folder. */
export function enter(parent: Folder, name: string): Folder | undefined {
  const entered = enterFolder(parent, name)
  if (entered === 'not-a-folder') throw refused(`${shown(name)} is not a folder; links are not followed`)
  return entered === 'missing' ? undefined : entered
}

/** Goes down as far as there are folders; `act` is told which are missing. All that was opened is closed again. */
export function descend<T>(
  from: Folder,
  names: readonly string[],
  step: (parent: Folder, name: string) => Folder | undefined,
  act: (folder: Folder, missing: readonly string[]) => T,
): T {
  const [name, ...rest] = names
  if (name === undefined) return act(from, [])
  const next = step(from, name)
  if (!next) return act(from, names)
  try {
    return descend(next, rest, step, act)
  } finally {
    closeSync(next.fd)
  }
}

/** Makes the missing folders, private, and takes them away again if `act` fails. */
export function withNewFolders<T>(from: Folder, missing: readonly string[], act: (folder: Folder) => T): T {
  const [name, ...rest] = missing
  if (name === undefined) return act(from)
  const made = make(from, name)
  try {
    return withNewFolders(made, rest, act)
  } catch (error) {
    removeIfEmpty(made)
    throw error
  } finally {
    closeSync(made.fd)
  }
}

function make(parent: Folder, name: string): Folder {
  refuseMoved(parent)
  try {
    mkdirSync(parent.at(name), 0o700)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
  }
  const made = enter(parent, name)
  if (!made) throw refused(`the folder ${shown(name)} was taken away while it was being made`)
  try {
    refuseMoved(made)
    fsyncSync(parent.fd)
    return made
  } catch (error) {
    closeSync(made.fd)
    throw error
  }
}

/** An empty folder that stays does no harm, so whatever keeps it is no failure. */
export function removeIfEmpty(folder: Folder): 'removed' | 'kept' {
  try {
    refuseMoved(folder)
    rmdirSync(folder.where)
    return 'removed'
  } catch {
    return 'kept'
  }
}

/** Refuses when any folder on the way is no longer the one that its name leads to. */
export function refuseMoved(folder: Folder): void {
  const other = movedOf(folder)
  if (other) throw moved(other.name)
}

export function refused(words: string): MemoryError {
  return new MemoryError('REFUSED', words, { reason: 'path' })
}

function moved(name: string): MemoryError {
  return refused(`the folder ${shown(name)} was replaced while it was in use`)
}
