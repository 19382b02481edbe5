/**
 * Lists the memories of a directory from its names, times and front matter. Follows no link, opens nothing but regular
 * files, parses no more than their first lines, writes nothing.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync, type Stats } from 'node:fs'
import { bestReach, descend, enter, type Folder, openRoot } from './descend.ts'
import { splitFrontMatter } from './front-matter-edit.ts'
import { oneLine } from './one-line.ts'
import { hashOf, readUpTo } from './plain-file.ts'
import { type MemoryType, parseTopic, type Trust } from './topic-file.ts'

export type ScannedMemory = {
  /** Within the memory directory, with slashes. */
  file: string
  name?: string
  description?: string
  type?: MemoryType
  trust?: Trust
  modifiedAt: string
  modifiedMs: number
  bytes: number
  /** Of the whole content; nothing for a file that is too large to be read as a memory. */
  hash?: string
}

/** What was read of a file, for as long as its stamp is the same. */
export type Read = { stamp: string; changedMs: number; item: ScannedMemory }

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
const DEPTH_FOLDERS = 8
const INDEX = 'MEMORY.md'
const LOGS = 'logs'
/** Beyond this a time is no date. */
const LAST_DATE_MS = 8.64e15
// A name may have become a link or a FIFO since it was looked at: neither is followed, and opening never waits.
const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** `known` is what earlier scans of this directory read: looked up, and added to. */
export function scanMemories(
  dir: string,
  { limit = LIST_MEMORIES, known = new Map() }: { limit?: number; known?: Map<string, Read> } = {},
): Scan {
  const top = attempt(() => openRoot(dir, bestReach(process.platform)))
  if (!top) return { items: [], folders: [], older: 0, skipped: attempt(() => lstatSync(dir)) ? 1 : 0 }
  try {
    const { files, folders, skipped } = attempt(() => walk(top, [])) ?? { files: [], folders: [], skipped: 1 }
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
  } finally {
    closeSync(top.fd)
  }
}

/** These memories of a directory, in this order; those that are not there are left out. */
export function readMemories(dir: string, files: readonly string[]): ScannedMemory[] {
  const top = attempt(() => openRoot(dir, bestReach(process.platform)))
  if (!top) return []
  try {
    return files.flatMap((file) => readMemory(top, file, new Map()) ?? [])
  } finally {
    closeSync(top.fd)
  }
}

type Seen = { file: string; stats: Stats }
type Walk = { files: Seen[]; folders: string[]; skipped: number }

function stampOf({ mtimeMs, ctimeMs, size, ino }: Stats): string {
  return `${mtimeMs} ${ctimeMs} ${size} ${ino}`
}

function walk(folder: Folder, path: readonly string[]): Walk {
  const found: Walk = { files: [], folders: [], skipped: 0 }
  for (const entry of readdirSync(folder.at(''), { withFileTypes: true })) {
    const here = [...path, entry.name]
    const file = here.join('/')
    if (entry.name.startsWith('.') || file === LOGS) continue
    if (entry.isDirectory()) {
      const below = here.length > DEPTH_FOLDERS ? undefined : attempt(() => walkBelow(folder, here))
      found.files = found.files.concat(below?.files ?? [])
      found.folders.push(file, ...(below?.folders ?? []))
      found.skipped += below?.skipped ?? 1
    } else if (entry.name.endsWith('.md') && entry.name !== INDEX) {
      const stats = entry.isFile() ? attempt(() => lstatSync(folder.at(entry.name))) : undefined
      if (stats) found.files.push({ file, stats })
      else found.skipped += 1
    }
  }
  return found
}

function walkBelow(folder: Folder, path: readonly string[]): Walk {
  return descend(folder, path.slice(-1), enter, (below, missing) =>
    missing.length > 0 ? { files: [], folders: [], skipped: 0 } : walk(below, path),
  )
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
    const { name, description, type, trust } = parseTopic(headOf(content?.subarray(0, HEAD_BYTES) ?? startOf(fd)))
    const item = {
      file,
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
      ...(type !== undefined && { type }),
      ...(trust !== undefined && { trust }),
      modifiedAt: new Date(modifiedMs).toISOString(),
      modifiedMs,
      bytes: stats.size,
      ...(content && { hash: hashOf(content) }),
    }
    return { stamp: stampOf(stats), changedMs: stats.ctimeMs, item }
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
