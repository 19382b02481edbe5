/**
 * Finds memories that say what another one says: the same, the same but for small words, or a part of it line by line. What
 * differs by a number, a name or a "not" is never taken for the same. Pure.
 */
import { parseTopic, type Topic } from '../memory/topic-file.ts'
import { normaliseValue } from '../memory/values.ts'
import { wordsIn } from './words.ts'

/** `file` may go: `into` says all of it. */
export type Merge = { file: string; into: string }

type Known = {
  file: string
  topic: Topic
  value: string
  words: string
  /** In words that say something. */
  length: number
  lines: ReadonlySet<string>
}

/** Fewer words are too little to go by. */
const LEAST_WORDS = 3

export function findDuplicates(texts: ReadonlyMap<string, string>, most: number): Merge[] {
  const known = [...texts].map(([file, text]) => knownOf(file, text)).sort(betterFirst)
  const kept = createKept()
  const merges: Merge[] = []
  for (const memory of known) {
    const into = merges.length < most ? kept.find(memory) : undefined
    if (into) merges.push({ file: memory.file, into: into.file })
    else kept.add(memory)
  }
  return merges
}

/** Found by what they say: a directory of thousands is not compared each with each. */
function createKept() {
  const by = new Map<string, Known[]>()
  const keysOf = ({ value, words, topic, lines }: Known) => [
    `value ${value}`,
    `words ${topic.type} ${words}`,
    ...[...lines].map((line) => `line ${line}`),
  ]
  return {
    add: (memory: Known) => {
      for (const key of keysOf(memory)) {
        const known = by.get(key)
        if (known) known.push(memory)
        else by.set(key, [memory])
      }
    },
    find: (memory: Known): Known | undefined => {
      const [value = '', words = '', line = ''] = keysOf(memory)
      const candidates = [value, words, line].flatMap((key) => by.get(key) ?? [])
      return candidates.find((other) => saysAll(other, memory))
    },
  }
}

function knownOf(file: string, text: string): Known {
  const topic = parseTopic(text)
  const words = wordsIn(topic.body)
  return {
    file,
    topic,
    value: normaliseValue(topic.body),
    length: words.length,
    words: words.length >= LEAST_WORDS ? words.join(' ') : '',
    lines: new Set(topic.body.split('\n').map(normaliseValue).filter(Boolean)),
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
  if (other.value === memory.value) return true
  if (other.topic.type !== memory.topic.type) return false
  if (memory.words !== '' && other.words === memory.words) return true
  return memory.words !== '' && [...memory.lines].every((line) => other.lines.has(line))
}
