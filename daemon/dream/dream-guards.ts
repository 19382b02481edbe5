/**
 * Looks at what a dream would leave, without a model: whether anything is lost. What it finds turns
 * the run into something that a person decides about. Names no memory: its words stay when a memory is purged. Pure.
 */
import { parseTopic, updateTopic } from '../memory/topic-file.ts'
import { isDoubtful, rareWords, shareOf, type WordsOf, wordsIn } from './duplicates.ts'

/** What each memory of a directory says, by its file. */
export type Texts = Map<string, string>

export function changedAmong(before: Texts, after: Texts): [string, string][] {
  return [...after].filter(([file, text]) => before.get(file) !== text)
}

export type Guarded = {
  before: Texts
  after: Texts
  /** The index as it would be without the model, and as it would be with it. */
  index: { before: string; after: string }
  maxDeletions: number
  wordsOf: WordsOf
}

/** A memory that keeps less than this of its words was rewritten into another. */
const KEPT_AT_LEAST = 0.2
/** So much of all that was said has to be left, however it is spread. */
const LEFT_AT_LEAST = 0.5
/** So much of it has to stand in one other memory, or it is gone. */
const FOUND_AT_LEAST = 0.5

export function structuralLoss(guarded: Guarded): string[] {
  const { before, after, index, maxDeletions, wordsOf } = guarded
  const deleted = [...before.keys()].filter((file) => !after.has(file)).length
  const lost = lostAmong(before, after, wordsOf).length
  const bytes = { before: Buffer.byteLength(index.before), after: Buffer.byteLength(index.after) }
  return [
    ...(lost > 0
      ? [`${counted(lost, 'memory', 'memories')} would be gone, and what was said there stands nowhere else`]
      : []),
    ...(lost === 0 && leftOf(before, after, wordsOf) < LEFT_AT_LEAST
      ? ['of the words of all memories together less than half would be left']
      : []),
    ...(deleted > maxDeletions
      ? [`${counted(deleted, 'memory', 'memories')} would be deleted, and at most ${maxDeletions} may be`]
      : []),
    ...(bytes.after * 2 < bytes.before
      ? [`the index would shrink by more than half, from ${bytes.before} to ${bytes.after} bytes`]
      : []),
  ]
}

/** Memories that were there and of whose words too little is left, in their own file and in any other. */
export function lostAmong(before: Texts, after: Texts, wordsOf: WordsOf): string[] {
  const touched = [...before].filter(([file, text]) => after.get(file) !== text)
  if (touched.length === 0) return []
  const known = new Map([...after].map(([file, text]) => [file, wordsOf(text)]))
  const rare = rareWords(before.values(), wordsOf)
  return touched.flatMap(([file, text]) => {
    const words = rare(text)
    const left = known.get(file)
    // A title and a description are no memory any more, once their body is gone.
    const isLeft = left && [words, bodyWords(text, words)].every((each) => shareOf(each, left) >= KEPT_AT_LEAST)
    if (isLeft) return []
    return foundIn(words, known, file) === undefined ? [file] : []
  })
}

/** What the body adds to its title and description; where that is nothing, all of it. */
function bodyWords(text: string, words: ReadonlySet<string>): ReadonlySet<string> {
  const { name = '', description = '', body } = parseTopic(text)
  const told = new Set([name, description].flatMap(wordsIn))
  const own = new Set(wordsIn(body).filter((word) => !told.has(word)))
  return own.size === 0 ? words : own
}

function leftOf(before: Texts, after: Texts, wordsOf: WordsOf): number {
  const isSame = [...before].every(([file, text]) => after.get(file) === text)
  return isSame ? 1 : shareOf(wordsOfAll(before, wordsOf), wordsOfAll(after, wordsOf))
}

function wordsOfAll(texts: Texts, wordsOf: WordsOf): Set<string> {
  const all = new Set<string>()
  for (const text of texts.values()) for (const word of wordsOf(text)) all.add(word)
  return all
}

/** The memory that says most of it, if one says enough. */
export function foundIn(
  words: ReadonlySet<string>,
  known: ReadonlyMap<string, ReadonlySet<string>>,
  except: string,
): string | undefined {
  let best: { file: string; share: number } | undefined
  for (const [file, others] of known) {
    if (file === except) continue
    const share = shareOf(words, others)
    if (share >= FOUND_AT_LEAST && share > (best?.share ?? 0)) best = { file, share }
  }
  return best?.file
}

