/** Finds the transcripts that are not as they were when they were read last: sizes on disk are the truth, events only hints. */
import { lstatSync, type Stats } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import type { TranscriptFiles } from '../store/transcript-files.ts'
import type { Anywhere, Folder } from './anywhere.ts'
import { type Cursor, compare, lookOf } from './cursor.ts'
import type { Look, Looks } from './looks.ts'
import type { Root, Source } from './source.ts'
import { walk } from './walk.ts'

/** `look`: what to remember once it is read. */
export type Found = { source: Source; sizeBytes: number; look: Look | undefined }

type Deps = {
  files: Pick<TranscriptFiles, 'cursor' | 'present'>
  looks: Looks
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
  file(source: Source): void
  /** All below a folder that somebody once named. */
  anywhere(folder: Folder): Promise<void>
  /** Whether all of a file was read, as far as can be told without reading it. */
  isRead(path: string): boolean
  /** Files that were read and may have been deleted since: so many of them, and the next ones the next time. */
  missing(most: number): Promise<void>
}

const PAGE = 200

export function createSweep({ files, looks, clock, anywhere, onFound, room, signal }: Deps): Sweep {
  let after = 0
  const look = (path: string, sourceAt: () => Source | undefined) => {
    const stats = lstat(path)
    if (!stats) return
    const seen = looks.of(path, stats, clock.now())
    if (seen && looks.isKnown(seen)) return
    const source = isRead(path) ? undefined : sourceAt()
    if (source) onFound({ source, sizeBytes: stats.size, look: seen })
    else if (seen) looks.remember(seen)
  }

  /** Asked once for each file after a start; from then on what is in memory is enough. */
  const isRead = (path: string): boolean => {
    const json = files.cursor(path)
    if (json === undefined) return false
    const cursor = JSON.parse(json) as Cursor
    try {
      const now = lookOf(lstatSync(path, { bigint: true }), clock.now())
      return compare(cursor, now) === 'same' && cursor.scanned === now.sizeBytes
    } catch {
      return false
    }
  }

  return {
    folder: async (root, folder) => {
      for await (const sources of walk(root, folder)) {
        if (signal.aborted) return
        for (const source of sources) look(source.path, () => source)
        await room()
      }
    },
    file: (source) => {
      if (lstat(source.path)) look(source.path, () => source)
      else onFound({ source, sizeBytes: 0, look: undefined })
    },
    anywhere: async (folder) => {
      for await (const candidates of anywhere.files(folder.dir))
        for (const candidate of candidates) {
          if (signal.aborted) return
          if (!('path' in candidate)) continue
          let opened = false
          look(candidate.path, () => {
            opened = true
            const source = anywhere.sourceAt(candidate.path, folder)
            return 'left' in source ? undefined : source
          })
          if (opened) await turn()
          await room()
        }
    },
    isRead,
    missing: async (most) => {
      for (let looked = 0; looked < most && !signal.aborted; looked += PAGE) {
        const page = files.present({ after, limit: PAGE })
        const last = page.at(-1)
        if (!last) {
          after = 0
          return
        }
        for (const { id: _, ...source } of page)
          if (!lstat(source.path)) onFound({ source, sizeBytes: 0, look: undefined })
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
