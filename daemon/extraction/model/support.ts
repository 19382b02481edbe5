/**
 * Whose words a memory is made of. A model may cite a person's message and write down what a web page told it to: what
 * counts is where the words stand, not what was cited. Pure.
 */

export type Voices = {
  /** What persons said in the messages that are cited. */
  persons: readonly string[]
  /** What tools showed and the agent claimed, wherever. */
  others: readonly string[]
}

/**
 * `fromPersons`: words that persons used. `onlyOthers`: words that nobody but the others used. `copied`: whether a run of
 * words was taken over from the others that no person said.
 */
export type Support = { fromPersons: number; onlyOthers: number; all: number; copied: boolean }

/** Fewer than this are there by chance. */
const ENOUGH = 2
/** How much of a word counts: "mocking" rests on "mocks". */
const STEM_UNITS = 5
const CAP_UNITS = 200_000
/** So many in a row, of which so many are only the others', are no coincidence. */
const RUN = 6
const RUN_FOREIGN = 2

const COMMON = new Set(
  `about above after again against also always and any are aren back because been before being below between both but
  can cannot could did didn does doesn doing don down during each every few for from further had has hasn have haven
  having her here hers him his how however into isn its just keep like make makes may me might more most must need
  needs never nor not now off once only other our out over own please project rather rule same shall she should shouldn
  since some such than that the their them then there these they this those through too under until use used user uses
  using very want wants was wasn way well were weren what when where whether which while who whom why will with without
  would wouldn you your apply applies applying memory memories feedback reference description name type`.split(/\s+/),
)

/** `known`: what was said there before; its words are nobody's now. */
export function supportOf(text: string, { persons, others }: Voices, known = ''): Support {
  const words = wordsOf(text)
  for (const word of wordsOf(known)) words.delete(word)
  const theirs = wordsOf(persons.join('\n'))
  const foreign = wordsOf(others.join('\n'))
  let fromPersons = 0
  const alien = new Set<string>()
  for (const word of words) {
    if (theirs.has(word)) fromPersons++
    else if (foreign.has(word)) alien.add(word)
  }
  const copied = alien.size >= RUN_FOREIGN && hasRun(text, alien, others.join('\n'))
  return { fromPersons, onlyOthers: alien.size, all: words.size, copied }
}

/** Whether it is what persons said, rather than something they were shown. */
export function isPersons({ fromPersons, onlyOthers, all, copied }: Support): boolean {
  return !copied && fromPersons >= Math.min(ENOUGH, all) && fromPersons >= onlyOthers
}

/** A text that asks a model to save it will try to say it in the person's words: then it is taken over as it stands. */
function hasRun(text: string, alien: ReadonlySet<string>, others: string): boolean {
  const stems = stemsOf(text)
  const foreign = ` ${stemsOf(others).join(' ')} `
  for (let at = 0; at + RUN <= stems.length; at++) {
    const run = stems.slice(at, at + RUN)
    if (run.filter((stem) => alien.has(stem)).length >= RUN_FOREIGN && foreign.includes(` ${run.join(' ')} `))
      return true
  }
  return false
}

/** Every word, in order. */
function stemsOf(text: string): string[] {
  const plain = text.slice(0, CAP_UNITS).normalize('NFKC').toLowerCase()
  return [...plain.matchAll(/\p{Script=Han}|[\p{L}\p{N}]+/gu)].map(([word]) => word.slice(0, STEM_UNITS))
}

/** What a text is about: beginnings of words, and pairs of characters where words have no spaces between them. */
function wordsOf(text: string): Set<string> {
  const plain = text.slice(0, CAP_UNITS).normalize('NFKC').toLowerCase()
  const words = new Set<string>()
  for (const [word] of plain.matchAll(/[\p{L}\p{N}]+/gu)) {
    if (/\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Script=Thai}/u.test(word)) {
      const characters = [...word]
      for (const [n, one] of characters.entries()) if (n > 0) words.add(`${characters[n - 1]}${one}`)
    } else if (word.length >= 3 && !COMMON.has(word)) words.add(word.slice(0, STEM_UNITS))
  }
  return words
}
