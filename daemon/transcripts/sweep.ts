/** Finds the transcripts that are not as they were when they were read last: sizes on disk are the truth, events only hints. */
import { lstatSync, type Stats } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import type { TranscriptFiles } from '../store/transcript-files.ts'
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
  onFound: (found: Found) => void
  /** Waits until there is room for more. */
  room: () => Promise<void>
  signal: AbortSignal
}

export type Sweep = {
  /** All below a folder of a root, named from the root on. */
  folder(root: Root, folder: string): Promise<void>
  file(source: Source): void
  /** Files that were read and may have been deleted since. */
  missing(): Promise<void>
}

const PAGE = 200

export function createSweep({ files, looks, clock, onFound, room, signal }: Deps): Sweep {
  const look = (source: Source) => {
    const stats = lstat(source.path)
    if (!stats) return
    const seen = looks.of(source.path, stats, clock.now())
    if (seen && looks.isKnown(seen)) return
    if (isRead(source.path)) {
      if (seen) looks.remember(seen)
      return
    }
    onFound({ source, sizeBytes: stats.size, look: seen })
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
        for (const source of sources) look(source)
        await room()
      }
    },
    file: (source) => {
      if (lstat(source.path)) look(source)
      else onFound({ source, sizeBytes: 0, look: undefined })
    },
    missing: async () => {
      for (let after = 0; !signal.aborted; ) {
        const page = files.present({ after, limit: PAGE })
        const last = page.at(-1)
        if (!last) return
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
