/**
 * The memories of directories, ready to be ranked: read once, then only what has changed. Small directories are brought up to
 * date before they are used; large ones while they are, and until all is read a search over the words on disk tells what to read
 * first. Whatever is given is compared with the disk by whoever gives it.
 */
import type { MemoryType, Trust } from '../../schema/memory.ts'
import type { Clock } from '../platform/clock.ts'
import type { Vigil, Vigils, Watched } from '../platform/vigil.ts'
import { createWordIndex, type WordIndex } from './word-index.ts'

type Stamped = { file: string; stamp: string; modifiedMs: number }
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

export type Source = {
  /** Newest first. */
  list(dir: string): { files: Stamped[]; folders: string[] }
  read(dir: string, files: readonly string[]): MemoryText[]
  /** Files that hold words of a question, as far as their words are on disk. */
  known(dir: string, question: string): string[]
}

export type Corpus = {
  index: WordIndex
  items: ReadonlyMap<string, Item>
  /** Nothing has changed on disk since it was looked at. */
  fresh: boolean
  /** Reads a memory again; nothing when it is gone. */
  reread(file: string): MemoryText | undefined
}

export type Corpora = {
  /** For who has waited until every change on disk has been taken note of. */
  open(dir: string, question: string): Corpus
  /** Something happened to these files. */
  changed(dir: string, files: readonly string[]): void
  stop(): void
}

const MOST_DIRECTORIES = 16
/** Of more memories the newest are known. About six kilobytes each. */
const MOST_MEMORIES = 20_000
/** So many are read while somebody waits, about 50 ms. */
const AT_ONCE = 300
/** Between two of these others get their turn. */
const BATCH = 50
/** What the kernel does not tell shows after this; in a large directory, where a look takes its time, after the other. */
const LONGEST_TRUST_MS = 1_000
const LARGE_TRUST_MS = 30_000
/** A search over words on disk takes its time for each. */
const QUESTION_CHARS = 1_000
/** Points to memories and is none. */
const INDEX = /(?:^|\/)MEMORY\.md$/
/** Above this a look takes long enough to be done beside the answer. */
const LARGE = 1_000

type Entry = {
  dir: string
  index: WordIndex
  items: Map<string, Item>
  folders: readonly string[]
  vigil: Vigil | undefined
  lookedMs: number
  /** Known to have changed, not yet read. */
  waiting: Set<string>
  reading: Promise<void> | undefined
}

type Deps = { source: Source; vigils: Vigils; clock: Pick<Clock, 'elapsed'>; onError: (error: unknown) => void }

export function createCorpora({ source, vigils, clock, onError }: Deps): Corpora {
  const entries = new Map<string, Entry>()
  let stopped = false

  const entryOf = (dir: string): Entry => {
    const entry = entries.get(dir) ?? {
      dir,
      index: createWordIndex(),
      items: new Map<string, Item>(),
      folders: [],
      vigil: undefined,
      lookedMs: Number.NEGATIVE_INFINITY,
      waiting: new Set<string>(),
      reading: undefined,
    }
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

  const take = (entry: Entry, files: readonly string[]): void => {
    const texts = source.read(entry.dir, files)
    const found = new Set(texts.map(({ file }) => file))
    for (const file of files) {
      entry.waiting.delete(file)
      if (!found.has(file)) drop(entry, file)
    }
    for (const text of texts) put(entry, text)
  }

  const look = (entry: Entry): void => {
    // Begun before the look: nothing changes unseen in between.
    entry.vigil?.end()
    entry.vigil = vigils.keep(placesOf(entry))
    entry.lookedMs = clock.elapsed()
    const { files, folders } = source.list(entry.dir)
    if (folders.join('\n') !== entry.folders.join('\n')) {
      // New folders are not watched yet: the next look is a look at all of them.
      entry.vigil?.end()
      entry.vigil = undefined
      entry.folders = folders
    }
    const present = new Map(files.slice(0, MOST_MEMORIES).map(({ file, stamp }) => [file, stamp]))
    for (const file of [...entry.items.keys()]) if (!present.has(file)) drop(entry, file)
    for (const [file, stamp] of present) if (entry.items.get(file)?.stamp !== stamp) entry.waiting.add(file)
  }

  const readOn = (entry: Entry): Promise<void> => {
    entry.reading ??= (async () => {
      while (entry.waiting.size > 0 && !stopped) {
        take(entry, [...first(entry.waiting, BATCH)])
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
      .catch(onError)
      .finally(() => {
        entry.reading = undefined
      })
    return entry.reading
  }

  const isFresh = (entry: Entry): boolean =>
    entry.waiting.size === 0 && entry.vigil?.quiet() === true && clock.elapsed() - entry.lookedMs < trustMs(entry)

  const lookBeside = (entry: Entry): void => {
    // Marked at once, so that everyone who asks meanwhile does not begin another.
    entry.lookedMs = clock.elapsed()
    setImmediate(() => {
      if (stopped) return
      try {
        look(entry)
        void readOn(entry)
      } catch (error) {
        onError(error)
      }
    })
  }

  return {
    open: (dir, question) => {
      const entry = entryOf(dir)
      const fresh = isFresh(entry)
      const isSmall = !isLarge(entry)
      if (!fresh && isSmall) look(entry)
      else if (!fresh && clock.elapsed() - entry.lookedMs >= LONGEST_TRUST_MS) lookBeside(entry)
      if (entry.waiting.size > AT_ONCE) {
        take(
          entry,
          source.known(dir, question.slice(0, QUESTION_CHARS)).filter((file) => entry.waiting.has(file)),
        )
        void readOn(entry)
      } else if (entry.waiting.size > 0) take(entry, [...entry.waiting])
      return {
        index: entry.index,
        items: entry.items,
        fresh: fresh || (isSmall && entry.waiting.size === 0),
        reread: (file) => {
          const [text] = source.read(dir, [file])
          if (!text) drop(entry, file)
          else if (entry.items.get(file)?.stamp !== text.stamp) put(entry, text)
          return text
        },
      }
    },
    changed: (dir, files) => {
      const entry = entries.get(dir)
      for (const file of files) if (!INDEX.test(file)) entry?.waiting.add(file)
    },
    stop: () => {
      stopped = true
      for (const { vigil } of entries.values()) vigil?.end()
      entries.clear()
    },
  }
}

function put({ index, items }: Entry, { text: _text, body, settled, ...item }: MemoryText): void {
  // A stamp that another change may leave as it is tells nothing yet.
  items.set(item.file, settled ? item : { ...item, stamp: '' })
  index.put({ file: item.file, name: item.name ?? '', description: item.description ?? '', body })
}

function drop({ index, items }: Entry, file: string): void {
  items.delete(file)
  index.remove(file)
}

function isLarge({ items, waiting }: Entry): boolean {
  return items.size + waiting.size >= LARGE
}

function trustMs(entry: Entry): number {
  return isLarge(entry) ? LARGE_TRUST_MS : LONGEST_TRUST_MS
}

function placesOf({ dir, folders }: Entry): Watched[] {
  return ['', ...folders].map((folder) => ({ folder: folder === '' ? dir : `${dir}/${folder}` }))
}

function* first<T>(all: Iterable<T>, most: number): Iterable<T> {
  let left = most
  for (const each of all) {
    if (left-- === 0) return
    yield each
  }
}
