/** Finds the transcripts that are not as they were when they were read last: sizes on disk are the truth, events only hints. */
import { type Dir, lstatSync, opendirSync, type Stats } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import { createNumberMap } from '../platform/number-map.ts'
import { depthOf, mayHold, type Root, type Source, sourceOf } from './formats/formats.ts'
import type { Anywhere, Folder } from './import-folder.ts'
import { type Cursor, compare, lookOf } from './tail.ts'
import type { TranscriptFiles } from './transcript-table.ts'

/** `look`: what to remember once it is read. */
export type Found = { source: Source; unreadBytes: number; look: Look | undefined }

/**
 * Per root: its folders as they were when they were listed last, and the paths of its files that were written lately;
 * `crowded` when there are too many of those to keep.
 */
export type KnownRoots = Map<string, { folders: Map<string, number>; files: Set<string>; crowded: boolean }>

type Deps = {
  files: Pick<TranscriptFiles, 'cursor' | 'present'>
  looks: Looks
  /** Shared by all who look. */
  known: KnownRoots
  clock: Clock
  anywhere: Anywhere
  onFound: (found: Found) => void
  /** Waits until there is room for more. */
  room: () => Promise<void>
  signal: AbortSignal
}

export type Sweep = {
  /** All below a folder of a root, named from the root on. */
  folder(root: Root, folder: string): Promise<void>
  /**
   * The files of a root that were written lately, and those of folders in which something came or went since they were
   * listed. Enough where watches tell of the others: ten thousand files that nobody writes cost nothing.
   */
  lively(root: Root): Promise<void>
  file(source: Source): void
  /** All below a folder that somebody once named. */
  anywhere(folder: Folder): Promise<void>
  /** Whether all of a file was read, as far as can be told without reading it. */
  isRead(path: string): boolean
  /** Files that were read and may have been deleted since: so many of them, and the next ones the next time. */
  missing(most: number): Promise<void>
}

const PAGE = 200
/** Written within the last hour: the next line may come any moment. */
const LIVELY_MS = 3_600_000
/** A hundred thousand that came at once would be most of what the daemon holds: where there are more, all are looked at. */
const MOST_LIVELY = 2_000
/** As for files: a folder that changed this short ago may change once more within the same tick. */
const SETTLED_MS = 2_000

export function createSweep({ files, looks, known, clock, anywhere, onFound, room, signal }: Deps): Sweep {
  const knownOf = ({ harness, path }: Root) => {
    const key = `${harness} ${path}`
    const of = known.get(key) ?? { folders: new Map<string, number>(), files: new Set<string>(), crowded: false }
    known.set(key, of)
    return of
  }

  let after = 0
  const look = (path: string, stats: Stats, sourceAt: () => Source | undefined) => {
    const seen = looks.of(path, stats, clock.now())
    if (seen && looks.isKnown(seen)) return
    const unread = unreadOf(path)
    const source = unread.isRead ? undefined : sourceAt()
    if (source) onFound({ source, unreadBytes: unread.bytes ?? stats.size, look: seen })
    else if (seen) looks.remember(seen)
  }

  const lookIn = (root: Root, source: Source) => {
    const known = knownOf(root)
    const stats = lstat(source.path)
    if (!stats || stats.mtimeMs <= clock.now() - LIVELY_MS) known.files.delete(source.path)
    else if (known.files.size < MOST_LIVELY) known.files.add(source.path)
    else if (!known.files.has(source.path)) known.crowded = true
    if (stats) look(source.path, stats, () => source)
  }

  /** Asked once for each file after a start; from then on what is in memory is enough. */
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

  const stampOf = (root: Root, folder: string): number => {
    const mtimeMs = lstat(`${root.path}/${folder}`)?.mtimeMs
    return mtimeMs !== undefined && mtimeMs + SETTLED_MS < clock.now() ? mtimeMs : Number.NaN
  }

  const folder = async (root: Root, folder: string, enter?: (folder: string) => boolean) => {
    const { folders } = knownOf(root)
    const note = (name: string) => {
      if (enter?.(name) === false) return false
      folders.set(name, stampOf(root, name))
      return true
    }
    for await (const sources of walk(root, folder, note)) {
      if (signal.aborted) return
      for (const source of sources) lookIn(root, source)
      await room()
    }
  }

  return {
    folder: (root, name) => folder(root, name),
    lively: async (root) => {
      const known = knownOf(root)
      const { folders, files } = known
      if (known.crowded) {
        known.crowded = false
        files.clear()
        return folder(root, '')
      }
      for (const path of [...files]) lookIn(root, { harness: root.harness, root: root.path, path })
      for (const [name, stamp] of [...folders]) {
        if (signal.aborted) return
        // Not a number is never the same: what was not settled is listed again. Below it only what is new.
        if (stampOf(root, name) === stamp) continue
        folders.delete(name)
        await folder(root, name, (below) => below === name || !folders.has(below))
        await turn()
      }
    },
    file: (source) => {
      if (lstat(source.path)) lookIn({ harness: source.harness, path: source.root }, source)
      else onFound({ source, unreadBytes: 0, look: undefined })
    },
    anywhere: async (folder) => {
      for await (const candidates of anywhere.files(folder.dir))
        for (const candidate of candidates) {
          if (signal.aborted) return
          if (!('path' in candidate)) continue
          const stats = lstat(candidate.path)
          if (!stats) continue
          let opened = false
          look(candidate.path, stats, () => {
            opened = true
            const source = anywhere.sourceAt(candidate.path, folder)
            return 'left' in source ? undefined : source
          })
          if (opened) await turn()
          await room()
        }
    },
    isRead: (path) => unreadOf(path).isRead,
    missing: async (most) => {
      for (let looked = 0; looked < most && !signal.aborted; looked += PAGE) {
        const page = files.present({ after, limit: PAGE })
        const last = page.at(-1)
        if (!last) {
          after = 0
          return
        }
        for (const { id: _, ...source } of page)
          if (!lstat(source.path)) onFound({ source, unreadBytes: 0, look: undefined })
        after = last.id
        await turn()
        await room()
      }
    },
  }
}

