/**
 * The words of the memories of directories, ready to be ranked: each memory is read once, and again when it has changed. After a
 * start, what the full-text index in index.db finds is read first, the rest between requests.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Core } from '../core.ts'
import type { Directory, KnownMemory } from '../memory/catalogue.ts'
import type { Memory } from '../memory/memory.ts'
import type { Clock } from '../platform/clock.ts'
import { createLru } from '../platform/lru.ts'
import { copied } from '../platform/text.ts'
import { STOP_WORDS } from './vocabulary.ts'
import { ASCII, stem, type Word, wordsOf } from './words.ts'

export type Corpus = { index: WordIndex; items: ReadonlyMap<string, KnownMemory>; partial: boolean }

/** About six kilobytes for each memory. */
const MOST_DIRECTORIES = 16
const SLICE_MS = 10
/** About 50 ms of work. */
const INDEXED_CHARS = 65_536
const MOST_FIRST = 10
const FIRST_SLICE_MS = 25
/** A full-text search takes time for each word. */
const QUESTION_CHARS = 1_000
/** Where the full-text index found so many, the answer does not wait for many others, and is marked as partial. */
const ENOUGH_FOUND = 5
const ANSWERED_MS = 50

type Entry = ReturnType<typeof createEntry>

function createEntry(dir: string) {
  return {
    dir,
    index: createWordIndex(),
    hashes: new Map<string, string>(),
    /** Memories whose words are not in the index, or not as they are now. */
    missing: new Set<string>(),
    directory: undefined as Directory | undefined,
    version: -1,
    reading: undefined as Promise<void> | undefined,
  }
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

  const open = (dir: string): Entry & { directory: Directory } => {
    const entry = entries.get(dir) ?? createEntry(dir)
    // Before the catalogue opens it: words are taken from what the catalogue reads.
    entries.set(dir, entry)
    const directory = catalogue.open(dir)
    // The catalogue forgets directories that were not used for long, and begins anew.
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
  const readBeside = (entry: Entry, afterMs = 0): Promise<void> => {
    entry.reading ??= (async () => {
      if (afterMs > 0) await clock.delay(afterMs)
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

  return {
    open: async (dir: string, { question, waitMs }: { question: string; waitMs: number }): Promise<Corpus> => {
      const entry = open(dir)
      if (!isComplete(entry)) {
        const first = memory.texts.known(dir, tellingWords(question.slice(0, QUESTION_CHARS)))
        const unread = first.slice(0, MOST_FIRST).filter((file) => entry.missing.has(file) || !entry.hashes.has(file))
        readSome(entry, unread, FIRST_SLICE_MS)
        const isEnough = first.length >= ENOUGH_FOUND && entry.missing.size > MOST_FIRST
        if (isEnough) void readBeside(entry, ANSWERED_MS)
        else if (!isComplete(entry)) await within(readBeside(entry), waitMs, clock)
      }
      return { index: entry.index, items: entry.directory.memories, partial: !isComplete(entry) }
    },
    stop: () => {
      isStopped = true
    },
  }
}

export type Corpora = ReturnType<typeof createCorpora>

/** After `late` the work goes on. */
export function within<T>(work: Promise<T>, ms: number, clock: Clock): Promise<T | 'late'> {
  return new Promise((resolved, rejected) => {
    const timer = clock.after(ms, () => resolved('late'))
    work.then(resolved, rejected).finally(() => timer.stop())
  })
}

function tellingWords(question: string): string {
  if (!ASCII.test(question)) return question
  return question
    .split(/\s+/)
    .filter((word) => !STOP_WORDS.has(word.toLowerCase()))
    .join(' ')
}

export type Indexed = { file: string; name: string; description: string; body: string }

type Spelling = { word: string; stem: string; holders: number }

/** `length`: in tenths of a word. */
export type Doc = { id: number; file: string; length: number; terms: readonly Term[]; spellings: readonly Spelling[] }

/** `postings`: three numbers a memory, by rising ids: its id, tenths of a word of the term in it, its lines as bits. */
export type Term = { text: string; postings: number[] }
export const STRIDE = 3

/** The last bit stands for all later lines. */
const LINES = 30
/** The name of a memory stands in every line of it. */
export const EVERY_LINE = (1 << LINES) - 1

const WEIGHTS = { name: 20, description: 12, body: 10 }
/** Removed memories leave holes: with as many holes as memories all get new ids. */
const FEWEST_HOLES = 1_000
/** Chosen by measurement; results hardly change around them. */
const K1 = 1.1
const B = 0.4
const DELTA = 0.6

/** Terms → memories and lines. The order in which memories come and go changes no result. */
export function createWordIndex() {
  const ids = new Map<string, number>()
  let docs: (Doc | undefined)[] = []
  const terms = new Map<string, Term>()
  const spellings = new Map<string, Spelling>()
  /** An integer: the sum does not depend on the order. */
  let totalLength = 0

  const remove = (file: string): void => {
    const id = ids.get(file)
    const doc = id === undefined ? undefined : docs[id]
    if (!doc) return
    ids.delete(file)
    docs[doc.id] = undefined
    totalLength -= doc.length
    for (const { text, postings } of doc.terms) {
      postings.splice(findPosting(postings, doc.id), STRIDE)
      if (postings.length === 0) terms.delete(text)
    }
    for (const spelling of doc.spellings) if (--spelling.holders === 0) spellings.delete(spelling.word)
    if (docs.length - ids.size > Math.max(ids.size, FEWEST_HOLES)) closeHoles()
  }

  const closeHoles = (): void => {
    const moved = new Map<number, number>()
    docs = docs
      .filter((doc) => doc !== undefined)
      .map((doc, id) => {
        moved.set(doc.id, id)
        ids.set(doc.file, id)
        return { ...doc, id }
      })
    for (const { postings } of terms.values())
      for (let at = 0; at < postings.length; at += STRIDE) postings[at] = moved.get(postings[at] as number) as number
  }

  const termOf = (text: string): Term => {
    const known = terms.get(text)
    if (known) return known
    const term: Term = { text, postings: [] }
    terms.set(text, term)
    return term
  }

  const spellingOf = (met: string): Spelling => {
    const known = spellings.get(met)
    if (known) return known
    const word = copied(met)
    const spelling = { word, stem: stem(word), holders: 0 }
    spellings.set(word, spelling)
    return spelling
  }

  return {
    put: (memory: Indexed): void => {
      remove(memory.file)
      const held = new Set<Spelling>()
      const { found, length } = gather(memory, (word) => {
        const spelling = spellingOf(word)
        held.add(spelling)
        return spelling.stem
      })
      for (const spelling of held) spelling.holders++
      const id = docs.length
      const own = [...found].map(([text, { tenths, lines }]) => {
        const term = termOf(text)
        term.postings.push(id, tenths, lines)
        return term
      })
      docs.push({ id, file: memory.file, length, terms: own, spellings: [...held] })
      ids.set(memory.file, id)
      totalLength += length
    },
    remove,
    size: (): number => ids.size,
    idLimit: (): number => docs.length,
    doc: (id: number): Doc => docs[id] as Doc,
    term: (text: string): Term | undefined => terms.get(text),
    /** BM25+. */
    share: (tenths: number, { length }: Doc): number => {
      const times = tenths / 10
      const average = totalLength / Math.max(1, ids.size)
      return (times * (K1 + 1)) / (times + K1 * (1 - B + (B * length) / average)) + DELTA
    },
    rarity: (holders: number): number => Math.log(1 + (ids.size - holders + 0.5) / (holders + 0.5)),
    stem: (word: string): string => spellings.get(word)?.stem ?? stem(word),
    alike: (word: string): string[] =>
      [...spellings.keys()].filter((other) => isNear(word, other) && withinOneEdit(word, other)),
    beginning: (part: string, most: number): string[] => {
      const found: string[] = []
      for (const word of spellings.keys())
        if (word.length > part.length && word.startsWith(part) && found.push(word) > most) break
      return found
    },
  }
}

export type WordIndex = ReturnType<typeof createWordIndex>

export function findPosting(postings: readonly number[], id: number): number {
  let low = 0
  let high = postings.length / STRIDE - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const at = postings[middle * STRIDE] as number
    if (at === id) return middle * STRIDE
    if (at < id) low = middle + 1
    else high = middle - 1
  }
  return -1
}

function gather({ name, description, body }: Indexed, stemOf: (word: string) => string) {
  const found = new Map<string, { tenths: number; lines: number }>()
  let length = 0
  const take = (words: readonly Word[], weight: number, lines: number) => {
    for (const { term, kind } of words) {
      const known = found.get(term)
      if (known) {
        known.tenths += weight
        known.lines |= lines
      } else found.set(term, { tenths: weight, lines })
      // The parts of what is whole have been counted.
      if (kind !== 'whole') length += weight
    }
  }
  take(wordsOf(name, stemOf), WEIGHTS.name, EVERY_LINE)
  take(wordsOf(description, stemOf), WEIGHTS.description, 1)
  linesOf(body).forEach((line, n) => {
    take(wordsOf(line, stemOf), WEIGHTS.body, 1 << Math.min(n + 1, LINES - 1))
  })
  return { found, length }
}

function linesOf(body: string): string[] {
  return body.split(/\n+|(?<=[.!?。！？])\s+/).filter((line) => line.trim() !== '')
}

/** A cheap first check: a typo leaves the first or the last letter, and changes the length by at most one. */
function isNear(a: string, b: string): boolean {
  return Math.abs(a.length - b.length) <= 1 && (a[0] === b[0] || a.at(-1) === b.at(-1))
}

/** A letter too many, too few, another one, or two swapped. */
function withinOneEdit(a: string, b: string): boolean {
  if (a === b) return true
  const [short, long] = a.length <= b.length ? [a, b] : [b, a]
  let at = 0
  while (at < short.length && short[at] === long[at]) at++
  if (short.length < long.length) return short.slice(at) === long.slice(at + 1)
  if (short.slice(at + 1) === long.slice(at + 1)) return true
  return short[at] === long[at + 1] && short[at + 1] === long[at] && short.slice(at + 2) === long.slice(at + 2)
}
