/**
 * The memories of directories, ready to be ranked: read once, then only what has changed. Whoever asks gets an answer from all
 * that is on the disk now, as long as it can be read in the time they have; past it from what has been read, which says so. Whatever
 * is given is compared with the disk by whoever gives it.
 */

import type { MemoryType, Trust } from '../../schema/memory.ts'
import type { Clock } from '../platform/clock.ts'
import type { Vigil, Vigils, Watched } from '../platform/vigil.ts'
import { createWordIndex, type WordIndex } from './word-index.ts'

export type Source = {
  /** Newest first. */
  list(dir: string): { files: Stamped[]; folders: string[] }
  read(dir: string, files: readonly string[]): MemoryText[]
  /** The stamp of what stands there now; nothing when it is gone. */
  stamp(dir: string, file: string): string | undefined
  /** Files that hold words of a question, as far as their words are on disk. */
  known(dir: string, question: string): string[]
}

export type Corpus = {
  index: WordIndex
  items: ReadonlyMap<string, Item>
  /** Those of them that stand in folders. */
  nested: ReadonlySet<string>
  /** Nothing has changed on disk since it was looked at. */
  fresh: boolean
  /** There was no time to read all of it. */
  partial: boolean
  /** Reads a memory again; nothing when it is gone. */
  reread(file: string): MemoryText | undefined
}

export type Corpora = {
  /** For who has waited until every change on disk has been taken note of. At once where nothing has to be read. */
  open(dir: string, asked: { question: string; waitMs: number }): Corpus | Promise<Corpus>
  /** Something happened to these files. */
  changed(dir: string, files: readonly string[]): void
  stop(): void
}

const MOST_DIRECTORIES = 16
/** Of more memories the newest are known. About six kilobytes each. */
const MOST_MEMORIES = 20_000
/** What the kernel does not tell shows after this; in a large directory, where a look takes its time, after the other. */
const LONGEST_TRUST_MS = 1_000
const LARGE_TRUST_MS = 30_000
/** Above this a look takes long enough to be done beside the answer, while the kernel says that nothing stirred. */
const LARGE = 1_000
/** Of more changes at once all files are looked at. */
const MOST_STIRRED = 1_000
/** A search over words on disk takes its time for each. */
const QUESTION_CHARS = 1_000
/** Points to memories, or is none. */
const NO_MEMORY = /(?:^|\/)(?:MEMORY\.md$|\.)|^logs\//

type Entry = {
  dir: string
  shelf: Shelf
  folders: readonly string[]
  vigil: Vigil | undefined
  lookedMs: number
}

type Deps = {
  source: Source
  vigils: Vigils
  clock: Pick<Clock, 'elapsed' | 'after'>
  onError: (error: unknown) => void
}

