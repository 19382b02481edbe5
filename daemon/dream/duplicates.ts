/**
 * Finds memories that say what another one says: the same, the same but for articles and marks, or its beginning line by
 * line. What differs by a number, a sign, a name, a time or a "not", or is about something else by its name, is never taken
 * for the same. Pure.
 */
import { parseTopic, type Topic } from '../memory/topic-file.ts'
import { parseFrontMatter } from '../platform/front-matter.ts'
import { saidIn, topicWords, wordsIn } from './words.ts'

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
  const kept = createKept()
  const merges: Merge[] = []
  for (const memory of known) {
    const into = merges.length < most ? kept.find(memory) : undefined
    if (into && mayGo(memory.file)) merges.push({ file: memory.file, into: into.file })
    else kept.add(memory)
  }
  return merges
}

/** Found by what they say: a directory of thousands is not compared each with each. */
function createKept() {
  const by = new Map<string, Known[]>()
  const keysOf = ({ value, lines: [first = ''] }: Known) => [`value ${value}`, `line ${first}`]
  return {
    add: (memory: Known) => {
      for (const key of keysOf(memory)) {
        const known = by.get(key)
        if (known) known.push(memory)
        else by.set(key, [memory])
      }
    },
    find: (memory: Known): Known | undefined => {
      const candidates = keysOf(memory).flatMap((key) => by.get(key) ?? [])
      return candidates.find((other) => saysAll(other, memory))
    },
  }
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
    Number(isDoubtful(one)) - Number(isDoubtful(other)) ||
    other.length - one.length ||
    one.file.length - other.file.length ||
    (one.file < other.file ? -1 : 1)
  )
}

function isDoubtful({ topic: { trust } }: Known): boolean {
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
