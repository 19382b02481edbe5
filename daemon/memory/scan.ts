/** What lies in a memory directory, as it is now. Follows no link, opens nothing but regular files, writes nothing. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import {
  descend,
  enter,
  type Folder,
  hashOf,
  isCode,
  isSettled,
  type MayBeAt,
  readUpTo,
  stampOf,
} from '../platform/safe-folder.ts'
import { INDEX_FILE, READ_CAP_SEGMENTS } from './file-names.ts'
import { explainDiskError, inDirectory, isThere } from './folder.ts'
import { oneLine } from './pointer.ts'
import { bodyOf, parseTopic, splitFrontMatter, type TopicFields, topicFields } from './topic-file.ts'

export type ScannedMemory = Partial<TopicFields> & {
  file: string
  /** Empty right after a change: another one might leave the stamp as it is. */
  stamp: string
  modifiedMs: number
  bytes: number
  /** Nothing for a file that is too large to be read as a memory. */
  hash?: string
}

/** `text`: the whole file; nothing when it is too large, or has another name elsewhere. */
export type ReadMemory = { memory: ScannedMemory; text: string | undefined; body: string }

/** `items`: newest first; `older`: how many there are besides. */
export type Scan = { items: ScannedMemory[]; older: number }

export const LIST_MEMORIES = 200
const HEAD_LINES = 30
const HEAD_BYTES = 16 * 1024
/** The range of a JavaScript date. */
const LAST_DATE_MS = 8.64e15
// A name may have become a link or a FIFO since it was looked at: neither is followed, and opening never waits.
const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

export function scanMemories(dir: string, { limit = LIST_MEMORIES } = {}): Scan {
  const files = findMemories(dir)
  const items: ScannedMemory[] = []
  let looked = 0
  inOpenRoot(dir, (top) => {
    for (; items.length < limit && looked < files.length; looked++) {
      const read = readMemory(top, { file: files[looked]?.file ?? '', nowMs: 0 })
      if (read) items.push(read.memory)
    }
  })
  return { items, older: files.length - looked }
}

export type FoundMemory = Pick<ScannedMemory, 'file' | 'stamp' | 'modifiedMs'>

/** Newest first. What is closed to this user is left out. */
export function findMemories(dir: string): FoundMemory[] {
  const files: FoundMemory[] = []
  const visitor: Visitor = {
    enters: (_folder, depth) => depth <= DEPTH_FOLDERS,
    file: (file, stat) => {
      const stats = basename(file) === INDEX_FILE ? undefined : unlessClosed(stat)
      if (stats) files.push({ file, stamp: stampOf(stats), modifiedMs: modifiedMsOf(stats) })
    },
    closedFolder: throwUnlessClosed,
  }
  inOpenRoot(dir, (top) => visitMemories(top, visitor))
  return files.sort(newestFirst)
}

export function newestFirst(a: FoundMemory, b: FoundMemory): number {
  return b.modifiedMs - a.modifiedMs || (a.file < b.file ? -1 : 1)
}

/** False where there is no directory. */
export function inOpenRoot(dir: string, act: (top: Folder) => void): boolean {
  let isOpen = false
  try {
    inDirectory(dir, (top) => {
      isOpen = true
      act(top)
    })
  } catch (error) {
    if (isOpen || !isCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'REFUSED')) throw explainDiskError(dir, error)
  }
  return isOpen
}

/** `known`: what was read before, whose fields hold while the file has not changed. */
type Reading = { file: string; nowMs: number; known?: ScannedMemory | undefined }

export function readMemory(top: Folder, reading: Reading): ReadMemory | undefined {
  const path = reading.file.split('/')
  return unlessClosed(() =>
    descend(top, path.slice(0, -1), enter, (folder, missing) =>
      missing.length > 0 ? undefined : readIn(folder, path.at(-1) ?? '', reading),
    ),
  )
}

function readIn(folder: Folder, leaf: string, { file, nowMs, known }: Reading): ReadMemory | undefined {
  const fd = openSync(folder.at(leaf), OPEN_FILE)
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) return undefined
    const content = readUpTo(fd, stats.size)
    const text = content?.toString()
    const hash = content && hashOf(content)
    const seen = {
      file,
      stamp: isSettled(stats, nowMs) ? stampOf(stats) : '',
      modifiedMs: modifiedMsOf(stats),
      bytes: stats.size,
      ...(hash !== undefined && { hash }),
    }
    if (text !== undefined && known?.hash === hash && stats.nlink === 1)
      return { memory: { ...known, ...seen }, text, body: bodyOf(text) }
    const { body = '', fields } = text === undefined ? { fields: topicFields(headOf(startOf(fd))) } : partsOf(text)
    const memory = { ...seen, ...fields }
    return { memory, text: stats.nlink > 1 ? undefined : text, body }
  } finally {
    closeSync(fd)
  }
}