export function createCorpora({ source, vigils, clock, onError }: Deps): Corpora {
  const entries = new Map<string, Entry>()
  let last: Entry | undefined
  let stopped = false

  const newEntry = (dir: string): Entry => {
    const entry: Entry = {
      dir,
      shelf: createShelf({
        read: (file) => source.read(dir, [file])[0],
        stamp: (file) => source.stamp(dir, file),
        // The next one who asks looks at all.
        onOdd: () => entry.vigil?.end(),
        clock,
        onError,
        isStopped: () => stopped,
      }),
      folders: [],
      vigil: undefined,
      lookedMs: Number.NEGATIVE_INFINITY,
    }
    return entry
  }

  const entryOf = (dir: string): Entry => {
    // Mostly the one that was asked for last: to put a map in order costs more than to look into it.
    if (last?.dir === dir) return last
    const entry = entries.get(dir) ?? newEntry(dir)
    last = entry
    // The map is in order of use.
    entries.delete(dir)
    entries.set(dir, entry)
    for (const [old, { vigil }] of entries) {
      if (entries.size <= MOST_DIRECTORIES) break
      vigil?.end()
      entries.delete(old)
    }
    return entry
  }

  const look = (entry: Entry): void => {
    const { shelf } = entry
    // Begun before the look: nothing changes unseen in between.
    entry.vigil?.end()
    entry.vigil = vigils.keep(placesOf(entry), { mostPaths: MOST_STIRRED })
    entry.lookedMs = clock.elapsed()
    const { files, folders } = source.list(entry.dir)
    if (folders.join('\n') !== entry.folders.join('\n')) {
      // New folders are not watched yet: the next look is a look at all of them.
      entry.vigil?.end()
      entry.vigil = undefined
      entry.folders = folders
    }
    const present = new Map(files.slice(0, MOST_MEMORIES).map(({ file, stamp }) => [file, stamp]))
    for (const file of [...shelf.items.keys()]) if (!present.has(file)) shelf.drop(file)
    for (const [file, stamp] of present) if (shelf.items.get(file)?.stamp !== stamp) shelf.later(file)
  }

  const lookBeside = (entry: Entry): void => {
    // Marked at once, so that everyone who asks meanwhile does not begin another.
    entry.lookedMs = clock.elapsed()
    setImmediate(() => {
      if (stopped) return
      try {
        look(entry)
        void entry.shelf.readAll()
      } catch (error) {
        onError(error)
      }
    })
  }

  /** Takes note of what has changed. False where that is left for later. */
  const catchUp = (entry: Entry): boolean => {
    const lookedAgoMs = clock.elapsed() - entry.lookedMs
    if (entry.vigil?.quiet()) {
      if (lookedAgoMs < (isLarge(entry) ? LARGE_TRUST_MS : LONGEST_TRUST_MS)) return true
      if (!isLarge(entry)) look(entry)
      else lookBeside(entry)
      return !isLarge(entry)
    }
    // Where no kernel tells, a large directory is looked at once a second.
    if (!entry.vigil && isLarge(entry) && lookedAgoMs < LONGEST_TRUST_MS) return false
    const files = stirredFiles(entry)
    if (files) entry.shelf.first(files)
    else look(entry)
    return true
  }

  const corpusOf = ({ shelf }: Entry, isUpToDate: boolean): Corpus => {
    const partial = shelf.unread() > 0
    const { index, items, nested, reread } = shelf
    return { index, items, nested, fresh: isUpToDate && !partial, partial, reread }
  }

  return {
    open: (dir, { question, waitMs }) => {
      const entry = entryOf(dir)
      const { shelf } = entry
      const isUpToDate = catchUp(entry)
      if (shelf.unread() > 0) shelf.readSome()
      if (shelf.unread() === 0) return corpusOf(entry, isUpToDate)
      // Should the time not be enough for all, it was for those that the words on disk lead to.
      shelf.first(source.known(dir, question.slice(0, QUESTION_CHARS)).filter(shelf.waits))
      return shelf.readFor(waitMs).then(() => corpusOf(entry, false))
    },
    changed: (dir, files) => {
      entries.get(dir)?.shelf.first(files.filter((file) => !NO_MEMORY.test(file)))
    },
    stop: () => {
      stopped = true
      for (const { vigil } of entries.values()) vigil?.end()
      entries.clear()
      last = undefined
    },
  }
}

/** The memories that stirred; nothing where only a look at all tells. */
function stirredFiles({ dir, folders, vigil }: Entry): string[] | undefined {
  const files: string[] = []
  for (const path of vigil?.stirred() ?? ['']) {
    if (!path.startsWith(`${dir}/`)) return undefined
    const file = path.slice(dir.length + 1)
    if (NO_MEMORY.test(file)) continue
    // A folder may have come or gone.
    if (!file.endsWith('.md') || folders.includes(file)) return undefined
    files.push(file)
  }
  return files
}

function isLarge({ shelf }: Entry): boolean {
  return shelf.items.size + shelf.unread() >= LARGE
}

function placesOf({ dir, folders }: Entry): Watched[] {
  return ['', ...folders].map((folder) => ({ folder: folder === '' ? dir : `${dir}/${folder}` }))
}

/**
 * The memories of one directory that have been read, and those that still have to be: read in short slices, so that nobody else
 * waits for large ones or for many. What is asked for comes first. Looks for nothing by itself.
 */

export type Stamped = { file: string; stamp: string; modifiedMs: number }
export type MemoryText = Stamped & {
  name?: string
  description?: string
  type?: MemoryType
  trust?: Trust
  text: string
  body: string
  settled: boolean
}

/** What is known of a memory without its text. */
export type Item = Omit<MemoryText, 'text' | 'body' | 'settled'>

