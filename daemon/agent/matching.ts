/**
 * Finds lines by a regular expression that a model wrote. The system's grep does it, in a process of its own: an
 * expression that never ends is killed there and holds nobody up here. It is given texts and no path, so whatever the
 * expression is, it can reach nothing.
 */
import { spawn } from 'node:child_process'
import type { Clock } from '../platform/clock.ts'
import { type Denied, type Failed, quoted } from './denied.ts'
import { countNewlines } from './lines.ts'

export type Matching = {
  pattern: string
  form: 'extended' | 'basic' | 'fixed'
  ignoreCase: boolean
  invert: boolean
  word: boolean
}

export type Text = { path: string; text: string }
/** `line` counts from 1. */
export type Match = { path: string; line: number; text: string }
export type Matches = { matches: Match[]; cut: boolean }

type At = { clock: Clock; signal: AbortSignal; searchPath: string; limitMs?: number }

const LIMIT_MS = 5_000
const CAP_MATCHES = 5_000
const CAP_OUTPUT_BYTES = 8_000_000
/** What is written at once: between two of them others run. */
const SLICE_CHARS = 500_000
/** Repetitions multiply into memory: `(a{1,900}){1,900}` alone would take gigabytes. */
const CAP_REPEATS = 2_000

export async function findLines(
  texts: AsyncIterable<Text>,
  what: Matching,
  at: At,
): Promise<Matches | Denied | Failed> {
  if (repeats(what.pattern) > CAP_REPEATS)
    return { denied: `${quoted(what.pattern)} repeats too often; write it plainly` }
  const kill = new AbortController()
  const limit = at.clock.after(at.limitMs ?? LIMIT_MS, () => kill.abort())
  const stop = () => kill.abort()
  at.signal.addEventListener('abort', stop, { once: true })
  try {
    return await run(texts, what, at, kill)
  } finally {
    limit.stop()
    at.signal.removeEventListener('abort', stop)
  }
}

async function run(
  texts: AsyncIterable<Text>,
  what: Matching,
  { searchPath }: At,
  kill: AbortController,
): Promise<Matches | Failed> {
  const locale = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'
  const grep = spawn('grep', [...optionsOf(what), '-e', what.pattern], {
    env: { PATH: searchPath, LC_ALL: locale },
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: kill.signal,
    killSignal: 'SIGKILL',
  })
  let bytes = 0
  const chunks: Buffer[] = []
  let said = ''
  grep.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > CAP_OUTPUT_BYTES) grep.kill('SIGKILL')
    else chunks.push(chunk)
  })
  grep.stderr.on('data', (chunk: Buffer) => {
    if (said.length < 500) said += chunk
  })
  // It may have seen enough before it was given everything.
  grep.stdin.on('error', () => {})
  const ended = new Promise<number | null | Error>((resolve) => {
    grep.once('error', resolve)
    grep.once('close', resolve)
  })
  const starts = await feed(texts, grep.stdin, ended)
  const code = await ended
  if (kill.signal.aborted) return { failed: `${quoted(what.pattern)} took too long; look for something simpler` }
  if (code instanceof Error) return { failed: `grep could not be run: ${code.message}` }
  if (code !== null && code > 1) return { failed: `${quoted(what.pattern)} is not understood: ${said.trim()}` }
  const matches = linesIn(Buffer.concat(chunks).toString('utf8')).map(({ number, text }) =>
    placed(starts, number, text),
  )
  return { matches, cut: bytes > CAP_OUTPUT_BYTES || matches.length >= CAP_MATCHES }
}

function optionsOf({ form, ignoreCase, invert, word }: Matching): string[] {
  const letter = { extended: '-E', basic: '-G', fixed: '-F' }[form]
  return [
    letter,
    '-a',
    '-n',
    '-m',
    String(CAP_MATCHES),
    ...(ignoreCase ? ['-i'] : []),
    ...(invert ? ['-v'] : []),
    ...(word ? ['-w'] : []),
  ]
}

type Start = { path: string; line: number }

/** Everything in one stream; where each text begins in it tells whose line was found. */
async function feed(texts: AsyncIterable<Text>, to: NodeJS.WritableStream, ended: Promise<unknown>): Promise<Start[]> {
  const starts: Start[] = []
  let line = 1
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  for await (const { path, text } of texts) {
    if (isOver) break
    starts.push({ path, line })
    for (let at = 0; at < text.length && !isOver; ) {
      const slice = sliceOf(text, at)
      at += slice.length
      line += countNewlines(slice)
      if (!to.write(slice)) await Promise.race([new Promise((resolve) => to.once('drain', resolve)), ended])
    }
    if (text === '' || text.endsWith('\n')) continue
    line++
    to.write('\n')
  }
  to.end()
  return starts
}

/** Not up to the middle of a character. */
function sliceOf(text: string, at: number): string {
  const end = at + SLICE_CHARS
  return text.slice(at, /[\ud800-\udbff]/.test(text[end - 1] ?? '') ? end + 1 : end)
}

function linesIn(output: string): { number: number; text: string }[] {
  return output.split('\n').flatMap((each) => {
    const [, number, text] = /^(\d+):(.*)$/s.exec(each) ?? []
    return number === undefined || text === undefined ? [] : [{ number: Number(number), text }]
  })
}

function placed(starts: readonly Start[], number: number, text: string): Match {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] as Start).line <= number) low = middle
    else high = middle - 1
  }
  const start = starts[low] as Start
  return { path: start.path, line: number - start.line + 1, text }
}

function repeats(pattern: string): number {
  return [...pattern.matchAll(/\{(\d*),?(\d*)\\?\}/g)].reduce(
    (product, [, low, high]) => product * Math.max(Number(low), Number(high), 1),
    1,
  )
}
