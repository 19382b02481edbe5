/** What a text says, as words that can be compared: without case, marks and the small words that carry nothing. Pure. */
import { parseTopic } from '../memory/topic-file.ts'
import { normaliseValue } from '../memory/values.ts'

const SMALL = new Set(
  'a an the is are was were be been to of in on at for and or that this these those it its with by as we you i our your my please also'.split(
    ' ',
  ),
)
const LEAST_RARE = 2
const HAN = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}/u

/** In order, as they stand. A word and its plural are one; where there are no spaces, two characters make one. */
export function wordsIn(text: string): string[] {
  return normaliseValue(text)
    .split(' ')
    .flatMap((word) => (HAN.test(word) ? pairsOf(word) : [word]))
    .filter((word) => word !== '' && !SMALL.has(word))
    .map((word) => (word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word))
}

function pairsOf(word: string): string[] {
  const characters = [...word]
  if (characters.length < 2) return characters
  return characters.slice(1).map((character, n) => `${characters[n]}${character}`)
}

/** What a memory says, without the keys of its front matter. */
export function topicWords(text: string): Set<string> {
  const { name = '', description = '', body } = parseTopic(text)
  return new Set([name, description, body].flatMap(wordsIn))
}

/**
 * What only few memories say: a directory has words that stand in most of them, and two that share no others have nothing
 * in common. Where a memory has none of its own, all of its words have to do.
 */
export function rareWords(texts: Iterable<string>): (text: string) => Set<string> {
  const given = [...texts]
  const most = Math.max(2, given.length / 10)
  let counted: Map<string, number> | undefined
  // Counted when it is first asked: most dreams take nothing away.
  const count = () => {
    const times = new Map<string, number>()
    for (const text of given) for (const word of topicWords(text)) times.set(word, (times.get(word) ?? 0) + 1)
    return times
  }
  return (text) => {
    counted ??= count()
    const times = counted
    const words = topicWords(text)
    const rare = new Set([...words].filter((word) => (times.get(word) ?? 0) <= most))
    return rare.size >= LEAST_RARE ? rare : words
  }
}

/** Which part of the one stands in the other, from 0 to 1; of nothing, all of it does. */
export function shareOf(words: ReadonlySet<string>, within: ReadonlySet<string>): number {
  if (words.size === 0) return 1
  let found = 0
  for (const word of words) if (within.has(word)) found++
  return found / words.size
}
