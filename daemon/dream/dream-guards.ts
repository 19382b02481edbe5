/** Checks whether a dream would lose anything. Reasons name no memory: they stay when a memory is purged. Pure. */
import { parseTopic, updateTopic } from '../memory/topic-file.ts'
import { isDoubtful, shareOf, type WordSet, type Words, wordsIn } from './duplicates.ts'

export type Texts = Map<string, string>
type Entries = readonly (readonly [string, string])[]

export function changedAmong(before: Texts, after: Texts): [string, string][] {
  return [...after].filter(([file, text]) => before.get(file) !== text)
}

type Guarded = {
  before: Texts
  after: Texts
  index: { before: string; after: string }
  maxDeletions: number
  words: Words
}

/** A memory that keeps less of its words was rewritten into another one. */
const KEPT_AT_LEAST = 0.2
/** Of the words of all memories together. */
const LEFT_AT_LEAST = 0.5
/** In one other memory, or else the content is lost. */
const FOUND_AT_LEAST = 0.5

export function structuralLoss({ before, after, index, maxDeletions, words }: Guarded): string[] {
  const deleted = [...before.keys()].filter((file) => !after.has(file)).length
  const lost = lostAmong(before, after, words).length
  const bytes = { before: Buffer.byteLength(index.before), after: Buffer.byteLength(index.after) }
  const losses: string[] = []
  if (lost > 0) losses.push(`${memories(lost)} would be gone, and what was said there stands nowhere else`)
  else if (leftOf(before, after, words) < LEFT_AT_LEAST)
    losses.push('of the words of all memories together less than half would be left')
  if (deleted > maxDeletions) losses.push(`${memories(deleted)} would be deleted, and at most ${maxDeletions} may be`)
  if (bytes.after * 2 < bytes.before)
    losses.push(`the index would shrink by more than half, from ${bytes.before} to ${bytes.after} bytes`)
  return losses
}

function lostAmong(before: Texts, after: Texts, words: Words): string[] {
  const touched = [...before].filter(([file, text]) => after.get(file) !== text)
  if (touched.length === 0) return []
  const known = new Map([...after].map(([file, text]) => [file, words.of(text)]))
  return touched.flatMap(([file, text]) => {
    const rare = words.rare(text)
    const left = known.get(file)
    // Name and description alone are no memory: the body counts by itself.
    const isLeft = left && [rare, bodyWords(text, rare)].every((each) => shareOf(each, left) >= KEPT_AT_LEAST)
    if (isLeft) return []
    return foundIn(rare, known, file) === undefined ? [file] : []
  })
}

function bodyWords(text: string, words: WordSet): WordSet {
  const { name = '', description = '', body } = parseTopic(text)
  const told = new Set([name, description].flatMap(wordsIn))
  const own = new Set(wordsIn(body).filter((word) => !told.has(word)))
  return own.size === 0 ? words : own
}

function leftOf(before: Texts, after: Texts, words: Words): number {
  const isSame = [...before].every(([file, text]) => after.get(file) === text)
  const allIn = (texts: Texts) => new Set([...texts.values()].flatMap((text) => [...words.of(text)]))
  return isSame ? 1 : shareOf(allIn(before), allIn(after))
}

export function foundIn(words: WordSet, known: ReadonlyMap<string, WordSet>, except: string): string | undefined {
  let best: { file: string; share: number } | undefined
  for (const [file, others] of known) {
    if (file === except) continue
    const share = shareOf(words, others)
    if (share >= FOUND_AT_LEAST && share > (best?.share ?? 0)) best = { file, share }
  }
  return best?.file
}

function memories(count: number): string {
  return `${count} ${count === 1 ? 'memory' : 'memories'}`
}

/** A new memory with fewer known words rests on what the model found by itself. */
const KNOWN_AT_LEAST = 0.5
/** With this much of a doubtful memory in what was added, it was taken from there. */
const TAKEN_AT_LEAST = 0.5
/** With this much of a line in a memory, it was taken from there. */
const LINE_AT_LEAST = 0.75
/** Shorter lines could be from anywhere. */
const LINE_WORDS = 3

/** The model cannot remove the mark of untrusted memories: it follows their content. New content is marked, too. */
export function marked(before: Texts, drafted: Texts, heard: string, words: Words): Texts {
  const after = new Map(drafted)
  const changed = changedAmong(before, drafted)
  if (changed.length === 0) return after
  const doubtful = [...before].filter(([, text]) => isDoubtful(parseTopic(text)))
  const trusted = [...before].filter(([, text]) => !isDoubtful(parseTopic(text)))
  const known = new Set([...trusted.map(([, text]) => text), heard].flatMap(wordsIn))
  const isCopied = createCopies(doubtful, trusted, known, words)
  const changedWords = new Map(changed.map(([file, text]) => [file, words.of(text)]))
  const takerOf = (file: string, text: string) => foundIn(words.rare(text), changedWords, file)
  const takers = new Set(doubtful.map(([file, text]) => (drafted.has(file) ? file : takerOf(file, text))))
  for (const [file, text] of changed) {
    if (isDoubtful(parseTopic(text))) continue
    const isNew = !before.has(file) && shareOf(words.of(text), known) < KNOWN_AT_LEAST
    if (isNew || takers.has(file) || isCopied(text, before.get(file) ?? ''))
      after.set(file, updateTopic(text, { trust: 'untrusted' }))
  }
  return after
}

function createCopies(doubtful: Entries, trusted: Entries, known: WordSet, words: Words) {
  const sources = doubtful.map(([, text]) => words.of(text))
  const isFrom = (line: WordSet, source: WordSet) => shareOf(line, source) >= LINE_AT_LEAST
  const isSaid = (line: WordSet) => trusted.some(([, text]) => isFrom(line, words.of(text)))
  return (text: string, old: string): boolean => {
    const own = words.of(old)
    const added = new Set([...words.of(text)].filter((word) => !own.has(word)))
    const isTaken = sources.some((source) => {
      const only = new Set([...source].filter((word) => !known.has(word)))
      return only.size >= LINE_WORDS && shareOf(only, added) >= TAKEN_AT_LEAST
    })
    const isCopied = (line: WordSet) => sources.some((source) => isFrom(line, source)) && !isSaid(line)
    return isTaken || addedLines(text, old).some(isCopied)
  }
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
