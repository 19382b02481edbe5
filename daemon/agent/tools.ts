/** The tools of every job, in the same bytes, as harnesses name them: tools are part of what a server caches by. */
import { setImmediate as turn } from 'node:timers/promises'
import { z } from 'zod'
import type { ToolSpec } from '../models/wire.ts'
import type { Clock } from '../platform/clock.ts'
import { createTurns } from '../platform/queue.ts'
import { redact } from '../secrets/redact.ts'
import { withoutPrivate } from '../transcripts/injected.ts'

const path = z.string().min(1).max(4096)
const evidence = z
  .array(z.string().min(1).max(200))
  .max(100)
  .optional()
  .describe('Ids of the messages this rests on, as they stand in the transcript')
const reason = z.string().max(1000).optional().describe('Why, in one sentence')

const ReadInput = z.object({
  file_path: path.describe('Absolute, or relative to the memory directory'),
  offset: z.int().min(1).max(10_000_000).optional().describe('The first line, counted from 1'),
  limit: z.int().min(1).max(2_000).optional().describe('How many lines'),
})
const GrepInput = z.object({
  pattern: z.string().min(1).max(1_000).describe('An extended regular expression'),
  path: path.optional().describe('A file or folder; the memory directory when left out'),
  glob: z.string().min(1).max(500).optional().describe('Only files whose path within the folder matches'),
  output_mode: z.enum(['content', 'files_with_matches', 'count']).optional(),
  '-i': z.boolean().optional().describe('Upper and lower case are the same'),
  head_limit: z.int().min(1).max(500).optional().describe('How many lines of output'),
})
const GlobInput = z.object({
  pattern: z.string().min(1).max(500),
  path: path.optional().describe('A folder; the memory directory when left out'),
})
const BashInput = z.object({
  command: z
    .string()
    .min(1)
    .max(4_000)
    .describe('One of ls find cat stat wc head tail grep, without a shell around it'),
  description: z.string().optional(),
})
const EditInput = z.object({
  file_path: path,
  old_string: z.string().min(1).max(200_000),
  new_string: z.string().max(200_000),
  replace_all: z.boolean().optional(),
  evidence,
  reason,
})
const WriteInput = z.object({
  file_path: path,
  content: z.string().max(1_000_000).describe('The whole file; an empty one takes the memory away'),
  evidence,
  reason,
})

const described = {
  Read: { input: ReadInput, description: 'Reads a file of the memory directory, the transcripts or the project.' },
  Grep: { input: GrepInput, description: 'Finds lines in the files of a folder by a regular expression.' },
  Glob: { input: GlobInput, description: 'Finds files by their path. ** crosses folders.' },
  Bash: {
    input: BashInput,
    description:
      'Runs one read-only command (ls find cat stat wc head tail grep). No pipes, redirections, variables or expansion.',
  },
  Edit: {
    input: EditInput,
    description: 'Replaces text in a memory that was read before. The old text must stand there exactly once.',
  },
  Write: {
    input: WriteInput,
    description: 'Writes a whole memory. One that exists must have been read before; empty content removes it.',
  },
} as const

type Tools = typeof described
export type ToolName = keyof Tools
export type ToolCall = { [N in ToolName]: { tool: N; input: z.infer<Tools[N]['input']> } }[ToolName]

export function isTool(name: string): name is ToolName {
  return Object.hasOwn(described, name)
}

export function parseInput(tool: ToolName, input: unknown): ToolCall | Denied {
  const { data, error } = described[tool].input.safeParse(input)
  if (!error) return { tool, input: data } as ToolCall
  const [issue] = error.issues
  const where = issue?.path.join('.')
  const at = where ? ` at ${quoted(where)}` : ''
  return { denied: `the input of ${tool} is not as it should be${at}: ${issue?.message}` }
}

let specs: ToolSpec[] | undefined

export function toolSpecs(): ToolSpec[] {
  specs ??= Object.entries(described).map(([name, { description, input }]) => {
    const { $schema: _, ...inputSchema } = z.toJSONSchema(input, { io: 'input' })
    return { name, description, inputSchema }
  })
  return specs
}

