/**
 * Lists the memories of a directory from its names, times and front matter. Follows no link, opens nothing but regular
 * files, parses no more than their first lines, writes nothing.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from 'node:fs'
import { basename } from 'node:path'
import { descend, enter, type Folder, inRoot } from './descend.ts'
import { INDEX_FILE } from './file-name.ts'
import { splitFrontMatter } from './front-matter-edit.ts'
import { DEPTH_FOLDERS, visitMemories } from './memory-tree.ts'
import { oneLine } from './one-line.ts'
import { hashOf, readUpTo } from './plain-file.ts'
import { stampOf } from './stamp.ts'
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
