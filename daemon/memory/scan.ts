/**
 * Lists the memories of a directory from its names, times and front matter. Follows no link, opens nothing but regular
 * files, parses no more than their first lines, writes nothing.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { descend, enter, type Folder, inRoot, isCode } from './descend.ts'
import { INDEX_FILE, READ_CAP_SEGMENTS } from './file-names.ts'
import { inFolder, readPresent } from './folder.ts'
import { splitFrontMatter } from './front-matter-edit.ts'
import type { Ground } from './import-plan.ts'
import { hashOf, readUpTo } from './plain-file.ts'
import { oneLine } from './pointer.ts'
import { isSettled, stampOf } from './stamp.ts'
import { type TopicFields, topicFields } from './topic-file.ts'

export type ScannedMemory = Partial<TopicFields> & {
  /** Within the memory directory, with slashes. */
  file: string
  modifiedAt: string
  modifiedMs: number
  bytes: number
  /** Of the whole content; nothing for a file that is too large to be read as a memory. */
  hash?: string
}

/** What was read of a file, for as long as its stamp is the same. */
export type Read = { stamp: string; ctimeMs: number; item: ScannedMemory }

export type Scan = {
  /** Newest first. */
  items: ScannedMemory[]
  /** Folders that were looked into, below the directory. */
  folders: string[]
  /** Memories there are besides, older than the listed ones. */
  older: number
  /** Markdown files and folders that could not be read, are links or no regular files, or lie too deep. */
  skipped: number
}

const LIST_MEMORIES = 200
const HEAD_LINES = 30
const HEAD_BYTES = 16 * 1024
/** Beyond this a time is no date. */
const LAST_DATE_MS = 8.64e15
// A name may have become a link or a FIFO since it was looked at: neither is followed, and opening never waits.
const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** `known` is what earlier scans of this directory read: looked up, and added to. */
export type ScanOptions = { limit?: number; known?: Map<string, Read> }

export function scanMemories(dir: string, options: ScanOptions = {}): Scan {
  const scan = attempt(() => inRoot(dir, (top) => scanIn(top, options)))
  return scan ?? { items: [], folders: [], older: 0, skipped: attempt(() => lstatSync(dir)) ? 1 : 0 }
}

/** These memories of a directory, in this order; those that are not there are left out. */
export function readMemories(dir: string, files: readonly string[]): ScannedMemory[] {
  const found = attempt(() => inRoot(dir, (top) => files.flatMap((file) => readMemory(top, file, new Map()) ?? [])))
  return found ?? []
}

function scanIn(top: Folder, { limit = LIST_MEMORIES, known = new Map() }: ScanOptions): Scan {
  const { files, folders, skipped } = findFiles(top)
  const newest = files.sort((a, b) => b.stats.mtimeMs - a.stats.mtimeMs || (a.file < b.file ? -1 : 1))
  const items: ScannedMemory[] = []
  let looked = 0
  while (items.length < limit && looked < newest.length) {
    const { file, stats } = newest[looked] as Seen
    const kept = known.get(file)
    const item = kept?.stamp === stampOf(stats) ? kept.item : readMemory(top, file, known)
    if (item) items.push(item)
    looked += 1
  }
  return { items, folders, older: newest.length - looked, skipped: skipped + looked - items.length }
}

type Seen = { file: string; stats: Stats }
type Found = { files: Seen[]; folders: string[]; skipped: number }

function findFiles(top: Folder): Found {
  const found: Found = { files: [], folders: [], skipped: 0 }
  const skip = () => void found.skipped++
  visitMemories(top, {
    enters: (folder, depth) => {
      found.folders.push(folder)
      if (depth > DEPTH_FOLDERS) skip()
      return depth <= DEPTH_FOLDERS
    },
    file: (file, stat) => {
      if (basename(file) === INDEX_FILE) return
      const stats = attempt(stat)
      if (stats) found.files.push({ file, stats })
      else skip()
    },
    otherThing: (file) => {
      if (basename(file) !== INDEX_FILE) skip()
    },
    closedFolder: skip,
  })
  return found
}

function readMemory(top: Folder, file: string, known: Map<string, Read>): ScannedMemory | undefined {
  const path = file.split('/')
  const read = attempt(() =>
    descend(top, path.slice(0, -1), enter, (folder, missing) =>
      missing.length > 0 ? undefined : readHeadOf(folder, path.at(-1) ?? '', file),
    ),
  )
  if (read) known.set(file, read)
  return read?.item
}

function readHeadOf(folder: Folder, leaf: string, file: string): Read | undefined {
  const fd = openSync(folder.at(leaf), OPEN_FILE)
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) return undefined
    const modifiedMs = Math.max(-LAST_DATE_MS, Math.min(LAST_DATE_MS, Math.floor(stats.mtimeMs)))
    const content = readUpTo(fd, stats.size)
    const head = headOf(content?.subarray(0, HEAD_BYTES) ?? startOf(fd))
    const item = {
      file,
      ...topicFields(head),
      modifiedAt: new Date(modifiedMs).toISOString(),
      modifiedMs,
      bytes: stats.size,
      ...(content && { hash: hashOf(content) }),
    }
    return { stamp: stampOf(stats), ctimeMs: stats.ctimeMs, item }
  } finally {
    closeSync(fd)
  }
}

