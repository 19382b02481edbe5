/**
 * Finds memories that say what another one says: the same, the same but for articles and marks, or its beginning line by
 * line. What differs by a number, a sign, a name, a time or a "not", or is about something else by its name, is never taken
 * for the same. Pure.
 */
import { normaliseValue } from '../memory/tombstones.ts'
import { parseTopic, type Topic } from '../memory/topic-file.ts'
import { parseFrontMatter } from '../platform/front-matter.ts'

/** `file` may go: `into` says all of it. */
export type Merge = { file: string; into: string }

type Known = {
  file: string
  topic: Topic
  /** What the body says, as one and line by line. */
  value: string
  lines: readonly string[]
  /** In words that say something. */
  length: number
  /** Only when two are alike. */
  front: () => Front
}

/** What a memory says that it is about, all of its words, and what else stands in its front matter. */
type Front = { about: readonly string[]; words: ReadonlySet<string>; others: ReadonlyMap<string, string> }

/** Fewer words are too little to go by. */
const LEAST_WORDS = 3
/** Keys that do not make it another memory; `metadata` tells where a harness has it from. */
const COMMON = new Set(['name', 'description', 'type', 'trust', 'metadata'])

/** `most`: how many at once. `mayGo`: which of them at all. */
export function findDuplicates(
  texts: ReadonlyMap<string, string>,
  most: number,
  mayGo: (file: string) => boolean,
): Merge[] {
  const known = [...texts].map(([file, text]) => knownOf(file, text)).sort(betterFirst)
  // Found by what they say: a directory of thousands is not compared each with each.
  const kept = new Map<string, Known[]>()
  const merges: Merge[] = []
  for (const memory of known) {
    const keys = [`value ${memory.value}`, `line ${memory.lines[0] ?? ''}`]
    const candidates = merges.length < most ? keys.flatMap((key) => kept.get(key) ?? []) : []
    const into = candidates.find((other) => saysAll(other, memory))
    if (into && mayGo(memory.file)) {
      merges.push({ file: memory.file, into: into.file })
      continue
    }
    for (const key of keys) {
      const others = kept.get(key)
      if (others) others.push(memory)
      else kept.set(key, [memory])
    }
  }
  return merges
}

function knownOf(file: string, text: string): Known {
  const topic = parseTopic(text)
  let front: Front | undefined
  const lines = topic.body.split('\n').map(saidIn)
  return {
    file,
    topic,
    value: lines.flat().join(' '),
    lines: lines.map((words) => words.join(' ')).filter(Boolean),
    length: lines.flat().length,
    front: () => {
      front ??= frontOf(text, topic)
      return front
    },
  }
}

/** The one to be kept: whom one may trust, then the one that says more, then the plainer name. */
function betterFirst(one: Known, other: Known): number {
  return (
    Number(isDoubtful(one.topic)) - Number(isDoubtful(other.topic)) ||
    other.length - one.length ||
    one.file.length - other.file.length ||
    (one.file < other.file ? -1 : 1)
  )
}

export function isDoubtful({ trust }: Topic): boolean {
  return trust === 'untrusted' || trust === 'tool'
}

function saysAll(other: Known, memory: Known): boolean {
  if (memory.value === '') return false
  const isSame = other.value === memory.value
  const isEnough = other.topic.type === memory.topic.type && memory.length >= LEAST_WORDS
  // From the beginning: further on, a line may stand under a "never".
  const isPart = isEnough && memory.lines.every((line, n) => other.lines[n] === line)
  return (isSame || isPart) && isAbout(other, memory)
}

/** "The port is 5432" of one database says nothing about another. */
function isAbout(other: Known, memory: Known): boolean {
  const { about, others } = memory.front()
  const known = other.front()
  return (
    about.every((word) => known.words.has(word)) && [...others].every(([key, value]) => known.others.get(key) === value)
  )
}

function frontOf(text: string, { name = '', description = '' }: Topic): Front {
  const others = Object.entries(parseFrontMatter(text).data).filter(([key]) => !COMMON.has(key))
  return {
    about: [name, description].flatMap(wordsIn),
    words: topicWords(text),
    others: new Map(others.map(([key, value]) => [key, JSON.stringify(value)])),
  }
}

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

const ARTICLES = new Set(['a', 'an', 'the'])
const OPENING = new Set('"\'“”‘’`([{«')
const CLOSING = new Set('"\'“”‘’`)]}»,;:.!…。、，；：！')
const STRONG = '**'
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu
const ITEM = /^\s*(?:[-*+>]|\d{1,3}[.)]|#{1,6})\s+/

/**
 * A line word for word, to be sure that two say the same: signs, prices, versions and small words count.
 * Articles, marks around a word and the capital at its beginning do not.
 */
export function saidIn(line: string): string[] {
  return line
    .normalize('NFC')
    .replace(UNSEEN, '')
    .replace(ITEM, '')
    .split(/\s+/)
    .map(bare)
    .map((word) => (/\p{Lu}/u.test(word.slice(1)) ? word : word.toLowerCase()))
    .filter((word) => word !== '' && !ARTICLES.has(word))
}

function bare(word: string): string {
  let from = 0
  let to = word.length
  for (;;) {
    if (from < to && OPENING.has(word[from] as string)) from++
    else if (from < to && CLOSING.has(word[to - 1] as string)) to--
    else if (to - from > STRONG.length && word.startsWith(STRONG, from)) from += STRONG.length
    else if (to - from > STRONG.length && word.slice(to - STRONG.length, to) === STRONG) to -= STRONG.length
    else return word.slice(from, to)
  }
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

export type WordsOf = (text: string) => ReadonlySet<string>

/** The same, each text once: a directory may have thousands, and they are asked for again and again. */
export function rememberedWords(): WordsOf {
  const known = new Map<string, ReadonlySet<string>>()
  return (text) => {
    const words = known.get(text) ?? topicWords(text)
    known.set(text, words)
    return words
  }
}

/**
 * What only few memories say: a directory has words that stand in most of them, and two that share no others have nothing
 * in common. Where a memory has none of its own, all of its words have to do.
 */
export function rareWords(texts: Iterable<string>, wordsOf: WordsOf): WordsOf {
  const given = [...texts]
  const most = Math.max(2, given.length / 10)
  let counted: Map<string, number> | undefined
  // Counted when it is first asked: most dreams take nothing away.
  const count = () => {
    const times = new Map<string, number>()
    for (const text of given) for (const word of wordsOf(text)) times.set(word, (times.get(word) ?? 0) + 1)
    return times
  }
  return (text) => {
    counted ??= count()
    const times = counted
    const words = wordsOf(text)
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
