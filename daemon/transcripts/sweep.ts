/** Finds the transcripts that are not as they were when they were read last: sizes on disk are the truth, events only hints. */
import { lstatSync, type Stats } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import type { Anywhere, Folder } from './anywhere.ts'
import { type Cursor, compare, lookOf } from './cursor.ts'
import type { Look, Looks } from './looks.ts'
import type { Root, Source } from './source.ts'
import type { TranscriptFiles } from './transcript-files.ts'
import { walk } from './walk.ts'

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
