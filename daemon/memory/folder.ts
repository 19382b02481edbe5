/** A memory directory as the gate sees it: texts and hashes, opened for one piece of work and closed again. */
import { isUtf8 } from 'node:buffer'
import { randomInt } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, lstatSync, readdirSync, renameSync, rmSync, unlinkSync } from 'node:fs'
import { MemoryError } from '../../schema/errors.ts'
import {
  CAP_BYTES,
  type Content,
  descend,
  enter,
  type Folder,
  hashOf,
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
import { CAP_SEGMENTS, checkFileName, checkReadName, INDEX_FILE, INDEXES, twinAmong, twinKey } from './file-names.ts'

/** A file as text; `exact` when the text gives the same bytes back. `mode`: permissions only. */
export type Present = { hash: string; bytes: Buffer; text: string; exact: boolean; mode: number; stamp: string }

/** Opens the directory for as long as `act` takes, to list and to read what is below it. */
export function inDirectory<T>(dir: string, act: (top: Folder) => T): T {
  return inRoot(dir, placesOf(dir, undefined), act)
}

/** A sub-agent's directory may stand in a repository: it is located with every link followed, so that none may be left in it. */
function placesOf(dir: string, mayBeAt: MayBeAt | undefined): MayBeAt {
  const isAgentDir = /\/agent-memory(-local)?\/[^/]+$/.test(dir)
  return (where) => !isAgentDir && (mayBeAt?.(where) ?? true)
}

/** Makes the directory if need be. Whoever opens it has to close it. */
export function openIn(dir: string, mayBeAt?: MayBeAt): Confined {
  try {
    return openIfThere(dir, mayBeAt) ?? openMade(dir, mayBeAt)
  } catch (error) {
    throw placeTrouble(dir, error)
  }
}

export function inFolder<T>(dir: string, act: (folder: Confined) => T, mayBeAt?: MayBeAt): T {
  const folder = openIn(dir, mayBeAt)
  try {
    return act(folder)
  } catch (error) {
    throw placeTrouble(dir, error)
  } finally {
    folder.close()
  }
}

function openIfThere(dir: string, mayBeAt: MayBeAt | undefined): Confined | undefined {
  try {
    return openFolder(dir, { mayBeAt })
  } catch (error) {
    // Whatever stands in the way is named by whoever tries to make it.
    if (isCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

function openMade(dir: string, mayBeAt: MayBeAt | undefined): Confined {
  try {
    makeFolder(dir, placesOf(dir, mayBeAt))
    return openFolder(dir, { mayBeAt })
  } catch (error) {
    if (isCode(error, 'ENOENT')) throw refused(`the folder ${shown(dir)} was taken away while it was being opened`)
    if (!isCode(error, 'ENOTDIR')) throw error
    throw new MemoryError('REFUSED', `${dir} is not a folder`, { reason: 'path', hint: 'move it away', cause: error })
  }
}

const troubles: Record<string, string> = {
  ENOSPC: 'there is no space left',
  EDQUOT: 'the quota is used up',
  EROFS: 'it is read-only',
  EIO: 'its disk fails',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
}

/** Memories may be on another disk than the daemon's own state: whoever writes is told which of them it is. */
export function placeTrouble(dir: string, cause: unknown): unknown {
  const code = String((cause as { code?: unknown } | undefined)?.code)
  if (!Object.hasOwn(troubles, code)) return cause
  return new MemoryError('DEGRADED', `the memory directory ${dir} cannot be used: ${troubles[code]} (${code})`, {
    hint: 'make room there, or make it writable for you',
    cause,
  })
}

export function readPresent(folder: Confined, file: string): Present | undefined {
  const content = folder.read(file)
  return content && presentOf(content)
}

export function presentOf({ bytes, hash, mode, stamp }: Content): Present {
  return { hash, bytes, text: bytes.toString(), exact: isUtf8(bytes), mode, stamp }
}

/** `team/x.md` is pointed to by the team's own index, everything else by the directory's. */
export function indexOf(file: string): string {
  return file.startsWith('team/') ? `team/${INDEX_FILE}` : INDEX_FILE
}

export function isIndex(file: string): boolean {
  return INDEXES.includes(file)
}

/** A file as its own index names it. */
export function nameInIndex(file: string): string {
  return file.startsWith('team/') ? file.slice('team/'.length) : file
}

/** Several files, written all or none. */

/** `content`: nothing for a file that goes. */
type Step = { file: string; before: Before | undefined; content: string | Buffer | undefined }
type Before = Pick<Present, 'hash' | 'bytes' | 'mode'>

/** All of them, each only over what was seen; what was written before one failed is put back. */
export function putAll(folder: Confined, steps: readonly Step[]): void {
  const begun: Step[] = []
  try {
    for (const step of inOrder(steps)) {
      begun.push(step)
      put(folder, step)
    }
    folder.settle()
  } catch (error) {
    // Where it met somebody else's file, what stands there is theirs; any other trouble may have come after it was written.
    if (isCode(error, 'CONFLICT')) begun.pop()
    for (const step of begun.reverse()) putBack(folder, step)
    throw error
  }
}

/** What goes, goes last: as long as a write may fail, nothing has to come back. Only what is in the way of one goes first. */
function inOrder(steps: readonly Step[]): readonly Step[] {
  // Mostly none goes.
  if (steps.every(({ content }) => content !== undefined)) return steps
  const written = new Set(steps.flatMap(({ file, content }) => (content === undefined ? [] : [twinKey(file)])))
  const rank = ({ file, content }: Step) => (content !== undefined ? 1 : written.has(twinKey(file)) ? 0 : 2)
  return [...steps].sort((a, b) => rank(a) - rank(b))
}

function put(folder: Confined, { file, before, content }: Step): void {
  if (content === undefined) {
    if (before) folder.remove(file, { expect: before.hash, mode: before.mode })
    return
  }
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  folder.write(file, bytes, { expect: before?.hash ?? null, mode: before?.mode ?? NEW_MODE, settle: 'later' })
}

/** To the byte, over nothing but what we wrote. What cannot be put back keeps no other from it: the failure before is told. */
function putBack(folder: Confined, { file, before, content }: Step): void {
  try {
    if (content === undefined) {
      if (before) folder.write(file, before.bytes, { expect: null, mode: before.mode })
    } else if (before) folder.write(file, before.bytes, { expect: hashOf(content) })
    else folder.remove(file, { expect: hashOf(content) })
  } catch {}
}

/**
 * Reads and writes plain files in one folder tree and nowhere else, whatever links, twins and swapped folders are in the
 * way. Judges places, never content. A file is replaced whole or not at all, and only where it holds what was expected.
 */

/** What must be there for a change to happen: content with this hash, no file (`null`), or anything (`undefined`). */
export type Expected = string | null | undefined

export type Confined = {
  /** Any name that leads to a place inside, also one that we would not give. */
  read(file: string): Content | undefined
  /** The same for what is probably not there: a glance first, for opening what is not there makes an error each time. */
  find(file: string): Content | undefined
  /** Whether it is the file that was read, as far as a glance tells: a change within a tick of the clock may not show. */
  isStill(file: string, read: Pick<Content, 'stamp'> | undefined): boolean
  /**
   * When it returns, the content survives a power cut; with `settle: 'later'`, once `settle()` has returned. Whoever has seen
   * the `mode` of what is there spares a look at it; the one right before it is replaced takes place in any case.
   */
  write(file: string, bytes: Uint8Array, options: { expect: Expected; mode?: number; settle?: 'later' }): 'written'
  /** One wait for the names of several files instead of one for each. */
  settle(): void
  /** Folders that are empty then go as well. With a `mode`, only a file that has it. */
  remove(file: string, options: { expect: string | undefined; mode?: number }): 'removed' | 'absent'
  /** Half-written files of a process that was killed. */
  leftovers(): string[]
  /** Removes them and tells which. Not while another process writes here. */
  sweep(): string[]
  close(): void
}

type OpenOptions = { reach?: Reach; mayBeAt?: MayBeAt | undefined }

const TEMPORARY = /^\.memoryd-\d+-\d+\.tmp$/

/** Holds `root` open until `close()`. Once another folder stands in its place, everything is refused: open it again. */
export function openFolder(root: string, { reach, mayBeAt }: OpenOptions = {}): Confined {
  const top = openRoot(root, placesOf(root, mayBeAt), reach)

  const readBy = (look: typeof readPlain) => (file: string) => {
    if (top.reach === 'path') refuseMoved(top)
    return reaching(top, inside(file), enter, (folder, leaf, missing) => {
      const content = missing.length > 0 ? undefined : look(folder, leaf)
      // By descriptor it came from the folder that is held: it is enough that this one is still in its place.
      refuseMoved(folder)
      return content
    })
  }

  const isStill: Confined['isStill'] = (file, seen) =>
    reaching(top, inside(file), enter, (folder, leaf, missing) => {
      const stats = missing.length > 0 ? undefined : lstatSync(folder.at(leaf), { throwIfNoEntry: false })
      refuseMoved(folder)
      return (stats && stampOf(stats)) === seen?.stamp
    })

  let unsettled = false
  const write: Confined['write'] = (file, bytes, { expect, mode, settle }) => {
    if (bytes.length > CAP_BYTES) throw refused(`${shown(file)} would be larger than ${CAP_BYTES} bytes`)
    refuseMoved(top)
    return reaching(top, changeable(file), enterNoTwin, (folder, leaf, missing) => {
      // Before any folder is made: a refused write leaves nothing behind.
      if (missing.length === 0) refuseTwin(folder, leaf)
      else compare(undefined, { file, expect })
      return withNewFolders(folder, missing, (target) => {
        replace(target, leaf, bytes, { file, expect, mode })
        // Only the root stays open until then.
        if (settle === 'later' && target === top) unsettled = true
        else fsyncSync(target.fd)
        refuseMoved(target)
        return 'written'
      })
    })
  }

  const remove: Confined['remove'] = (file, { expect, mode }) => {
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
    read: readBy(readPlain),
    find: readBy(findPlain),
    isStill,
    write,
    remove,
    settle: () => {
      if (unsettled) fsyncSync(top.fd)
      unsettled = false
    },
    leftovers: () => temporaries(top, [], () => {}),
    sweep: () => temporaries(top, [], (folder, name) => rmSync(folder.at(name), { force: true })),
    close: () => closeSync(top.fd),
  }
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
    // What may be missing or in the way was looked at already: it has changed since.
    if (isCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENOTEMPTY'))
      throw refused(`the folders on the way to ${shown(segments.join('/'))} were changed while they were in use`)
    throw error
  }
}

type Change = { file: string; expect: Expected; mode?: number | undefined }

function replace(folder: Folder, leaf: string, bytes: Uint8Array, change: Change): void {
  const mode = change.mode ?? modeOf(folder, leaf, change)
  const temporary = `.memoryd-${process.pid}-${randomInt(2 ** 48 - 1)}.tmp`
  try {
    writeNew(folder, temporary, bytes, { mode })
    refuseMoved(folder)
    if (change.expect === null && nameNew(folder, temporary, leaf, change) === 'named') return
    // Somebody may have saved the file, or closed it to others, while ours went to the disk.
    const look = change.expect === null ? findPlain : readPlain
    compare(look(folder, leaf), { ...change, mode })
    renameSync(folder.at(temporary), folder.at(leaf))
  } catch (error) {
    discard(folder, temporary)
    throw error
  }
}

/** What systems say that know no second name for a file, or keep us from giving it one. */
const NO_LINKS = ['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV', 'EINVAL']

/**
 * A new file gets its name only where nobody has it, which a rename does not ask. For a moment it has two names, and a kill
 * may leave it both: then it is not read until the sweep has taken the other one away.
 */
function nameNew(folder: Folder, temporary: string, leaf: string, change: Change): 'named' | 'no-links' {
  try {
    linkSync(folder.at(temporary), folder.at(leaf))
  } catch (error) {
    if (isCode(error, ...NO_LINKS)) return 'no-links'
    if (!isCode(error, 'EEXIST')) throw error
    // By what it is taken is told by whoever looks at it; that may be gone again by now.
    compare(findPlain(folder, leaf), change)
    throw conflict(change, 'is already there')
  }
  unlinkSync(folder.at(temporary))
  return 'named'
}

/** Where nothing is expected a glance at the name is enough. What keeps us from that is told by whoever opens it. */
function findPlain(folder: Folder, leaf: string): Content | undefined {
  try {
    if (!lstatSync(folder.at(leaf), { throwIfNoEntry: false })) return undefined
  } catch {}
  return readPlain(folder, leaf)
}

function modeOf(folder: Folder, leaf: string, change: Change): number {
  const present = readPlain(folder, leaf)
  compare(present, change)
  return present?.mode ?? NEW_MODE
}

/** What went wrong before is what the caller must hear of; the next sweep takes what stays. */
function discard(folder: Folder, temporary: string): void {
  try {
    unlinkSync(folder.at(temporary))
  } catch {}
}

function compare(present: Content | undefined, { file, expect, mode }: Change): void {
  if (expect === undefined) return
  if (present?.hash === (expect ?? undefined) && (!present || mode === undefined || present.mode === mode)) return
  const words = !present ? 'is no longer there' : expect === null ? 'is already there' : 'has changed since it was read'
  throw conflict({ file }, words)
}

function conflict({ file }: Pick<Change, 'file'>, words: string): MemoryError {
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

function enterNoTwin(parent: Folder, name: string): Folder | undefined {
  refuseTwin(parent, name)
  return enter(parent, name)
}

/** Where case does not count, the system finds `note.md` under the name `Note.md` too: only the listing tells. */
function refuseTwin(folder: Folder, name: string): void {
  if (folder.reach === 'descriptor' && isThereExactly(folder, name)) return
  const entries = readdirSync(folder.at(''))
  const twin = entries.includes(name) ? undefined : twinAmong(name, entries)
  if (twin !== undefined)
    throw refused(`${shown(name)} would stand beside ${shown(twin)}, and some systems take one for the other`)
}

/** Spares the listing: what is found by this name, and not by the same in capitals, has this name. */
function isThereExactly(folder: Folder, name: string): boolean {
  const found = inode(folder, name)
  const capitals = name.toUpperCase()
  return found !== undefined && (capitals === name || inode(folder, capitals) !== found)
}

function inode(folder: Folder, name: string): bigint | undefined {
  return lstatSync(folder.at(name), { bigint: true, throwIfNoEntry: false })?.ino
}

/** Looks only where a memory may be: `.git` may hold thousands of folders, and nothing of ours. */
function temporaries(folder: Folder, path: string[], act: (folder: Folder, name: string) => void): string[] {
  return readdirSync(folder.at(''), { withFileTypes: true }).flatMap((entry) => {
    const { name } = entry
    const here = [...path, name]
    if (entry.isFile() && TEMPORARY.test(name)) {
      act(folder, name)
      return [here.join('/')]
    }
    if (!entry.isDirectory() || name.startsWith('.') || here.length >= CAP_SEGMENTS) return []
    return descend(folder, [name], enterIfOpen, (sub, missing) =>
      missing.length === 0 ? temporaries(sub, here, act) : [],
    )
  })
}

/** A folder that is closed to us, or that became a link just now, holds nothing that we could take away. */
function enterIfOpen(parent: Folder, name: string): Folder | undefined {
  try {
    return enter(parent, name)
  } catch (error) {
    if (isCode(error, 'EACCES', 'REFUSED')) return undefined
    throw error
  }
}
