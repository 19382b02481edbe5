/**
 * Made-up transcripts of Claude Code: prompts, answers, commands, results. The same bytes for the same numbers, and quick to
 * make: sentences are made once and then only put together, with names, numbers and hashes that were not used before.
 */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'

export type Made = {
  /** From 0 on; the same for all who ask. */
  file(n: number): string
  /** A word that stands in so many messages. */
  rare: { word: string; messages: number }[]
  bytes: number
  messages: number
}

type Order = {
  root: string
  cwd: string
  files: number
  messagesPerFile: number
  /** Words that each stand in a few messages. */
  rareWords?: number
  /** Other numbers make other sessions and messages. */
  from?: number
}

const SENTENCES = 20_000
const WORDS = 12_000
const BLOCK_CHARS = 4_000_000
/** How often something of which credentials are made of is spoken of, in sentences of a hundred. */
const TELLING_PERCENT = 3
const TELLING = [
  'the token of the session is kept in the vault',
  'set API_KEY=<your key> before you run it',
  'password: z.string().min(8)',
  'if (!token) return res.status(401)',
  'Authorization: Bearer $TOKEN',
  'git clone https://example.org/team/app.git',
  'const secret = process.env.CLIENT_SECRET',
  'curl -s http://localhost:3000/health',
  'cookie parser and csrf token are in middleware.ts',
]

/** A generator of numbers below 2³², the same for the same seed. */
export function numbersFrom(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 0x9e3779b9) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}

export function makeTranscripts({ root, cwd, files, messagesPerFile, rareWords = 0, from = 0 }: Order): Made {
  const next = numbersFrom(1)
  const sentences = makeSentences(next)
  const rare = Array.from({ length: rareWords }, (_, n) => ({ word: `zq${wordOf(n + 7_777)}x${n}`, messages: 0 }))
  const all = files * messagesPerFile
  const file = (n: number) => join(root, `project-${n % 20}`, `${idOf(from + n)}.jsonl`)
  let bytes = 0
  for (let n = 0; n < files; n++) {
    mkdirSync(dirname(file(n)), { recursive: true })
    const fd = openSync(file(n), 'w')
    let block = ''
    for (let m = 0; m < messagesPerFile; m++) {
      const number = from + n * messagesPerFile + m
      // Each word in thirty messages, spread over all of them.
      const needle = rareWords > 0 && number % Math.max(1, Math.floor(all / (30 * rareWords))) === 0
      const word = needle ? rare[next() % rareWords] : undefined
      if (word) word.messages++
      block += line({ number, session: idOf(from + n), cwd, text: (size) => textOf(next, sentences, size, word?.word) })
      if (block.length > BLOCK_CHARS) {
        bytes += writeSync(fd, block)
        block = ''
      }
    }
    bytes += writeSync(fd, block)
    closeSync(fd)
  }
  return { file, rare, bytes, messages: all }
}

type Said = { number: number; session: string; cwd: string; text: (chars: number) => string }

const USAGE =
  '"usage":{"input_tokens":12,"cache_creation_input_tokens":640,"cache_read_input_tokens":48211,"output_tokens":317}'

/** In turns of eight: a prompt, an answer with a command, its result, … and the last answer. */
function line({ number, session, cwd, text }: Said): string {
  const id = `${idOf(number)}-m`
  const parent = number % 8 === 0 ? 'null' : `"${idOf(number - 1)}-m"`
  const at = new Date(1_790_000_000_000 + number * 1_000).toISOString()
  const head = `{"parentUuid":${parent},"isSidechain":false,"userType":"external","cwd":"${cwd}","sessionId":"${session}","version":"2.1.0","gitBranch":"main"`
  const tail = `,"uuid":"${id}","timestamp":"${at}"}\n`
  const place = number % 8
  if (place === 0) return `${head},"type":"user","message":{"role":"user","content":"${text(220)}"}${tail}`
  if (place % 2 === 0) {
    const result = `{"tool_use_id":"toolu_${number - 1}","type":"tool_result","content":"${text(place === 4 ? 9_000 : 1_300)}"}`
    return `${head},"type":"user","message":{"role":"user","content":[${result}]}${tail}`
  }
  const said = `{"type":"text","text":"${text(place === 7 ? 900 : 260)}"}`
  const call = `,{"type":"tool_use","id":"toolu_${number}","name":"Bash","input":{"command":"${text(110)}","description":"${text(40)}"}}`
  const stop = place === 7 ? '"end_turn"' : '"tool_use"'
  const content = `[${said}${place === 7 ? '' : call}]`
  return `${head},"type":"assistant","message":{"model":"m-1","id":"msg_${number}","type":"message","role":"assistant","content":${content},"stop_reason":${stop},${USAGE}}${tail}`
}

function textOf(next: () => number, sentences: readonly string[], chars: number, word: string | undefined): string {
  const wanted = Math.max(20, Math.round(chars * (0.4 + (next() % 120) / 100)))
  let text = word === undefined ? '' : `${word} `
  while (text.length < wanted) text += `${sentences[next() % sentences.length]}${fresh(next)}`
  return text
}

/** What comes up once and never again: a quarter of sentences end with it. */
function fresh(next: () => number): string {
  const kind = next() % 12
  if (kind === 0) return ` ${next().toString(16)}${next().toString(16)}\\n`
  if (kind === 1) return ` (${next() % 100_000}:${next() % 90})\\n`
  if (kind === 2) return ` src/${wordOf(next() % WORDS)}/${wordOf(next() % WORDS)}${next() % 1_000}.ts\\n`
  return kind % 2 === 0 ? '. ' : '\\n'
}

function makeSentences(next: () => number): string[] {
  return Array.from({ length: SENTENCES }, () => {
    if (next() % 100 < TELLING_PERCENT) return TELLING[next() % TELLING.length] as string
    const words = Array.from({ length: 4 + (next() % 12) }, () => wordOf(rank(next)))
    const joint = next() % 5 === 0 ? ['.', '(', '_', ' = ', ': '][next() % 5] : ' '
    return words.map((word, n) => (n % 5 === 4 ? `${joint}${word}` : n === 0 ? word : ` ${word}`)).join('')
  })
}

/** As in speech: the second word is said half as often as the first. */
function rank(next: () => number): number {
  return Math.floor(WORDS ** (next() / 4_294_967_296)) - 1
}

const SYLLABLES =
  'ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo ya zen tor mal rin des con ter ing er al'.split(' ')

/** Short for the frequent ones. */
function wordOf(n: number): string {
  let word = ''
  for (let rest = n + 1; rest > 0; rest = Math.floor(rest / SYLLABLES.length))
    word += SYLLABLES[rest % SYLLABLES.length]
  return word
}

/** Like a UUID, made of the number alone. */
function idOf(n: number): string {
  const next = numbersFrom(n + 1)
  const hex = Array.from({ length: 4 }, () => next().toString(16).padStart(8, '0')).join('')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
