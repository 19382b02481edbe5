/** The memories of a directory as a list, read again only where a file's stamp has changed. */

import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from 'node:fs'
import { basename, join } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import type { MemoryType } from '../../schema/memory.ts'
import type { Clock } from '../platform/clock.ts'
import type { Confined } from './confined.ts'
import { descend, enter, type Folder, inRoot } from './descend.ts'
import { INDEX_FILE, numbered } from './file-names.ts'
import { inFolder, type Present, readPresent } from './folder.ts'
import { readUpTo } from './plain-file.ts'
import { DEPTH_FOLDERS, type Read, type Scan, scanMemories, visitMemories } from './scan.ts'
import { isSettled, stampOf } from './stamp.ts'
import { normaliseValue } from './tombstones.ts'
import { parseTopic, type TopicFields } from './topic-file.ts'
import type { TellingNames } from './write-checks.ts'

export type Catalogue = { list(dir: string): Scan }

const MOST_DIRECTORIES = 32

type Deps = { clock: Pick<Clock, 'now'>; names: Pick<TellingNames, 'isKnownTelling'> }

export function createCatalogue({ clock, names }: Deps): Catalogue {
  const directories = new Map<string, Map<string, Read>>()
  return {
    list: (dir) => {
      const known = directories.get(dir) ?? new Map<string, Read>()
      const startedMs = clock.now()
      const scan = scanMemories(dir, { known })
      const listed = new Set(scan.items.map(({ file }) => file))
      for (const [file, read] of known) if (!listed.has(file) || !isSettled(read, startedMs)) known.delete(file)
      // The map is in order of use.
      directories.delete(dir)
      directories.set(dir, known)
      if (directories.size > MOST_DIRECTORIES) directories.delete(directories.keys().next().value as string)
      return { ...scan, items: scan.items.filter(({ file }) => !names.isKnownTelling(file)) }
    },
  }
}

/**
 * The memories of a directory as texts: which there are, with their stamps, and what single ones say. Follows no link, reads
 * nothing but regular files that have one name, writes nothing.
 */

export type Stamped = { file: string; stamp: string; modifiedMs: number }

export type MemoryText = Partial<TopicFields> &
  Stamped & {
    /** The whole file, front matter and all. */
    text: string
    body: string
    /** Whether a change after it was read is sure to show in its stamp. */
    settled: boolean
  }

/** Beyond this a time is no date. */
const LAST_DATE_MS = 8.64e15
// A name may have become a link or a FIFO since it was looked at: neither is followed, and opening never waits.
const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Those whose names may be told, for whoever gives them to a model. */
export function textsWithout(isTelling: (file: string) => boolean, clock: Pick<Clock, 'now'>) {
  const mayBeTold = (file: string) => !isTelling(file)
  return {
    list: (dir: string) => {
      const { files, folders } = listTexts(dir)
      return { files: files.filter(({ file }) => mayBeTold(file)), folders }
    },
    read: (dir: string, files: readonly string[]) => readTexts(dir, files.filter(mayBeTold), clock.now()),
    stamp: (dir: string, file: string) => (isTelling(file) ? undefined : stampIn(dir, file)),
  }
}

/** Newest first. Nothing for a directory that cannot be looked into. */
export function listTexts(dir: string): { files: Stamped[]; folders: string[] } {
  const files: Stamped[] = []
  const folders: string[] = []
  attempt(() =>
    inRoot(dir, (top) =>
      visitMemories(top, {
        enters: (folder, depth) => {
          folders.push(folder)
          return depth <= DEPTH_FOLDERS
        },
        file: (file, stat) => {
          const stats = basename(file) === INDEX_FILE ? undefined : attempt(stat)
          if (stats) files.push(stampedOf(file, stats))
        },
        otherThing: () => {},
        closedFolder: () => {},
      }),
    ),
  )
  return { files: files.sort((a, b) => b.modifiedMs - a.modifiedMs || (a.file < b.file ? -1 : 1)), folders }
}

/** Those of them that can be read, in this order. */
export function readTexts(dir: string, files: readonly string[], nowMs: number): MemoryText[] {
  return attempt(() => inRoot(dir, (top) => files.flatMap((file) => readText(top, file, nowMs) ?? []))) ?? []
}

/** As it is now: only good to be compared. Nothing when it is gone. */
export function stampIn(dir: string, file: string): string | undefined {
  const stats = attempt(() => lstatSync(join(dir, file), { throwIfNoEntry: false }))
  return stats && stampOf(stats)
}

function readText(top: Folder, file: string, nowMs: number): MemoryText | undefined {
  const path = file.split('/')
  return attempt(() =>
    descend(top, path.slice(0, -1), enter, (folder, missing) =>
      missing.length > 0 ? undefined : readIn(folder, path.at(-1) ?? '', file, nowMs),
    ),
  )
}

function readIn(folder: Folder, leaf: string, file: string, nowMs: number): MemoryText | undefined {
  const fd = openSync(folder.at(leaf), OPEN_FILE)
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile() || stats.nlink > 1) return undefined
    const bytes = readUpTo(fd, stats.size)
    if (!bytes) return undefined
    const text = bytes.toString()
    const { raw: _raw, problem: _problem, ...topic } = parseTopic(text)
    return { ...stampedOf(file, stats), ...topic, text, settled: isSettled(stats, nowMs) }
  } finally {
    closeSync(fd)
  }
}

function stampedOf(file: string, stats: Stats): Stamped {
  const modifiedMs = Math.max(-LAST_DATE_MS, Math.min(LAST_DATE_MS, Math.floor(stats.mtimeMs)))
  return { file, stamp: stampOf(stats), modifiedMs }
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}

/** What a directory holds already, for whoever is about to add to it: which memory says the same, and which names are free. */

export type Existing = { file: string; type?: MemoryType | undefined }

/** Every memory by what its body says. */
export function memoriesByValue(dir: string): Map<string, Existing> {
  const { items } = scanMemories(dir)
  const known = new Map<string, Existing>()
  inFolder(dir, (folder) => {
    for (const { file, type, hash } of items) {
      // Without a hash it is too large to be read.
      const present = hash === undefined ? undefined : readIfPlain(folder, file)
      const value = present && normaliseValue(parseTopic(present.text).body)
      if (value !== undefined && !known.has(value)) known.set(value, { file, type })
    }
  })
  return known
}

export function freeFile(dir: string, file: string, waiting: ReadonlySet<string>): string {
  const taken = (name: string) =>
    waiting.has(name) || inFolder(dir, (folder) => readPresent(folder, name)) !== undefined
  for (let n = 1; n < 1_000; n++) {
    const name = numbered(file, n)
    if (!taken(name)) return name
  }
  throw new MemoryError('CONFLICT', `there are too many memories called like ${file}`, {
    hint: 'write it under a name',
  })
}

/** One memory that is a link or not readable keeps nobody from remembering another. */
function readIfPlain(folder: Confined, file: string): Present | undefined {
  try {
    return readPresent(folder, file)
  } catch {
    return undefined
  }
}
