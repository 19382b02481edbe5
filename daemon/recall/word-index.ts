/**
 * Which memories hold which terms, how often and in which of their lines. Kept in memory for one directory; memories are put in,
 * replaced and taken out one by one, and the result is the same as if all had been put in at once. Does no I/O.
 */
import { copied } from '../platform/characters.ts'
import { createSpellings, type Spelling, type Spellings } from './spellings.ts'
import { stem, type Word, wordsOf } from './words.ts'

export type Indexed = { file: string; name: string; description: string; body: string }

export type Doc = {
  id: number
  file: string
  /** In tenths of a word; those of fields that say more count for more. */
  length: number
  /** Each once. */
  terms: readonly Term[]
  /** Each once. */
  spellings: readonly Spelling[]
}

export type Term = {
  text: string
  postings: Postings
  /** Zero, for whoever adds something up and leaves zero behind. */
  sum: number
  /** As it was worked out last; `index.worth` tells what it is now. */
  worth: Worth
}

/** The ids of a term's postings and what each of them is worth, in their order. */
export type Worth = { version: number; ids: Int32Array; shares: Float64Array }

/** Three numbers for each memory, by rising ids: its id, how much of the term is in it (tenths of a word), in which lines (bits). */
export type Postings = number[]
export const STRIDE = 3

/** A bit for each line; the last stands for all that come after it. */
export const LINES = 30
/** What a memory is called is about every line of it. */
export const EVERY_LINE = (1 << LINES) - 1

/** The kinds of words. `stem`: a word without its ending. `asked`: the same of a question's, nothing of one that says nothing. */
type Remembered = Word['kind'] | 'stem' | 'asked'

export type WordIndex = Pick<Spellings, 'alike' | 'beginning'> & {
  put(memory: Indexed): void
  remove(file: string): void
  size(): number
  /** Ids are below this. */
  idLimit(): number
  worth(term: Term): Worth
  /** How much a word tells that so many memories have. */
  rarity(holders: number): number
  /** What was worked out of a word and only depends on the memories there are; nothing once one has come or gone. */
  remembered(kind: Remembered, word: string): unknown
  remember<T>(kind: Remembered, word: string, what: T): T
  scratch(): Scratch
  /** So many cells of it are zeros; valid until it is asked for again. */
  grid(cells: number): Grid
  doc(id: number): Doc
  /** By id: what each memory has before any word is looked for. */
  headStarts(): readonly number[]
  term(text: string): Term | undefined
  /** A word without its ending; for words that some memory has, without work. */
  stem(word: string): string
}

/** Tenths of a word. What a memory is called says more about it than a word of its text. */
const WEIGHTS = { name: 20, description: 12, body: 10 }
const NOTHING: Worth = { version: -1, ids: new Int32Array(0), shares: new Float64Array(0) }
/** Ids of memories that are gone leave holes; with as many holes as memories they are given anew. */
const FEWEST_HOLES = 1_000
/** Of each kind. */
const MOST_REMEMBERED = 5_000
const MOST_RARITIES = 4_096

