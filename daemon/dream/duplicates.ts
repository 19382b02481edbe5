/** Finds memories that another repeats. Another number, sign, name, time or "not" is never a duplicate. Pure. */
import { normaliseValue } from '../memory/tombstones.ts'
import { parseTopic, type Topic } from '../memory/topic-file.ts'
import { parseFrontMatter } from '../platform/front-matter.ts'
import { pairsOf } from '../platform/text.ts'

export type WordSet = ReadonlySet<string>

export type Merge = { file: string; into: string }

type Known = {
  file: string
  topic: Topic
  value: string
  lines: readonly string[]
  /** In words. */
  length: number
  /** Computed only when two are alike. */
  front: () => Front
}

/** `about`: the words of name and description. `others`: other keys of the front matter. */
type Front = { about: readonly string[]; words: WordSet; others: ReadonlyMap<string, string> }

const LEAST_WORDS = 3
/** Keys that do not tell memories apart; `metadata` is a harness's own. */
const COMMON = new Set(['name', 'description', 'type', 'trust', 'metadata'])

export function findDuplicates(texts: Map<string, string>, most: number, mayGo: (file: string) => boolean): Merge[] {
  const known = [...texts].map(([file, text]) => knownOf(file, text)).sort(betterFirst)
  // By their keys: comparing each with each would be too slow for thousands.
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

/** The one to keep first: the trusted one, then the longer, then the plainer name. */
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
  // Only from the beginning: further on, a line may stand under a "never".
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
  `a an the is are was were be been to of in on at for and or that this these those it its with by as we you i our your my
  please also`.split(/\s+/),
)
const LEAST_RARE = 2
const HAN = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}/u

/** Singular and plural are one word; where there are no spaces, two characters make one. */
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

/** Signs, prices, versions and small words count; articles, marks around words and first capitals do not. */
function saidIn(line: string): string[] {
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

function topicWords(text: string): Set<string> {
  const { name = '', description = '', body } = parseTopic(text)
  return new Set([name, description, body].flatMap(wordsIn))
}

export type Words = ReturnType<typeof createWords>

/** The words of memories, each text split once: a directory may have thousands, and they are needed again and again. */
export function createWords(texts: readonly string[]) {
  const known = new Map<string, WordSet>()
  const of = (text: string): WordSet => {
    const words = known.get(text) ?? topicWords(text)
    known.set(text, words)
    return words
  }
  const most = Math.max(2, texts.length / 10)
  let times: Map<string, number> | undefined
  const count = () => {
    const counts = new Map<string, number>()
    for (const text of texts) for (const word of of(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
    return counts
  }
  return {
    of,
    /** Words that few memories have: only those show that two share content. All words of one that has none. */
    rare: (text: string): WordSet => {
      // Counted on first use: most dreams remove nothing.
      times ??= count()
      const counts = times
      const words = of(text)
      const rare = new Set([...words].filter((word) => (counts.get(word) ?? 0) <= most))
      return rare.size >= LEAST_RARE ? rare : words
    },
  }
}

/** From 0 to 1; 1 for no words. */
export function shareOf(words: WordSet, within: WordSet): number {
  if (words.size === 0) return 1
  return [...words].filter((word) => within.has(word)).length / words.size
}
