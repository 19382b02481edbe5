/**
 * One memory directory, held open: reads, replaces and removes plain files in it and nowhere else, whatever links, twins and
 * swapped folders are in the way. A file is replaced whole or not at all, and only where it holds what was expected.
 */
import { isUtf8 } from 'node:buffer'
import { randomInt } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
} from 'node:fs'
import { MemoryError } from '../../schema/errors.ts'
import { diskProblem, PROBE } from '../platform/disk.ts'
import { createLru } from '../platform/lru.ts'
import {
  CAP_BYTES,
  type Content,
  descend,
  enter,
  type Folder,
  inRoot,
  isCode,
  type MayBeAt,
  makeFolder,
  NEW_MODE,
  openRoot,
  type Reach,
  readPlain,
  refused,
  refuseMoved,
  removeIfEmpty,
  stampOf,
  withNewFolders,
  writeNew,
} from '../platform/safe-folder.ts'
import { shown } from '../platform/text.ts'
import { isAgentDir } from '../projects/memory-dir.ts'
import { CAP_SEGMENTS, checkFileName, checkReadName, isPlain, twinAmong } from './file-names.ts'

/** `isText`: the text gives the same bytes back. */
export type MemoryFile = Content & { text: string; isText: boolean }

/** What must be there: content with this hash, no file (`null`), or anything (`undefined`). */
type Expected = string | null | undefined

export type MemoryFolder = ReturnType<typeof openFolder>

const TEMPORARY = /^\.memoryd-\d+-\d+\.tmp$/
const temporaryName = () => `.memoryd-${process.pid}-${randomInt(2 ** 48 - 1)}.tmp`

export type Listings = ReturnType<typeof createListings>

/** The names in a folder that a plain one may be mistaken for, true while it has that stamp: to list 10,000 takes 5 ms. */
export function createListings() {
  return createLru<string, { stamp: string; names: string[] }>(32)
}

type Options = { reach?: Reach; mayBeAt?: MayBeAt | undefined; listings?: Listings | undefined }

/** Holds `root` open until `close()`. Once another folder stands in its place, everything is refused. */
export function openFolder(root: string, { reach, mayBeAt, listings = createListings() }: Options = {}) {
  const top = openRoot(root, placesOf(root, mayBeAt), reach)
  let isUnsettled = false

  const listingOf = (folder: Folder) => {
    const listing = listings.get(idOf(folder))
    return listing?.stamp === stampNow(folder) ? listing : undefined
  }
  const list = (folder: Folder): string[] => {
    const stamp = stampNow(folder)
    const names = readdirSync(folder.at('')).filter((name) => !isPlain(name))
    listings.set(idOf(folder), { stamp, names })
    return names
  }
  /** A file system that ignores case finds `note.md` under the name `Note.md` too: only the listing tells. */
  const refuseTwin = (folder: Folder, name: string): void => {
    const found = inode(folder, name)
    const capitals = name.toUpperCase()
    // A file found by this name, and not by the same in capitals, has this name.
    const isExact = found !== undefined && (capitals === name || inode(folder, capitals) !== found)
    if (isExact && folder.reach === 'descriptor') return
    const isNew = found === undefined && isPlain(name)
    const entries = isNew ? (listingOf(folder)?.names ?? list(folder)) : readdirSync(folder.at(''))
    const twin = entries.includes(name) ? undefined : twinAmong(name, entries)
    if (twin !== undefined)
      throw refused(`${shown(name)} would stand beside ${shown(twin)}, and some systems take one for the other`)
  }
  const enterNoTwin = (parent: Folder, name: string): Folder | undefined => {
    refuseTwin(parent, name)
    return enter(parent, name)
  }

  const write = (
    file: string,
    bytes: Uint8Array,
    { expect, mode, settle }: { expect: Expected; mode?: number; settle?: 'later' },
  ): 'written' => {
    if (bytes.length > CAP_BYTES) throw refused(`${shown(file)} would be larger than ${CAP_BYTES} bytes`)
    refuseMoved(top)
    return reaching(top, changeable(file), enterNoTwin, (folder, leaf, missing) => {
      // Before any folder is made, so that a refused write leaves nothing behind.
      if (missing.length === 0) refuseTwin(folder, leaf)
      else compare(undefined, { file, expect })
      return withNewFolders(folder, missing, (target) => {
        const listing = listingOf(target)
        replace(target, leaf, bytes, { file, expect, mode })
        if (listing && (isPlain(leaf) || listing.names.includes(leaf))) listing.stamp = stampNow(target)
        // A new folder is closed before `settle` runs.
        if (settle === 'later' && target === top) isUnsettled = true
        else fsyncSync(target.fd)
        refuseMoved(target)
        return 'written'
      })
    })
  }

  const remove = (
    file: string,
    { expect, mode }: { expect: string | undefined; mode?: number },
  ): 'removed' | 'absent' => {
    refuseMoved(top)
    return reaching(top, changeable(file), enterNoTwin, (folder, leaf, missing) => {
      if (missing.length === 0) refuseTwin(folder, leaf)
      const present = missing.length === 0 ? readPlain(folder, leaf) : undefined
      compare(present, { file, expect, mode })
      if (!present) return 'absent'
      refuseMoved(folder)
      unlinkSync(folder.at(leaf))
      fsyncSync(folder.fd)
      for (let each = folder; each.parent && removeIfEmpty(each) === 'removed'; ) each = each.parent
      return 'removed'
    })
  }

  return {
    /** Any name that leads to a place inside, also one that a write would be refused for. */
    read: (file: string): MemoryFile | undefined => {
      if (top.reach === 'path') refuseMoved(top)
      return reaching(top, inside(file), enter, (folder, leaf, missing) => {
        const found = missing.length > 0 ? undefined : readPlain(folder, leaf)
        refuseMoved(folder)
        return found && { ...found, text: found.bytes.toString(), isText: isUtf8(found.bytes) }
      })
    },
    /** Whether the file still has the stamp that was read: a change within a tick of the clock may not show. */
    isStill: (file: string, read: Pick<Content, 'stamp'> | undefined): boolean =>
      reaching(top, inside(file), enter, (folder, leaf, missing) => {
        const stats = missing.length > 0 ? undefined : lstatSync(folder.at(leaf), { throwIfNoEntry: false })
        refuseMoved(folder)
        return (stats && stampOf(stats)) === read?.stamp
      }),
    /** When it returns, the content survives a power cut; with `settle: 'later'`, once `settle()` has returned. */
    write,
    settle: (): void => {
      if (isUnsettled) fsyncSync(top.fd)
      isUnsettled = false
    },
    /** Folders that are empty then go as well. With a `mode`, only a file that has it. */
    remove,
    probe: (): void => {
      const temporary = temporaryName()
      try {
        writeNew(top, temporary, PROBE, { mode: NEW_MODE })
      } finally {
        discard(top, temporary)
      }
    },
    /** Removes half-written files of a process that was killed. Not while another process writes here. */
    sweep: () => sweepBelow(top, []),
    close: (): void => closeSync(top.fd),
  }
}