function lstat(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Lists what is below a folder, a few names at a time so that others get their turn. Follows no link, keeps no list. */

/** Names between two turns. */
const AT_ONCE = 200

export type Entry = { name: string; kind: 'file' | 'link' }

type Walk = {
  /** Levels of folders below the base that are entered. */
  depth: number
  isWanted: (name: string) => boolean
  /** Hears of every folder before it is listed; whether to is its answer. */
  enters?: ((name: string) => boolean) | undefined
}

/** `folder`: named from the base on, as all that is told; empty for the base itself. Of what cannot be listed nothing is told. */
export async function* walkNames(
  base: string,
  folder: string,
  { depth, isWanted, enters = () => true }: Walk,
): AsyncGenerator<Entry[]> {
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    if (!enters(next)) continue
    const dir = open(next === '' ? base : `${base}/${next}`)
    if (!dir) continue
    try {
      for (let more = true; more; ) {
        const found: Entry[] = []
        more = take(dir, (name, kind) => {
          const below = next === '' ? name : `${next}/${name}`
          if (kind !== 'folder') {
            if (isWanted(below)) found.push({ name: below, kind })
          } else if (below.split('/').length <= depth) folders.push(below)
        })
        if (found.length > 0) yield found
        await turn()
      }
    } finally {
      dir.closeSync()
    }
  }
}

/** The transcripts below a folder of a root. */
export async function* walk(
  root: Root,
  folder: string,
  enters: (folder: string) => boolean = () => true,
): AsyncGenerator<Source[]> {
  const depth = depthOf(root.harness)
  const isWanted = (name: string) => sourceOf(root, name) !== undefined
  const isEntered = (name: string) => mayHold(root, name) && enters(name)
  for await (const entries of walkNames(root.path, folder, { depth, isWanted, enters: isEntered })) {
    const files = entries.filter(({ kind }) => kind === 'file')
    yield files.map(({ name }) => ({ harness: root.harness, root: root.path, path: `${root.path}/${name}` }))
  }
}

function open(path: string): Dir | undefined {
  try {
    return opendirSync(path, { bufferSize: AT_ONCE })
  } catch {
    return undefined
  }
}

/** Whether there may be more. */
function take(dir: Dir, each: (name: string, kind: Entry['kind'] | 'folder') => void): boolean {
  for (let count = 0; count < AT_ONCE; count++) {
    const entry = read(dir)
    if (!entry) return false
    if (entry.isDirectory()) each(entry.name, 'folder')
    else if (entry.isFile()) each(entry.name, 'file')
    else if (entry.isSymbolicLink()) each(entry.name, 'link')
  }
  return true
}

function read(dir: Dir) {
  try {
    return dir.readSync()
  } catch {
    return null
  }
}

/**
 * Which files are as they were when they were read last. Kept as numbers: a sweep over 100,000 files that have not changed
 * shall neither ask the database for each nor remember their names.
 */

/** None while the times are too fresh to tell the next change. */
export type Look = { path: number; look: number }

export type Looks = {
  of(path: string, stats: Stats, nowMs: number): Look | undefined
  isKnown(look: Look): boolean
  remember(look: Look): void
  forget(path: string): void
  clear(): void
}

/** As for cursors: two seconds on the coarsest file systems. */
const LOOKS_SETTLED_MS = 2_000

export function createLooks(): Looks {
  const known = createNumberMap()
  return {
    of: (path, { dev, ino, size, mtimeMs, ctimeMs }, nowMs) =>
      ctimeMs + LOOKS_SETTLED_MS < nowMs
        ? { path: numberOf(path), look: numberOf(`${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`) }
        : undefined,
    isKnown: ({ path, look }) => known.get(path) === look,
    remember: ({ path, look }) => known.set(path, look),
    forget: (path) => known.delete(numberOf(path)),
    clear: () => known.clear(),
  }
}

/** 53 bits of two mixed 32-bit hashes: two files in a million collide once in ten thousand lives. */
export function numberOf(text: string): number {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    high = Math.imul(high ^ code, 2_654_435_761)
    low = Math.imul(low ^ code, 1_597_334_677)
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909)
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909)
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0)
}