/** Not allowed. Counted and logged. `astray`: a change of what is not a memory, which no task can have asked for. */
export type Denied = { denied: string; astray?: true }
/** Allowed, and it did not work: there is no such file, a pattern is broken. */
export type Failed = { failed: string }
export type Refused = Denied | Failed

export function isRefused(value: object): value is Refused {
  return 'denied' in value || 'failed' in value
}

/** A name as it is told back: a model may have put anything into it. */
export function quoted(text: string): string {
  const plain = text.replace(/[^\x20-\x7e\u00a0-\uffff]/g, '\ufffd')
  return JSON.stringify(plain.length > 200 ? `${plain.slice(0, 200)}…` : plain)
}

/** `start`, `end`: where in the text the content of the file stands. `whole`: all of the file, if all of that is told. */
type Shown = { file: string; hash: string; start: number; end: number; whole: boolean }
export type Answer = { text: string; shows: Shown[] }

export const CAP_ANSWER_CHARS = 40_000
/** Twice as much is made, so that a cut is noticed. */
export const CAP_MADE_CHARS = 2 * CAP_ANSWER_CHARS

export function answer(text: string, shows: Shown[] = []): Answer {
  return { text, shows }
}

export function joined(parts: readonly Answer[]): Answer {
  let text = ''
  const shows: Shown[] = []
  for (const part of parts) {
    const by = text.length
    shows.push(...part.shows.map((each) => ({ ...each, start: each.start + by, end: each.end + by })))
    text += part.text
  }
  return { text, shows }
}

export function seenOf({ shows }: Answer, chars: number): { file: string; hash: string; how: 'part' | 'whole' }[] {
  return shows
    .filter(({ start, end }) => start < chars || (end === start && end <= chars))
    .map(({ file, hash, end, whole }) => ({ file, hash, how: whole && end <= chars ? 'whole' : 'part' }))
}

export function capped(text: string): string {
  if (text === '') return '(nothing)'
  return text.length > CAP_ANSWER_CHARS ? `${text.slice(0, CAP_ANSWER_CHARS)}\n(cut here; ask for less)` : text
}

/** Asked between any two steps: lets other work run, and says when the call was stopped or has had its time. */
export type Pace = () => Promise<Failed | undefined>

const LIMIT_MS = 5_000
const SLICE_MS = 15

export function createPace(clock: Clock, signal: AbortSignal): Pace {
  const startMs = clock.elapsed()
  let sliceMs = startMs
  return async () => {
    const nowMs = clock.elapsed()
    if (nowMs - startMs > LIMIT_MS)
      return { failed: 'it took too long; look in a smaller place or for something simpler' }
    if (nowMs - sliceMs > SLICE_MS) {
      await turn()
      sliceMs = clock.elapsed()
    }
    return signal.aborted ? { failed: 'it was stopped' } : undefined
  }
}

const turns = createTurns()

export async function cleanText(text: string): Promise<string> {
  await turns(text.length)
  return (await redact(withoutPrivate(text))).text
}

export type Match = { path: string; line: number; text: string }
export type Matches = { matches: Match[]; cut: boolean }

export const CAP_LINE_CHARS = 500
const CAP_WHOLE_CHARS = 4_000_000
/** Longer than any key, in lines of its own or within one. */
const AROUND_CHARS = 50_000
const CAP_CLEANED_CHARS = 16_000_000
const LEFT_OUT = '[left out: part of a credential]'