/** A sub-agent's directory may stand in a repository: its path has every link followed already, and none may be left in it. */
function placesOf(dir: string, mayBeAt: MayBeAt | undefined): MayBeAt {
  const mustBeThere = isAgentDir(dir)
  return (where) => !mustBeThere && (mayBeAt?.(where) ?? true)
}

export function inDirectory<T>(dir: string, act: (top: Folder) => T, mayBeAt?: MayBeAt): T {
  return inRoot(dir, placesOf(dir, mayBeAt), act)
}

/** Makes the directory if need be. */
export function openMemoryFolder(dir: string, options: Options = {}): MemoryFolder {
  try {
    return openFolder(dir, options)
  } catch (error) {
    // What stands in the way is named by the attempt to make the directory.
    if (!isCode(error, 'ENOENT', 'ENOTDIR')) throw explainDiskError(dir, error)
  }
  try {
    makeFolder(dir, placesOf(dir, options.mayBeAt))
    return openFolder(dir, options)
  } catch (cause) {
    if (isCode(cause, 'ENOENT')) throw refused(`the folder ${shown(dir)} was taken away while it was being opened`)
    if (!isCode(cause, 'ENOTDIR')) throw explainDiskError(dir, cause)
    throw new MemoryError('REFUSED', `${dir} is not a folder`, { reason: 'path', hint: 'move it away', cause })
  }
}

export function inFolder<T>(dir: string, act: (folder: MemoryFolder) => T, options?: Options): T {
  const folder = openMemoryFolder(dir, options)
  try {
    return act(folder)
  } catch (error) {
    throw explainDiskError(dir, error)
  } finally {
    folder.close()
  }
}

export function readMemoryFile(dir: string, file: string, options?: Options): MemoryFile | undefined {
  return inFolder(dir, (folder) => folder.read(file), options)
}

/** Memories may be on another disk than the daemon's own state: the error says which of them fails. */
/** Throws where that cannot be told. */
export const isThere = (dir: string) => statSync(dir, { throwIfNoEntry: false }) !== undefined

export function explainDiskError(dir: string, cause: unknown): unknown {
  const problem = diskProblem(cause)
  if (!problem) return cause
  const { code, what, hint } = problem
  return new MemoryError('DEGRADED', `the memory directory ${dir} cannot be used: ${what} (${code})`, { hint, cause })
}

