/**
 * Keeps a mark of doubt on what may not be trusted, wherever a dream puts it: in its own file, in one that took it over, in
 * one that says it too, and on what nobody had said before. A model that is asked to forget the mark changes nothing. Pure.
 */
import { parseTopic, updateTopic } from '../memory/topic-file.ts'
import { foundIn } from './guards.ts'
import { changedAmong, type Texts } from './state.ts'
import { rareWords, shareOf, type WordsOf, wordsIn } from './words.ts'

/** A new memory of which less was said by anybody one may trust rests on what the model found by itself. */
const KNOWN_AT_LEAST = 0.5
/** So much of a doubtful memory in what was added, and it was taken from there. */
const TAKEN_AT_LEAST = 0.5
/** So much of one line in a memory, and that is where it is from. */
const LINE_AT_LEAST = 0.75
/** A line of fewer words could be from anywhere. */
const LINE_WORDS = 3

export function marked(before: Texts, drafted: Texts, heard: string, wordsOf: WordsOf): Texts {
  const after = new Map(drafted)
  const changed = changedAmong(before, drafted)
  if (changed.length === 0) return after
  const doubtful = [...before].filter(([, text]) => isDoubtful(text))
  const trusted = [...before].filter(([, text]) => !isDoubtful(text))
  const known = new Set<string>()
  for (const text of [...trusted.map(([, text]) => text), heard]) for (const word of wordsIn(text)) known.add(word)
  const isCopied = createCopies({ doubtful, trusted, known, wordsOf })
  const takers = takersOf(before, drafted, doubtful, wordsOf)
  for (const [file, text] of changed) {
    if (isDoubtful(text)) continue
    const isNew = !before.has(file) && shareOf(wordsOf(text), known) < KNOWN_AT_LEAST
    if (isNew || takers.has(file) || isCopied(text, before.get(file) ?? ''))
      after.set(file, updateTopic(text, { trust: 'untrusted' }))
  }
  return after
}

function isDoubtful(text: string): boolean {
  const { trust } = parseTopic(text)
  return trust === 'untrusted' || trust === 'tool'
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

type Sources = {
  doubtful: readonly [string, string][]
  trusted: readonly [string, string][]
  known: ReadonlySet<string>
  wordsOf: WordsOf
}

/** Whether something in a text that was not there before stands in a doubtful memory, and in none that may be trusted. */
function createCopies({ doubtful, trusted, known, wordsOf }: Sources): (text: string, old: string) => boolean {
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