export function createWordIndex(): WordIndex {
  const ids = new Map<string, number>()
  let docs: (Doc | undefined)[] = []
  /** By id: numbers in a row are read quicker than out of the documents. */
  let headStarts: number[] = []
  const terms = new Map<string, Term>()
  const spellings = createSpellings()
  const scratch = createScratch()
  /** Whole numbers only: in whichever order memories come and go, it is the same to the last bit, and so is what words are worth. */
  let totalLength = 0
  /** Counts changes: what was worked out before the last one holds no longer. */
  let version = 0
  const kept: Record<Remembered, Map<string, unknown>> = {
    word: new Map(),
    whole: new Map(),
    pair: new Map(),
    stem: new Map(),
    asked: new Map(),
  }
  let rarities = new Float64Array(0)

  const changed = (): void => {
    version++
    for (const ofKind of Object.values(kept)) if (ofKind.size > 0) ofKind.clear()
    rarities = new Float64Array(0)
  }

  const remove = (file: string): void => {
    const id = ids.get(file)
    const doc = id === undefined ? undefined : docs[id]
    if (!doc) return
    changed()
    ids.delete(file)
    docs[doc.id] = undefined
    totalLength -= doc.length
    for (const { text, postings } of doc.terms) {
      postings.splice(findPosting(postings, doc.id), STRIDE)
      if (postings.length === 0) terms.delete(text)
    }
    spellings.release(doc.spellings)
    if (docs.length - ids.size > Math.max(ids.size, FEWEST_HOLES)) closeHoles()
  }

  const closeHoles = (): void => {
    const moved = new Map<number, number>()
    const present = docs.filter((doc) => doc !== undefined)
    headStarts = present.map(({ id }) => headStarts[id] as number)
    docs = present.map((doc, id) => {
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
    const term: Term = { text, postings: [], sum: 0, worth: NOTHING }
    terms.set(text, term)
    return term
  }

  const averageLength = (): number => totalLength / Math.max(1, ids.size)
  const remembered = (kind: Remembered, word: string): unknown => kept[kind].get(word)
  const remember = <T>(kind: Remembered, word: string, what: T): T => {
    const ofKind = kept[kind]
    if (ofKind.size >= MOST_REMEMBERED) ofKind.clear()
    ofKind.set(copied(word), what)
    return what
  }
  const knownStem = (word: string): string =>
    spellings.stemOf(word) ??
    (remembered('stem', word) as string | undefined) ??
    remember('stem', word, stem(copied(word)))

  return {
    put: (memory) => {
      remove(memory.file)
      changed()
      const { stemOf, held } = spellings.hold()
      const { found, length } = gather(memory, stemOf)
      const id = docs.length
      const own: Term[] = []
      for (const [text, { tenths, lines }] of found) {
        const term = termOf(text)
        term.postings.push(id, tenths, lines)
        own.push(term)
      }
      // Copied: lists that grew have room for more, and these stay as they are.
      docs.push({ id, file: memory.file, length, terms: own.slice(), spellings: held.slice() })
      headStarts.push(headStart(memory.file))
      ids.set(memory.file, id)
      totalLength += length
    },
    remove,
    size: () => ids.size,
    idLimit: () => docs.length,
    worth: (term) => {
      if (term.worth.version === version) return term.worth
      const { postings } = term
      const average = averageLength()
      const holders = postings.length / STRIDE
      const worth = { version, ids: new Int32Array(holders), shares: new Float64Array(holders) }
      for (let n = 0, at = 0; n < holders; n++, at += STRIDE) {
        const { id, length } = docs[postings[at] as number] as Doc
        worth.ids[n] = id
        worth.shares[n] = saturated((postings[at + 1] as number) / 10, length / average)
      }
      term.worth = worth
      return worth
    },
    rarity: (holders) => {
      if (holders >= MOST_RARITIES) return rarity(holders, ids.size)
      if (rarities.length === 0) rarities = new Float64Array(MOST_RARITIES)
      const known = rarities[holders] as number
      if (known !== 0) return known
      const found = rarity(holders, ids.size)
      rarities[holders] = found
      return found
    },
    remembered,
    remember,
    scratch: () => scratch.forIds(docs.length),
    grid: scratch.grid,
    doc: (id) => docs[id] as Doc,
    headStarts: () => headStarts,
    term: (text) => terms.get(text),
    stem: knownStem,
    alike: spellings.alike,
    beginning: spellings.beginning,
  }
}

/** Where the posting of a memory begins; -1 where there is none. */
export function findPosting(list: Postings, id: number): number {
  let low = 0
  let high = list.length / STRIDE - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const at = list[middle * STRIDE] as number
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

/** A line, or a sentence of one: what is said together. */
function linesOf(body: string): string[] {
  return body.split(/\n+|(?<=[.!?。！？])\s+/).filter((line) => line.trim() !== '')
}

/** What words are worth: one in a memory, and one at all. Pure. */

/** Chosen by measurement; results hardly change around them. */
const K1 = 1.1
const B = 0.4
const DELTA = 0.6

/** BM25+: more of the same word says less and less, most of all in a long text; to have it at all says something. */
export function saturated(times: number, longer: number): number {
  return (times * (K1 + 1)) / (times + K1 * (1 - B + B * longer)) + DELTA
}

/** Of what is nowhere, a little more than of what is in one memory alone. */
export function rarity(holders: number, memories: number): number {
  return Math.log(1 + (memories - holders + 0.5) / (holders + 0.5))
}

/**
 * A trifle that a memory begins with, and that its name alone decides: of many that fit alike the same ones are looked at
 * closely, in whichever order they were read. To compare their names instead takes up to three times as long. Pure.
 */

/** Less than the commonest word adds, and many times what is lost in adding up. */
const TRIFLE = 1e-7
const HASHES = 2 ** 32

/** Names may have the same (FNV-1a). */
export function headStart(name: string): number {
  let hash = 0x811c9dc5
  for (let n = 0; n < name.length; n++) hash = Math.imul(hash ^ name.charCodeAt(n), 0x01000193)
  return TRIFLE * ((hash >>> 0) / HASHES)
}

/** Numbers to work in, made once for an index: to make them for each question would take longer than to answer it. */

/** For each id. Zeros are left behind. */
export type Scratch = {
  sums: Float64Array
  parts: Float64Array
  slots: Int32Array
  /** Not zeros: written before they are read. */
  touched: Int32Array
  own: Int32Array
  /** The same; for the few that are looked at closely, in their order. */
  ones: Int32Array
  places: Int32Array
  few: Int32Array
  order: Int32Array
  scores: Float64Array
  best: Float64Array
  titles: Int32Array
}

/** Nobody looks at more of them closely. */
export const MOST_FEW = 512

/** For each of the few and each thing that is wanted. */
export type Grid = { sure: Float64Array; lines: Int32Array }

export type Scratches = {
  /** With room for so many ids. */
  forIds(ids: number): Scratch
  /** So many cells of it are zeros; valid until it is asked for again. */
  grid(cells: number): Grid
}

export function createScratch(): Scratches {
  let scratch = scratchFor(0)
  let grid = gridFor(0)
  return {
    forIds: (ids) => {
      if (scratch.sums.length < ids) scratch = scratchFor(2 * ids)
      return scratch
    },
    grid: (cells) => {
      if (grid.sure.length < cells) grid = gridFor(2 * cells)
      const { sure, lines } = grid
      // One by one: for so few that is quicker than to have it done.
      for (let cell = 0; cell < cells; cell++) sure[cell] = lines[cell] = 0
      return grid
    },
  }
}

function scratchFor(ids: number): Scratch {
  const few = Math.min(ids, MOST_FEW)
  return {
    sums: new Float64Array(ids),
    parts: new Float64Array(ids),
    slots: new Int32Array(ids),
    touched: new Int32Array(ids),
    own: new Int32Array(ids),
    ones: new Int32Array(few),
    places: new Int32Array(few),
    few: new Int32Array(few),
    order: new Int32Array(few),
    scores: new Float64Array(few),
    best: new Float64Array(few),
    titles: new Int32Array(few),
  }
}

function gridFor(cells: number): Grid {
  return { sure: new Float64Array(cells), lines: new Int32Array(cells) }
}