function counted(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`
}

/** A new memory of which trusted memories and logs say less rests on what the model found by itself. */
const KNOWN_AT_LEAST = 0.5
/** So much of a doubtful memory in what was added, and it was taken from there. */
const TAKEN_AT_LEAST = 0.5
/** So much of one line in a memory, and that is where it is from. */
const LINE_AT_LEAST = 0.75
/** A line of fewer words could be from anywhere. */
const LINE_WORDS = 3

/**
 * Keeps a mark of doubt on what may not be trusted, wherever a dream puts it: in its own file, in one that took it over, in
 * one that says it too, and on what was not said before. A model that is asked to forget the mark changes nothing. Pure.
 */
export function marked(before: Texts, drafted: Texts, heard: string, wordsOf: WordsOf): Texts {
  const after = new Map(drafted)
  const changed = changedAmong(before, drafted)
  if (changed.length === 0) return after
  const doubtful = [...before].filter(([, text]) => isDoubtful(parseTopic(text)))
  const trusted = [...before].filter(([, text]) => !isDoubtful(parseTopic(text)))
  const known = new Set<string>()
  for (const text of [...trusted.map(([, text]) => text), heard]) for (const word of wordsIn(text)) known.add(word)
  const isCopied = createCopies(doubtful, trusted, known, wordsOf)
  const takers = takersOf(before, drafted, doubtful, wordsOf)
  for (const [file, text] of changed) {
    if (isDoubtful(parseTopic(text))) continue
    const isNew = !before.has(file) && shareOf(wordsOf(text), known) < KNOWN_AT_LEAST
    if (isNew || takers.has(file) || isCopied(text, before.get(file) ?? ''))
      after.set(file, updateTopic(text, { trust: 'untrusted' }))
  }
  return after
}

/** Their own files, or those that say most of what is gone. */
function takersOf(
  before: Texts,
  drafted: Texts,
  doubtful: readonly [string, string][],
  wordsOf: WordsOf,
): Set<string | undefined> {
  const rare = rareWords(before.values(), wordsOf)
  const words = new Map(changedAmong(before, drafted).map(([file, text]) => [file, wordsOf(text)]))
  return new Set(doubtful.map(([file, text]) => (drafted.has(file) ? file : foundIn(rare(text), words, file))))
}

/** Whether something in a text that was not there before stands in a doubtful memory, and in none that may be trusted. */
function createCopies(
  doubtful: readonly [string, string][],
  trusted: readonly [string, string][],
  known: ReadonlySet<string>,
  wordsOf: WordsOf,
): (text: string, old: string) => boolean {
  const sources = doubtful.map(([, text]) => wordsOf(text))
  let others: ReadonlySet<string>[] | undefined
  const isSaid = (words: ReadonlySet<string>) => {
    others ??= trusted.map(([, text]) => wordsOf(text))
    return others.some((other) => shareOf(words, other) >= LINE_AT_LEAST)
  }
  return (text, old) => {
    const own = wordsOf(old)
    const added = new Set([...wordsOf(text)].filter((word) => !own.has(word)))
    const isTaken = sources.some((source) => {
      const only = new Set([...source].filter((word) => !known.has(word)))
      return only.size >= LINE_WORDS && shareOf(only, added) >= TAKEN_AT_LEAST
    })
    return (
      isTaken || addedLines(text, old).some((line) => sources.some((source) => isFrom(line, source)) && !isSaid(line))
    )
  }
}

function isFrom(line: ReadonlySet<string>, source: ReadonlySet<string>): boolean {
  return shareOf(line, source) >= LINE_AT_LEAST
}

function addedLines(text: string, old: string): Set<string>[] {
  const known = new Set(linesOf(old))
  return linesOf(text)
    .filter((line) => !known.has(line))
    .map((line) => new Set(wordsIn(line)))
    .filter((words) => words.size >= LINE_WORDS)
}

function linesOf(text: string): string[] {
  const { name = '', description = '', body } = parseTopic(text)
  return [name, description, ...body.split('\n')].map((line) => line.trim())
}
