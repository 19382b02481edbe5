/**
 * The words of the memories of directories, ready to be ranked: each memory is read once and again when it has changed. Right after
 * a start, memories that the full-text index in index.db finds for the question come first, the others follow between requests.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Core } from '../core.ts'
import type { Directory, KnownMemory } from '../memory/catalogue.ts'
import type { Memory } from '../memory/memory.ts'
import { createLru } from '../platform/lru.ts'
import { STOP_WORDS } from './vocabulary.ts'
import { createWordIndex, type WordIndex } from './word-index.ts'
import { ASCII } from './words.ts'

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
/** Of memories that a question leads to, so many are read at once. */
const MOST_FIRST = 20
const FIRST_SLICE_MS = 25
/** A full-text search takes its time for each word. */
const QUESTION_CHARS = 1_000

/** Where the full-text index found so many, the answer does not wait for the others, and is marked as partial. */
const ENOUGH_FOUND = 5
const FOUND_WAIT_MS = 5

type Entry = {
  dir: string
  index: WordIndex
  /** What is in the index: the hash of each file. */
  hashes: Map<string, string>
  /** Memories whose words are not in the index, or not as they are now. */
  missing: Set<string>
  directory: Directory | undefined
  /** Of the directory when `missing` was worked out. */
  version: number
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
    const found = catalogue.read(entry.dir, file)
    if (!found) drop(entry, file)
    else if (entry.hashes.get(file) !== found.hash) put(entry, found, found.body)
    else entry.missing.delete(file)
  }

  const createEntry = (dir: string): Entry => ({
    ...{ dir, index: createWordIndex(), hashes: new Map(), missing: new Set() },
    ...{ directory: undefined, version: -1, reading: undefined },
  })
  const open = (dir: string): Entry & { directory: Directory } => {
    const entry = entries.get(dir) ?? createEntry(dir)
    // Before the catalogue: its words are taken from what the catalogue reads.
    entries.set(dir, entry)
    const directory = catalogue.open(dir)
    // The catalogue forgets a directory that was not asked for in a long time, and begins anew.
    if (entry.directory !== directory) entry.version = -1
    return Object.assign(entry, { directory })
  }

  const findMissing = (entry: Entry): void => {
    const { directory, hashes } = entry
    if (!directory || entry.version === directory.version) return
    entry.version = directory.version
    for (const file of [...hashes.keys()]) if (!directory.memories.has(file)) drop(entry, file)
    entry.missing = new Set()
    for (const { file, hash, value } of directory.memories.values())
      if (value !== undefined && hashes.get(file) !== hash) entry.missing.add(file)
  }

  const readSome = (entry: Entry, files: Iterable<string>, sliceMs = SLICE_MS): void => {
    const endMs = clock.elapsed() + sliceMs
    for (const file of files) {
      if (clock.elapsed() >= endMs) return
      read(entry, file)
    }
  }
  const isComplete = (entry: Entry): boolean => {
    findMissing(entry)
    return entry.missing.size === 0 && entry.directory?.unread() === 0
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
    /** All that is on the disk now, as far as it can be read in that time and is not found in index.db. */
    open: async (dir: string, { question, waitMs }: { question: string; waitMs: number }): Promise<Corpus> => {
      const entry = open(dir)
      if (!isComplete(entry)) {
        const first = memory.texts.known(dir, tellingWords(question.slice(0, QUESTION_CHARS)))
        const unread = first.slice(0, MOST_FIRST).filter((file) => entry.missing.has(file) || !entry.hashes.has(file))
        readSome(entry, unread, FIRST_SLICE_MS)
        const isEnough = first.length >= ENOUGH_FOUND
        if (!isComplete(entry)) await untilRead(entry, isEnough ? Math.min(waitMs, FOUND_WAIT_MS) : waitMs)
      }
      return { index: entry.index, items: entry.directory.memories, partial: !isComplete(entry) }
    },
    stop: () => {
      isStopped = true
    },
  }
}

export type Corpora = ReturnType<typeof createCorpora>

/** Without stop words, which are in every memory. */
function tellingWords(question: string): string {
  if (!ASCII.test(question)) return question
  return question
    .split(/\s+/)
    .filter((word) => !STOP_WORDS.has(word.toLowerCase()))
    .join(' ')
}
