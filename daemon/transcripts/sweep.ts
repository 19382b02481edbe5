/** Finds transcripts that are not as they were when they were read last: sizes on disk are the truth, watch events only hints. */
import { type Dir, lstatSync, opendirSync, type Stats } from 'node:fs'
import { setImmediate as immediate } from 'node:timers/promises'
import type { Core } from '../core.ts'
import { adapterFor, mayHold, type Root, type Source, sourceOf } from './formats/format.ts'
import { lstat, type ReadQueue } from './read-queue.ts'
import type { Lane } from './reader-worker.ts'
import { type Cursor, compare, lookOf } from './tail.ts'
import type { TranscriptFiles } from './transcript-table.ts'

export type Sweep = ReturnType<typeof createSweep>

const PAGE = 200

export function createSweep({ clock }: Core, files: TranscriptFiles, queue: ReadQueue, signal: AbortSignal) {
  let lastId = 0

  /** What the index knows, asked once for each file after a start: from then on the queue remembers it. */
  const unreadOf = (path: string): { isRead: boolean; bytes?: number } => {
    const json = files.cursor(path)
    if (json === undefined) return { isRead: false }
    const cursor = JSON.parse(json) as Cursor
    try {
      const now = lookOf(lstatSync(path, { bigint: true }), clock.now())
      const known = compare(cursor, now)
      const bytes = known === 'other' ? now.sizeBytes : now.sizeBytes - cursor.scanned
      return { isRead: known === 'same' && bytes === 0, bytes }
    } catch {
      return { isRead: false }
    }
  }

  const look = (path: string, stats: Stats, lane: Lane, sourceAt: () => Source | undefined) => {
    if (queue.isUnchanged(path, stats)) return
    const unread = unreadOf(path)
    const source = unread.isRead ? undefined : sourceAt()
    if (source) queue.add(source, lane, stats, unread.bytes)
    else queue.remember(path, stats)
  }

  const file = (source: Source, lane: Lane) => {
    const stats = lstat(source.path)
    if (stats) look(source.path, stats, lane, () => source)
    else queue.add(source, lane, undefined)
  }

  return {
    look,
    file,
    folder: async (root: Root, name: string, lane: Lane) => {
      for await (const sources of transcriptsBelow(root, name)) {
        if (signal.aborted) return
        for (const source of sources) file(source, lane)
      }
    },
    /** Whether all of a file was read, as far as can be told without reading it. */
    isRead: (path: string) => unreadOf(path).isRead,
    /** Looks for files that were read and are gone: so many of them, and the next ones the next time. */
    missing: async (most: number) => {
      for (let looked = 0; looked < most && !signal.aborted; looked += PAGE) {
        const page = files.present({ after: lastId, limit: PAGE })
        for (const { id: _, ...source } of page) if (!lstat(source.path)) queue.add(source, 'backlog', undefined)
        lastId = page.at(-1)?.id ?? 0
        if (page.length === 0) return
        await immediate()
      }
    },
  }
}

async function* transcriptsBelow(root: Root, folder: string): AsyncGenerator<Source[]> {
  const isWanted = (name: string) => sourceOf(root, name) !== undefined
  const walk = { depth: adapterFor(root.harness).depth, isWanted, enters: (name: string) => mayHold(root, name) }
  for await (const entries of walkNames(root.path, folder, walk))
    yield entries.flatMap(({ name, kind }) => (kind === 'file' ? (sourceOf(root, name) ?? []) : []))
}

type Walk = { depth: number; isWanted: (name: string) => boolean; enters: (folder: string) => boolean }
export type Entry = { name: string; kind: 'file' | 'link' }

/** Names below a folder of `base`, a few at a time. Passes over what cannot be listed, unless too many files are open. */
export async function* walkNames(base: string, folder: string, { depth, isWanted, enters }: Walk) {
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    if (!enters(next)) continue
    const dir = open(next === '' ? base : `${base}/${next}`)
    if (!dir) continue
    try {
      let found: Entry[] = []
      let looked = 0
      for (let entry = readOne(dir); entry; entry = readOne(dir)) {
        const name = next === '' ? entry.name : `${next}/${entry.name}`
        const kind = entry.isFile() ? 'file' : entry.isSymbolicLink() ? 'link' : undefined
        if (kind && isWanted(name)) found.push({ name, kind })
        if (entry.isDirectory() && name.split('/').length <= depth) folders.push(name)
        if (++looked % PAGE > 0) continue
        if (found.length > 0) yield found
        found = []
        await immediate()
      }
      if (found.length > 0) yield found
      await immediate()
    } finally {
      dir.closeSync()
    }
  }
}

function open(path: string): Dir | undefined {
  try {
    return opendirSync(path, { bufferSize: PAGE })
  } catch (error) {
    if (isExhausted(error)) throw error
    return undefined
  }
}

export function isExhausted(error: unknown): error is NodeJS.ErrnoException {
  return ['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '')
}

function readOne(dir: Dir) {
  try {
    return dir.readSync()
  } catch {
    return null
  }
}