/** A front matter that goes on after the last line read is closed there: a mark in its first lines still counts. */
function headOf(bytes: Buffer): string {
  const head = bytes.toString().split('\n').slice(0, HEAD_LINES).join('\n')
  return splitFrontMatter(head) ? head : `${head}\n---\n`
}

function startOf(fd: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES)
  return bytes.subarray(0, readSync(fd, bytes, 0, HEAD_BYTES, 0))
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}

/** One line for each memory, as a model reads them; a memory without a known type has no bracket. */
export function manifest(items: Pick<ScannedMemory, 'file' | 'type' | 'modifiedAt' | 'description'>[]): string {
  return items
    .map(({ file, type, modifiedAt, description }) => {
      const start = `- ${type === undefined ? '' : `[${type}] `}${oneLine(file)} (${modifiedAt})`
      return description === undefined ? start : `${start}: ${oneLine(description)}`
    })
    .join('\n')
}

/**
 * The way through a memory directory: which names in it are those of memories and their indexes, folder by folder. Follows
 * no link, opens no file, never goes into hidden folders and logs. How far it goes is up to whoever looks.
 */

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

/** Which memories and indexes a directory holds, as they are now, however many. */

export type Listing = {
  /** With slashes, sorted. */
  files: string[]
  folders: string[]
  /** Folders that cannot be looked into or lie too deep, and what is called like a memory and is no plain file. */
  closed: string[]
}

export function listMemories(dir: string): Listing {
  const files: string[] = []
  const folders: string[] = []
  const closed: string[] = []
  const visitor: Visitor = {
    enters: (folder, depth) => {
      folders.push(folder)
      if (depth < READ_CAP_SEGMENTS) return true
      closed.push(folder)
      return false
    },
    file: (file) => void files.push(file),
    otherThing: (file) => void closed.push(file),
    closedFolder: (folder) => void closed.push(folder),
  }
  if (existsSync(dir)) visit(dir, visitor)
  return { files: files.sort(), folders: folders.sort(), closed: closed.sort() }
}

/** One that has gone just now holds nothing. */
function visit(dir: string, visitor: Visitor): void {
  try {
    inRoot(dir, (top) => visitMemories(top, visitor))
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error
  }
}

/** The directory as it is for what comes from elsewhere. */
export function groundOf(dir: string): Ground {
  const { files, folders, closed } = listMemories(dir)
  const readable = new Set(files)
  return {
    names: [...files, ...folders, ...closed],
    hashAt: (file) => (readable.has(file) ? hashIn(dir, file) : undefined),
  }
}

/** Nothing for what cannot be read safely: then it is the same as nothing else. */
function hashIn(dir: string, file: string): string | undefined {
  try {
    return inFolder(dir, (folder) => readPresent(folder, file))?.hash
  } catch {
    return undefined
  }
}

/**
 * Which markdown files are in a memory directory, by their names and stamps. Opens none of them.
 * Also where the directory itself has gone to.
 */

/** `settled`: a change after this look is sure to show in the stamp. */
export type Stamp = { value: string; settled: boolean }

/** Of a directory with more, the others are compared when they are named or known already. */
export const MOST_FILES = 5_000
const MOST_FOLDERS = 1_000

export function markdownFiles(dir: string, nowMs: number): Map<string, Stamp> {
  const found = new Map<string, Stamp>()
  let folders = 0
  const visitor: Visitor = {
    enters: (_folder, depth) => depth <= DEPTH_FOLDERS && folders++ < MOST_FOLDERS,
    file: (file, stat) => {
      const stats = found.size < MOST_FILES ? stat() : undefined
      if (stats) found.set(file, { value: stampOf(stats), settled: isSettled(stats, nowMs) })
    },
    otherThing: () => {},
    // One that is closed to us, or became a link just now, is passed by.
    closedFolder: (_folder, cause) => {
      if (!isCode(cause, 'EACCES', 'REFUSED')) throw cause
    },
  }
  inRoot(dir, (top) => visitMemories(top, visitor))
  return found
}

/**
 * A directory that is certainly not there any more has lost its files. One behind a link that leads nowhere, or out of
 * reach, may come back as it was: on a disk that is not mounted, say.
 */
export function whereabouts(dir: string): 'here' | 'gone' | 'unknown' {
  for (let at = dir; ; at = dirname(at)) {
    try {
      return statSync(at).isDirectory() && at === dir ? 'here' : 'gone'
    } catch (error) {
      if (!isCode(error, 'ENOENT', 'ENOTDIR') || isLink(at)) return 'unknown'
    }
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}