function reaching<T>(
  top: Folder,
  segments: readonly string[],
  step: typeof enter,
  act: (folder: Folder, leaf: string, missing: readonly string[]) => T,
): T {
  try {
    return descend(top, segments.slice(0, -1), step, (folder, missing) => act(folder, segments.at(-1) ?? '', missing))
  } catch (error) {
    // These were checked on the way: something has changed since.
    if (isCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENOTEMPTY'))
      throw refused(`the folders on the way to ${shown(segments.join('/'))} were changed while they were in use`)
    throw error
  }
}

type Change = { file: string; expect: Expected; mode?: number | undefined }

function replace(folder: Folder, leaf: string, bytes: Uint8Array, change: Change): void {
  const mode = change.mode ?? modeOf(folder, leaf, change)
  const temporary = temporaryName()
  try {
    writeNew(folder, temporary, bytes, { mode })
    refuseMoved(folder)
    if (change.expect === null && nameNew(folder, temporary, leaf, change) === 'named') return
    // Another program may have saved the file, or changed its mode, while ours went to the disk.
    compare(readPlain(folder, leaf), { ...change, mode })
    renameSync(folder.at(temporary), folder.at(leaf))
  } catch (error) {
    discard(folder, temporary)
    throw error
  }
}

/** Errors of file systems that know no second name for a file, or keep us from giving it one. */
const NO_LINKS = ['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV', 'EINVAL']

/** Unlike a rename, a link fails where the name is taken. A kill may leave the file both names: then it is not read before a sweep. */
function nameNew(folder: Folder, temporary: string, leaf: string, change: Change): 'named' | 'no-links' {
  try {
    linkSync(folder.at(temporary), folder.at(leaf))
  } catch (error) {
    if (isCode(error, ...NO_LINKS)) return 'no-links'
    if (!isCode(error, 'EEXIST')) throw error
    compare(readPlain(folder, leaf), change)
    throw conflict(change.file, 'is already there')
  }
  unlinkSync(folder.at(temporary))
  return 'named'
}

function modeOf(folder: Folder, leaf: string, change: Change): number {
  const present = readPlain(folder, leaf)
  compare(present, change)
  return present?.mode ?? NEW_MODE
}

/** The next sweep takes what stays. */
function discard(folder: Folder, temporary: string): void {
  try {
    unlinkSync(folder.at(temporary))
  } catch {}
}

function compare(present: Content | undefined, { file, expect, mode }: Change): void {
  if (expect === undefined) return
  if (present?.hash === (expect ?? undefined) && (!present || mode === undefined || present.mode === mode)) return
  const words = !present ? 'is no longer there' : expect === null ? 'is already there' : 'has changed since it was read'
  throw conflict(file, words)
}

function conflict(file: string, words: string): MemoryError {
  return new MemoryError('CONFLICT', `${shown(file)} ${words}`, { hint: 'read it again, then decide' })
}

function inside(file: string): string[] {
  const name = checkReadName(file)
  if (!name.ok) throw refused(name.refused)
  return name.segments
}

function changeable(file: string): string[] {
  const name = checkFileName(file)
  if (!name.ok) throw refused(name.refused)
  return name.file.split('/')
}

function idOf({ held: { dev, ino } }: Folder): string {
  return `${dev}:${ino}`
}

function stampNow(folder: Folder): string {
  return stampOf(fstatSync(folder.fd))
}

function inode(folder: Folder, name: string): bigint | undefined {
  return lstatSync(folder.at(name), { bigint: true, throwIfNoEntry: false })?.ino
}

/** Looks only where a memory may be: `.git` may hold thousands of folders. */
function sweepBelow(folder: Folder, path: string[]): string[] {
  return readdirSync(folder.at(''), { withFileTypes: true }).flatMap((entry) => {
    const here = [...path, entry.name]
    if (entry.isFile() && TEMPORARY.test(entry.name)) {
      rmSync(folder.at(entry.name), { force: true })
      return [here.join('/')]
    }
    if (!entry.isDirectory() || entry.name.startsWith('.') || here.length >= CAP_SEGMENTS) return []
    return descend(folder, [entry.name], enterIfOpen, (sub, missing) =>
      missing.length > 0 ? [] : sweepBelow(sub, here),
    )
  })
}

/** What is closed to us, or became a link just now, holds nothing that could be removed. */
function enterIfOpen(parent: Folder, name: string): Folder | undefined {
  try {
    return enter(parent, name)
  } catch (error) {
    if (isCode(error, 'EACCES', 'REFUSED')) return undefined
    throw error
  }
}