export type Shelf = {
  index: WordIndex
  items: ReadonlyMap<string, Item>
  /** Those of them that stand in folders. */
  nested: ReadonlySet<string>
  /** To be read, these before all others. */
  first(files: Iterable<string>): void
  /** To be read when it is their turn. */
  later(file: string): void
  waits(file: string): boolean
  /** How many have to be read. */
  unread(): number
  /** Reads for a moment. */
  readSome(): void
  /** Until all is read, others get their turn meanwhile: a smaller one while somebody waits. */
  readAll(): Promise<void>
  /** Until all is read or the time has passed. */
  readFor(waitMs: number): Promise<void>
  /** Reads one now; nothing when it is gone. */
  reread(file: string): MemoryText | undefined
  drop(file: string): void
}

/** Between two slices others get their turn. */
const SLICE_MS = 10
const WAITED_FOR_SLICE_MS = 25
const SLICE_FILES = 100
/** The words of a text after so many characters are not looked at: about 50 ms of work. */
const INDEXED_CHARS = 65_536

type ShelfDeps = {
  read: (file: string) => MemoryText | undefined
  /** Of what stands there now; nothing when it is gone. */
  stamp: (file: string) => string | undefined
  clock: Pick<Clock, 'elapsed' | 'after'>
  /** There is something, and it cannot be read: perhaps a folder that is called like a memory. */
  onOdd: () => void
  onError: (error: unknown) => void
  isStopped: () => boolean
}

export function createShelf({ read, stamp, clock, onOdd, onError, isStopped }: ShelfDeps): Shelf {
  const index = createWordIndex()
  const items = new Map<string, Item>()
  const nested = new Set<string>()
  const urgent = new Set<string>()
  const waiting = new Set<string>()
  let reading: Promise<void> | undefined
  let waiters = 0

  const unread = () => urgent.size + waiting.size

  const put = ({ text: _text, body, settled, ...item }: MemoryText): void => {
    // A stamp that another change may leave as it is tells nothing yet.
    items.set(item.file, settled ? item : { ...item, stamp: '' })
    if (item.file.includes('/')) nested.add(item.file)
    const { file, name = '', description = '' } = item
    index.put({ file, name, description, body: body.length > INDEXED_CHARS ? body.slice(0, INDEXED_CHARS) : body })
  }
  const drop = (file: string): void => {
    urgent.delete(file)
    waiting.delete(file)
    items.delete(file)
    nested.delete(file)
    index.remove(file)
  }

  const take = (file: string): void => {
    const wasNamed = urgent.delete(file)
    waiting.delete(file)
    const now = wasNamed ? stamp(file) : undefined
    // Something was done to it, and it has been read since.
    if (now !== undefined && items.get(file)?.stamp === now) return
    const text = read(file)
    if (text) put(text)
    else drop(file)
    if (!text && now !== undefined) onOdd()
  }

  const readSome = (): void => {
    const endMs = clock.elapsed() + (waiters > 0 ? WAITED_FOR_SLICE_MS : SLICE_MS)
    let left = SLICE_FILES
    for (const files of [urgent, waiting])
      for (const file of files) {
        take(file)
        if (--left === 0 || clock.elapsed() >= endMs) return
      }
  }

  const readAll = (): Promise<void> => {
    reading ??= (async () => {
      while (unread() > 0 && !isStopped()) {
        readSome()
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
      .catch(onError)
      .finally(() => {
        reading = undefined
      })
    return reading
  }

  return {
    index,
    items,
    nested,
    first: (files) => {
      for (const file of files) {
        waiting.delete(file)
        urgent.add(file)
      }
    },
    later: (file) => void (urgent.has(file) || waiting.add(file)),
    waits: (file) => urgent.has(file) || waiting.has(file),
    unread,
    readSome,
    readAll,
    readFor: (waitMs) =>
      new Promise<void>((resolve) => {
        waiters++
        const timer = clock.after(waitMs, resolve)
        void readAll().finally(() => {
          timer.stop()
          resolve()
        })
      }).finally(() => {
        waiters--
      }),
    reread: (file) => {
      const text = read(file)
      if (!text) drop(file)
      else if (items.get(file)?.stamp !== text.stamp) put(text)
      return text
    },
    drop,
  }
}