/** A file is cleaned whole before a part is told: half a credential is not recognised. Of long files, wide parts. */
export function createCleanTexts() {
  let last: { text: string; clean: string } | undefined
  const whole = async (text: string) => {
    if (last?.text !== text) last = { text, clean: await cleanText(text) }
    return last.clean
  }
  /** Lines as they begin in the clean text of their file; what has no place there is left out. */
  const lines = async (
    { matches, cut }: Matches,
    textOf: (path: string) => string | undefined,
    pace: Pace,
  ): Promise<Matches> => {
    const clean: Match[] = []
    let left = CAP_CLEANED_CHARS
    for (const [path, found] of byPath(matches)) {
      const text = textOf(path) ?? ''
      const isLong = text.length > CAP_WHOLE_CHARS
      const at = startsOf(text)
      for (const some of isLong ? found.map((match) => [match]) : [found]) {
        const seen = isLong ? around(text, at(some[0]?.line ?? 1)) : text
        const heads = some.map((match) => match.text.slice(0, AROUND_CHARS))
        left -= heads.reduce((sum, head) => sum + head.length, seen.length)
        if (left < 0 || (await pace())) return { matches: clean, cut: true }
        const begins: string[] = []
        for (const head of heads) begins.push(begun(await cleanText(head)))
        const stands = linesAmong(await (isLong ? cleanText(seen) : whole(seen)), new Set(begins))
        for (const [n, match] of some.entries()) {
          const line = begins[n] as string
          clean.push({ ...match, text: stands.has(line) ? line : LEFT_OUT })
        }
      }
    }
    return { matches: clean, cut }
  }
  return { whole, lines }
}
export type CleanTexts = ReturnType<typeof createCleanTexts>

function begun(line: string): string {
  return line.slice(0, CAP_LINE_CHARS + 1)
}

function byPath(matches: readonly Match[]): Map<string, Match[]> {
  const files = new Map<string, Match[]>()
  for (const match of matches) files.set(match.path, [])
  for (const match of matches) files.get(match.path)?.push(match)
  return files
}

function startsOf(text: string): (line: number) => number {
  let [number, at] = [1, 0]
  return (line) => {
    at = afterLines(text, at, line - number)
    number = line
    return at
  }
}

function around(text: string, at: number): string {
  const from = text.lastIndexOf('\n', at - AROUND_CHARS) + 1
  return text.slice(at - from > 2 * AROUND_CHARS ? at : from, at + 2 * AROUND_CHARS)
}

function linesAmong(text: string, wanted: ReadonlySet<string>): Set<string> {
  const stands = new Set<string>()
  for (let at = 0; at <= text.length && stands.size < wanted.size; ) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline
    const line = begun(text.slice(at, Math.min(end, at + CAP_LINE_CHARS + 1)))
    if (wanted.has(line)) stands.add(line)
    at = end + 1
  }
  return stands
}

// Lines of a text without a list of them all: a file of nothing but newlines would fill memory with it.

/** As an editor counts them: one more than there are newlines. */
export function countNewlines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}

/** `count` lines from the one after `skipped`, without the newline that ends them. */
export function someLines(text: string, skipped: number, count: number): string {
  const start = afterLines(text, 0, skipped)
  return start > text.length ? '' : text.slice(start, afterLines(text, start, count) - 1)
}

/** With the newline that ends them, whether the text has it or not. */
export function firstLines(text: string, count: number): string {
  return ended(text.slice(0, afterLines(text, 0, count)))
}

export function lastLines(text: string, count: number): string {
  if (count === 0) return ''
  let start = text.endsWith('\n') ? text.length - 1 : text.length
  for (let left = count; left > 0 && start >= 0; left--) start = start === 0 ? -1 : text.lastIndexOf('\n', start - 1)
  return ended(text.slice(start + 1))
}

export function numberedLines(text: string, capChars: number): string {
  let shown = ''
  let number = 1
  for (let at = 0; at < text.length && shown.length <= capChars; number++) {
    const end = afterLines(text, at, 1)
    shown += `${number}\t${ended(text.slice(at, end))}`
    at = end
  }
  return shown
}

export function countWords(text: string): number {
  let count = 0
  const word = /\S+/g
  while (word.test(text)) count++
  return count
}

export function countCharacters(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length; at++) if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) count--
  return count
}

/** Where the line after so many begins; one past the end and its missing newline where there are no more. */
function afterLines(text: string, from: number, count: number): number {
  let at = from
  for (let left = count; left > 0; left--) {
    const end = text.indexOf('\n', at)
    if (end < 0) return text.length + 1
    at = end + 1
  }
  return at
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}
