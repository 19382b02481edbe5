/**
 * The words of the memories of directories, ready to be ranked: each memory is read once and again when it has changed. Right after
 * a start, memories that the full-text index in index.db finds for the question come first, the others follow between requests.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Core } from '../core.ts'
import type { Directory, KnownMemory } from '../memory/catalogue.ts'
import type { Memory } from '../memory/memory.ts'
import { createLru } from '../platform/lru.ts'
import { createWordIndex, type WordIndex } from './word-index.ts'

export type Corpus = {
  index: WordIndex
  items: ReadonlyMap<string, KnownMemory>
  /** There was no time to read all of it. */
  partial: boolean
}

/** About six kilobytes for each memory. */
const MOST_DIRECTORIES = 16
/** Between two slices others get their turn. */
const SLICE_MS = 10
/** The words of a text after so many characters are not looked at: about 50 ms of work. */
const INDEXED_CHARS = 65_536
/** A full-text search takes its time for each word. */
const QUESTION_CHARS = 1_000

type Entry = {
  directory: Directory
  /** Of the directory when `missing` was worked out. */
  version: number
  index: WordIndex
  /** What is in the index: the hash of each file. */
  hashes: Map<string, string>
  /** Memories whose words are not in the index, or not as they are now. */
  missing: Set<string>
  reading: Promise<void> | undefined
}

export function createCorpora({ clock, logged }: Core, memory: Memory) {
  const { catalogue } = memory
  const entries = createLru<string, Entry>(MOST_DIRECTORIES)
  let isStopped = false

  const put = (entry: Entry, { file, hash = '', name = '', description = '' }: KnownMemory, body: string): void => {
    entry.index.put({ file, name, description, body: body.slice(0, INDEXED_CHARS) })
    entry.hashes.set(file, hash)
    entry.missing.delete(file)
  }
  const drop = (entry: Entry, file: string): void => {
    entry.index.remove(file)
    entry.hashes.delete(file)
    entry.missing.delete(file)
  }

  catalogue.onRead((dir, known, { text, body }) => {
    const entry = entries.get(dir)
    if (entry && text !== undefined) put(entry, known, body)
  })

  const read = (entry: Entry, file: string): void => {
    const found = catalogue.read(entry.directory.dir, file)
    if (!found) drop(entry, file)
    else if (entry.hashes.get(file) !== found.hash) put(entry, found, found.body)
    else entry.missing.delete(file)
  }

  const entryOf = (directory: Directory): Entry => {
    const known = entries.get(directory.dir)
    if (known?.directory === directory) return known
    // The catalogue forgot a directory that was not asked for in a long time, and began anew.
    const { index, hashes } = known ?? { index: createWordIndex(), hashes: new Map<string, string>() }
    const entry: Entry = { directory, version: -1, index, hashes, missing: new Set(), reading: undefined }
    entries.set(directory.dir, entry)
    return entry
  }

  const findMissing = (entry: Entry): void => {
    const { directory, hashes } = entry
    if (entry.version === directory.version) return
    entry.version = directory.version
    for (const file of [...hashes.keys()]) if (!directory.memories.has(file)) drop(entry, file)
    entry.missing = new Set()
    for (const { file, hash, value } of directory.memories.values())
      if (value !== undefined && hashes.get(file) !== hash) entry.missing.add(file)
  }

  const readSome = (entry: Entry, files: Iterable<string>): void => {
    const endMs = clock.elapsed() + SLICE_MS
    for (const file of files) {
      if (clock.elapsed() >= endMs) return
      read(entry, file)
    }
  }
  const isComplete = (entry: Entry): boolean => {
    findMissing(entry)
    return entry.missing.size === 0 && entry.directory.unread() === 0
  }
  const readBeside = (entry: Entry): Promise<void> => {
    entry.reading ??= (async () => {
      while (!isComplete(entry) && !isStopped) {
        await turn()
        readSome(entry, entry.missing)
      }
    })()
      .catch(logged('memories could not be read for recall'))
      .finally(() => {
        entry.reading = undefined
      })
    return entry.reading
  }
  const untilRead = (entry: Entry, waitMs: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = clock.after(waitMs, resolve)
      void readBeside(entry).finally(() => {
        timer.stop()
        resolve()
      })
    })

  return {
    /** All that is on the disk now as far as it can be read in that time. */
    open: async (dir: string, { question, waitMs }: { question: string; waitMs: number }): Promise<Corpus> => {
      const entry = entryOf(catalogue.open(dir))
      if (!isComplete(entry)) {
        const first = memory.texts.known(dir, question.slice(0, QUESTION_CHARS))
        readSome(
          entry,
          first.filter((file) => entry.missing.has(file) || !entry.hashes.has(file)),
        )
        if (!isComplete(entry)) await untilRead(entry, waitMs)
      }
      const { index, directory } = entry
      return { index, items: directory.memories, partial: !isComplete(entry) }
    },
    stop: () => {
      isStopped = true
    },
  }
}

export type Corpora = ReturnType<typeof createCorpora>
