/** Searches with the system's grep, in a process that can be killed. It gets no path: a model wrote the pattern. */
import { spawn } from 'node:child_process'
import type { Clock } from '../platform/clock.ts'
import { compileGlob } from '../platform/glob.ts'
import type { Place } from './permissions.ts'
import {
  CAP_LINE_CHARS,
  type CleanTexts,
  countNewlines,
  type Denied,
  type Failed,
  isRefused,
  type Match,
  type Matches,
  type Pace,
  quoted,
  type Refused,
} from './tools.ts'
import type { FoundFile, WorkingCopy } from './working-copy.ts'

export type Matching = {
  pattern: string
  form: 'extended' | 'basic' | 'fixed'
  ignoreCase: boolean
  invert: boolean
  word: boolean
}

export type Text = { path: string; text: string }

type At = { clock: Clock; signal: AbortSignal; searchPath: string; limitMs?: number }

const LIMIT_MS = 5_000
const CAP_MATCHES = 5_000
const CAP_OUTPUT_BYTES = 8_000_000
const SLICE_CHARS = 500_000
/** Repetitions multiply into memory: `(a{1,900}){1,900}` alone would take gigabytes. */
const CAP_REPEATS = 2_000

export async function findLines(texts: AsyncIterable<Text>, what: Matching, at: At): Promise<Matches | Refused> {
  if (repeats(what.pattern) > CAP_REPEATS)
    return { denied: `${quoted(what.pattern)} repeats too often; write it plainly` }
  const late = new AbortController()
  const limit = at.clock.after(at.limitMs ?? LIMIT_MS, () => late.abort())
  try {
    return await run(texts, what, at.searchPath, AbortSignal.any([at.signal, late.signal]))
  } finally {
    limit.stop()
  }
}

async function run(
  texts: AsyncIterable<Text>,
  what: Matching,
  searchPath: string,
  signal: AbortSignal,
): Promise<Matches | Failed> {
  const locale = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'
  const grep = spawn('grep', [...optionsOf(what), '-e', what.pattern], {
    env: { PATH: searchPath, LC_ALL: locale },
    stdio: ['pipe', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  })
  let bytes = 0
  const chunks: Buffer[] = []
  let errors = ''
  grep.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > CAP_OUTPUT_BYTES) grep.kill('SIGKILL')
    else chunks.push(chunk)
  })
  grep.stderr.on('data', (chunk: Buffer) => {
    if (errors.length < 500) errors += chunk
  })
  // It may have seen enough before it was given everything.
  grep.stdin.on('error', () => {})
  const ended = new Promise<number | null | Error>((resolve) => {
    grep.once('error', resolve)
    grep.once('close', resolve)
  })
  const starts = await feed(texts, grep.stdin, ended)
  const code = await ended
  if (signal.aborted) return { failed: `${quoted(what.pattern)} took too long; look for something simpler` }
  if (code instanceof Error) return { failed: `grep could not be run: ${code.message}` }
  if (code !== null && code > 1) return { failed: `${quoted(what.pattern)} is not understood: ${errors.trim()}` }
  const matches = matchesIn(Buffer.concat(chunks).toString('utf8'), starts)
  return { matches, cut: bytes > CAP_OUTPUT_BYTES || matches.length >= CAP_MATCHES }
}

function optionsOf({ form, ignoreCase, invert, word }: Matching): string[] {
  const letter = { extended: '-E', basic: '-G', fixed: '-F' }[form]
  const flags = [ignoreCase && '-i', invert && '-v', word && '-w'].filter((flag) => flag !== false)
  return [letter, '-a', '-n', '-m', String(CAP_MATCHES), ...flags]
}

type Start = { path: string; line: number }

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

function sliceOf(text: string, at: number): string {
  const end = at + SLICE_CHARS
  return text.slice(at, /[\ud800-\udbff]/.test(text[end - 1] ?? '') ? end + 1 : end)
}

function matchesIn(output: string, starts: readonly Start[]): Match[] {
  let at = 0
  return output.split('\n').flatMap((each) => {
    const [, number, text] = /^(\d+):(.*)$/s.exec(each) ?? []
    if (text === undefined) return []
    while ((starts[at + 1]?.line ?? Number.POSITIVE_INFINITY) <= Number(number)) at++
    const { path, line } = starts[at] as Start
    return [{ path, line: Number(number) - line + 1, text }]
  })
}

function repeats(pattern: string): number {
  const times = [...pattern.matchAll(/\{(\d*),?(\d*)\\?\}/g)].map(([, low, high]) =>
    Math.max(Number(low), Number(high), 1),
  )
  return times.reduce((product, each) => product * each, 1)
}