function partsOf(text: string): { fields: Partial<TopicFields>; body: string } {
  const { body, raw, problem: _problem, ...fields } = parseTopic(text)
  const isShort = raw.trim() !== '' && raw.length <= HEAD_BYTES / 4 && raw.split('\n').length <= HEAD_LINES
  return { fields: isShort ? fields : topicFields(headOf(Buffer.from(text).subarray(0, HEAD_BYTES))), body }
}

/** A front matter that goes on after the last line is closed there: a mark of trust in its first lines still counts. */
function headOf(bytes: Buffer): string {
  const head = bytes.toString().split('\n').slice(0, HEAD_LINES).join('\n')
  return splitFrontMatter(head) ? head : `${head}\n---\n`
}

function startOf(fd: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES)
  return bytes.subarray(0, readSync(fd, bytes, 0, HEAD_BYTES, 0))
}

function modifiedMsOf({ mtimeMs }: Stats): number {
  return Math.max(-LAST_DATE_MS, Math.min(LAST_DATE_MS, Math.floor(mtimeMs)))
}

export function manifest(items: Pick<ScannedMemory, 'file' | 'type' | 'modifiedMs' | 'description'>[]): string {
  return items
    .map(({ file, type, modifiedMs, description }) => {
      const modified = new Date(modifiedMs).toISOString()
      const start = `- ${type === undefined ? '' : `[${type}] `}${oneLine(file)} (${modified})`
      return description === undefined ? start : `${start}: ${oneLine(description)}`
    })
    .join('\n')
}

/** As deep as a memory is found by itself; one that lies deeper can still be named. */
export const DEPTH_FOLDERS = 8

export type Visitor = {
  enters(folder: string, depth: number): boolean
  file(file: string, stat: () => Stats | undefined): void
  otherThing?(file: string): void
  closedFolder(folder: string, cause: unknown): void
}

export function visitMemories(folder: Folder, visitor: Visitor, path: readonly string[] = []): void {
  for (const entry of readdirSync(folder.at(''), { withFileTypes: true })) {
    const here = [...path, entry.name]
    const name = here.join('/')
    if (entry.isDirectory()) {
      if (isMemoryFolder(name) && visitor.enters(name, here.length)) visitBelow(folder, visitor, here)
    } else if (isMemoryName(name)) {
      if (entry.isFile()) visitor.file(name, () => lstatSync(folder.at(entry.name), { throwIfNoEntry: false }))
      else visitor.otherThing?.(name)
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

/** Memories and indexes, sorted. `closed`: folders that cannot be read or lie too deep, and names that are no plain file. */
export function listMemories(dir: string, mayBeAt?: MayBeAt) {
  const files: string[] = []
  const folders: string[] = []
  const closed: string[] = []
  const visitor: Visitor = {
    enters: (folder, depth) => {
      folders.push(folder)
      if (depth >= READ_CAP_SEGMENTS) closed.push(folder)
      return depth < READ_CAP_SEGMENTS
    },
    file: (file) => void files.push(file),
    otherThing: (file) => void closed.push(file),
    closedFolder: (folder) => void closed.push(folder),
  }
  try {
    inDirectory(dir, (top) => visitMemories(top, visitor), mayBeAt)
  } catch (error) {
    if (isThere(dir)) throw error
  }
  return { files: files.sort(), folders: folders.sort(), closed: closed.sort() }
}

/** `settled`: a later change is sure to show in the stamp. */
export type Stamp = { value: string; settled: boolean }

/** Of a directory with more, the others are compared when they are named or known already. */
export const MOST_FILES = 20_000
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
    closedFolder: throwUnlessClosed,
  }
  inDirectory(dir, (top) => visitMemories(top, visitor))
  return found
}

/** A file that is replaced changes the time of its folder. What cannot be told of one comes last. */
export function lastChangedFirst(dirs: readonly string[]): string[] {
  const changedMs = new Map(dirs.map((dir) => [dir, attempt(() => statSync(dir).mtimeMs) ?? 0]))
  return dirs.toSorted((a, b) => (changedMs.get(b) ?? 0) - (changedMs.get(a) ?? 0))
}

/** `gone`: certainly. A directory behind a link that leads nowhere, or out of reach, may come back, with its disk, say. */
export function whereabouts(dir: string): 'here' | 'gone' | 'unknown' {
  for (let at = dir; ; at = dirname(at)) {
    try {
      return statSync(at).isDirectory() && at === dir ? 'here' : 'gone'
    } catch (error) {
      const isLink = attempt(() => lstatSync(at).isSymbolicLink())
      if (!isCode(error, 'ENOENT', 'ENOTDIR') || isLink) return 'unknown'
    }
  }
}

/** Gone, become a link, or not for this user. Any other error says nothing about what lies there. */
function unlessClosed<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    return throwUnlessClosed('', error)
  }
}

function throwUnlessClosed(_folder: string, error: unknown): undefined {
  if (!isCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EACCES', 'EPERM', 'REFUSED')) throw error
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}
