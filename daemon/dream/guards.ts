/**
 * Looks at what a dream would leave, without a model: whether anything is lost that nobody said could go. What it finds turns
 * the run into something that a person decides about. Names no memory: its words stay when a memory is purged. Pure.
 */
import { parseTopic } from '../memory/topic-file.ts'
import type { Texts } from './state.ts'
import { rareWords, shareOf, type WordsOf, wordsIn } from './words.ts'

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
