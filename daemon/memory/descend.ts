/**
 * The way into a folder tree that nobody can bend: every folder on it is held open and entered from the one before, never
 * through a link. Knows nothing of what the files are.
 *
 * On Linux a name is resolved in the open folder itself (`/proc/self/fd/…`, in place of the openat that Node lacks): a
 * folder swapped for a link after the check changes nothing. Elsewhere it is resolved by path, and what the names lead to
 * is compared before and after: whoever swaps folders within those microseconds can still win.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  rmdirSync,
} from 'node:fs'
import { MemoryError } from '../../schema/errors.ts'
import { shown } from './file-name.ts'

export type Reach = 'descriptor' | 'path'

type Identity = { dev: bigint; ino: bigint }

export type Folder = {
  fd: number
  /** What is held open, whatever its name leads to by now. */
  held: Identity
  reach: Reach
  name: string
  /** Where the folder itself is found. */
  where: string
  parent: Folder | undefined
  /** The path of an entry of this folder, good for as long as the folder is open. */
  at(entry: string): string
}

const OPEN_FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** A container may lack /proc: then there is only the way by path. */
export function bestReach(platform: NodeJS.Platform): Reach {
  return platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptor' : 'path'
}

/** The root may be reached through links: that is the owner's choice. From there on none is followed. */
export function openRoot(root: string, reach: Reach): Folder {
  const where = realpathSync.native(root)
  const fd = openSync(where, OPEN_FOLDER)
  try {
    const folder = asFolder({ fd, reach, name: root, where, parent: undefined })
    if (realpathSync.native(root) !== where) throw moved(folder)
    refuseMoved(folder)
    return folder
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** Opens the root for as long as `act` takes. */
export function inRoot<T>(root: string, act: (top: Folder) => T): T {
  const top = openRoot(root, bestReach(process.platform))
  try {
    return act(top)
  } finally {
    closeSync(top.fd)
  }
}

/** Nothing, when there is no such folder. */
export function enter(parent: Folder, name: string): Folder | undefined {
  const where = parent.at(name)
  try {
    const fd = openSync(where, OPEN_FOLDER)
    return asFolder({ fd, reach: parent.reach, name, where, parent })
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENAMETOOLONG')) return undefined
    if (isCode(error, 'ENOTDIR', 'ELOOP')) throw refused(`${shown(name)} is not a folder; links are not followed`)
    throw error
  }
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
  for (let each: Folder | undefined = folder; each; each = each.parent) {
    const found = lstatSync(each.where, { bigint: true, throwIfNoEntry: false })
    if (found?.ino !== each.held.ino || found.dev !== each.held.dev) throw moved(each)
  }
}

export function refused(words: string): MemoryError {
  return new MemoryError('REFUSED', words, { reason: 'path' })
}

export function isCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | undefined)?.code ?? '')
}

function moved(folder: Folder): MemoryError {
  return refused(`the folder ${shown(folder.name)} was replaced while it was in use`)
}

function asFolder(folder: Omit<Folder, 'at' | 'held'>): Folder {
  const { dev, ino } = fstatSync(folder.fd, { bigint: true })
  const base = folder.reach === 'descriptor' ? `/proc/self/fd/${folder.fd}` : folder.where
  return { ...folder, held: { dev, ino }, at: (entry) => `${base}/${entry}` }
}