export type ToolContext = {
  copy: WorkingCopy
  clean: CleanTexts
  pace: Pace
  clock: Clock
  signal: AbortSignal
  searchPath: string
}

const CAP_SEARCHED_BYTES = 64_000_000
const CAP_FILE_BYTES = 32_000_000
const CAP_FILES = 20_000

type Shape = { mode: 'files' | 'count' | 'lines'; named: boolean; numbered: boolean }

export function formatMatches(matches: readonly Match[], { mode, named, numbered }: Shape): string {
  const files = new Map<string, number>()
  for (const { path } of matches) files.set(path, (files.get(path) ?? 0) + 1)
  if (mode === 'files') return [...files.keys()].map((path) => `${path}\n`).join('')
  if (mode === 'count') return [...files].map(([path, count]) => `${path}:${count}\n`).join('')
  return matches
    .map(({ path, line, text }) => {
      // One line of a transcript may be a megabyte.
      const shown = text.length > CAP_LINE_CHARS ? `${text.slice(0, CAP_LINE_CHARS)}…` : text
      return `${named ? `${path}:` : ''}${numbered ? `${line}:` : ''}${shown}\n`
    })
    .join('')
}

/** `lines`: how many are answered with their words. */
type Searched = ToolContext & { glob?: string | undefined; lines: number }

export async function search(places: readonly Place[], what: Matching, at: Searched): Promise<Matches | Refused> {
  const files: FoundFile[] = []
  let cut = false
  const only = at.glob === undefined ? undefined : namePattern(at.glob)
  if (only && isRefused(only)) return only
  const isWanted = ({ within }: FoundFile) =>
    !only || only.fits(within) || only.fits(within.slice(within.lastIndexOf('/') + 1))
  for (const place of places) {
    const found = await at.copy.walk(place, at.pace)
    if (isRefused(found)) return found
    cut ||= found.cut
    const alone = found.files.length === 1 && found.files[0]?.within === ''
    for (const file of found.files) {
      const late = await at.pace()
      if (late) return late
      if (files.length >= CAP_FILES) cut = true
      else if (alone || isWanted(file)) files.push(file)
    }
  }
  if (files.length === 1 && files[0]) {
    // A file that was named: why it cannot be read is worth telling.
    const named = at.copy.read(files[0].place, CAP_FILE_BYTES)
    if (isRefused(named)) return named
  }
  const found = await findLines(texts(files, at), what, at)
  if (isRefused(found)) return found
  const late = await at.pace()
  if (late) return late
  const all = { matches: found.matches, cut: found.cut || cut }
  if (at.lines === 0) return all
  const placeOf = new Map(files.map((file) => [file.path, file.place]))
  const some = { matches: all.matches.slice(0, at.lines), cut: all.cut || all.matches.length > at.lines }
  return at.clean.lines(some, (path) => textAt(placeOf.get(path), at), at.pace)
}

function textAt(place: Place | undefined, { copy }: Searched): string | undefined {
  const seen = place && copy.read(place, CAP_FILE_BYTES)
  return !seen || isRefused(seen) ? undefined : seen.text
}

async function* texts(files: readonly FoundFile[], at: Searched): AsyncIterable<Text> {
  let bytesLeft = CAP_SEARCHED_BYTES
  for (const file of files) {
    // Empty files are read without a wait: thousands of them would block other work.
    if (bytesLeft <= 0 || (await at.pace())) return
    const seen = at.copy.read(file.place, CAP_FILE_BYTES)
    if (isRefused(seen) || seen.text.includes('\0')) continue
    bytesLeft -= seen.text.length
    yield { path: file.path, text: seen.text }
  }
}

export type Fits = (path: string) => boolean

const CAP_CHARS = 500
const CAP_STARS = 20
const CAP_CHOICES = 100

/** A pattern for names that a model wrote: refused when matching it could take exponential time. */
export function namePattern(glob: string): { fits: Fits } | Denied {
  if (glob.length > CAP_CHARS) return { denied: `a pattern for names has at most ${CAP_CHARS} characters` }
  if ((glob.match(/\*+/g)?.length ?? 0) > CAP_STARS)
    return { denied: `${quoted(glob)} has more than ${CAP_STARS} stars; write it plainly` }
  if ((glob.match(/[{,]/g)?.length ?? 0) > CAP_CHOICES)
    return { denied: `${quoted(glob)} has more than ${CAP_CHOICES} choices; write it plainly` }
  return { fits: compileGlob(glob) }
}
