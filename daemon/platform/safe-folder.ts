/**
 * The way into a folder tree that nobody can bend: every folder on it is held open and entered from the one before, never
 * through a link. Knows nothing of what the files are, and says what it met instead of refusing it.
 *
 * On Linux a name is resolved in the open folder itself (`/proc/self/fd/…`, in place of the openat that Node lacks): a
 * folder swapped for a link after the check changes nothing. Elsewhere it is resolved by path, and what the names lead to
 * is compared before and after: whoever swaps folders within those microseconds can still win.
 */
import { closeSync, constants, existsSync, fstatSync, lstatSync, openSync, readlinkSync, realpathSync } from 'node:fs'

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

/** Of this machine, asked once: folders are opened with every write. */
export const OWN_REACH: Reach = bestReach(process.platform)

/**
 * The root may be reached through links: that is the owner's choice. From there on none is followed. Whether it may lead to
 * where it led is for the caller to say, by `where`: asking the path once more would ask about another moment.
 */
export function openRootFolder(root: string, reach: Reach): Folder | 'moved' {
  const { fd, where } = reach === 'descriptor' ? openAsLed(root) : openAsNamed(root)
  let isKept = false
  try {
    const folder = asFolder({ fd, reach, name: root, where, parent: undefined })
    const isNamedSo = reach === 'descriptor' || realpathSync.native(root) === where
    isKept = isNamedSo && movedOf(folder) === undefined
    return isKept ? folder : 'moved'
  } finally {
    if (!isKept) closeSync(fd)
  }
}

type Opened = { fd: number; where: string }

/** What the links led to when it was opened is held; where that is, the kernel says, and nobody walks the path twice. */
function openAsLed(root: string): Opened {
  const fd = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    return { fd, where: readlinkSync(`/proc/self/fd/${fd}`) }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function openAsNamed(root: string): Opened {
  const where = realpathSync.native(root)
  return { fd: openSync(where, OPEN_FOLDER), where }
}

/** A link is no folder. */
export function enterFolder(parent: Folder, name: string): Folder | 'missing' | 'not-a-folder' {
  const where = parent.at(name)
  try {
    const fd = openSync(where, OPEN_FOLDER)
    return asFolder({ fd, reach: parent.reach, name, where, parent })
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENAMETOOLONG')) return 'missing'
    if (isCode(error, 'ENOTDIR', 'ELOOP')) return 'not-a-folder'
    throw error
  }
}

/** The folder on the way that is no longer the one its name leads to, where there is one. */
export function movedOf(folder: Folder): Folder | undefined {
  for (let each: Folder | undefined = folder; each; each = each.parent) {
    const found = lstatSync(each.where, { bigint: true, throwIfNoEntry: false })
    if (found?.ino !== each.held.ino || found.dev !== each.held.dev) return each
  }
  return undefined
}

export function isCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | undefined)?.code ?? '')
}

function asFolder(folder: Omit<Folder, 'at' | 'held'>): Folder {
  const { dev, ino } = fstatSync(folder.fd, { bigint: true })
  const base = folder.reach === 'descriptor' ? `/proc/self/fd/${folder.fd}` : folder.where
  return { ...folder, held: { dev, ino }, at: (entry) => `${base}/${entry}` }
}
