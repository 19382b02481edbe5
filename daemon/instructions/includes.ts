/** What an instruction file includes: its `@path` mentions, and the files they lead to. Linear in the text; never blocks, never throws. */
import { isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { basename, extname, normalize, sep } from 'node:path'
import { message } from '../platform/files.ts'

export type Mention = {
  written: string
  /** What may be meant, to be tried in order: the whole, without the sentence's punctuation, without its `#part`. */
  names: string[]
}

const CAP_CHARACTERS = 4096

/** As in Claude Code: after white space, which spares e-mail addresses, up to white space not escaped. Each once. */
export function findMentions(text: string): Mention[] {
  const prose = withoutCode(text)
  const mentions = new Map<string, Mention>()
  for (let at = prose.indexOf('@'); at >= 0; ) {
    const end = mentionEnd(prose, at + 1)
    if (end - at <= CAP_CHARACTERS && (at === 0 || isSpace(prose[at - 1]))) {
      const written = prose.slice(at, end)
      const names = namesOf(written.slice(1).replaceAll('\\ ', ' '))
      if (names.length > 0 && !mentions.has(written)) mentions.set(written, { written, names })
    }
    at = prose.indexOf('@', end)
  }
  return [...mentions.values()]
}

function mentionEnd(text: string, start: number): number {
  let end = start
  while (end < text.length && !isSpace(text[end])) {
    if (text[end] === '\\') {
      if (text[end + 1] !== ' ') break
      end++
    }
    end++
  }
  return end
}

function isSpace(char: string | undefined): boolean {
  return char !== undefined && /\s/.test(char)
}

function namesOf(whole: string): string[] {
  const bare = withoutTail(whole)
  const part = bare.indexOf('#')
  const names = [whole, bare, part > 0 ? withoutTail(bare.slice(0, part)) : bare]
  return [...new Set(names)].filter((name) => /^(?:\.{0,2}\/.|~\/.|[\p{L}\p{N}._-])/u.test(name))
}

/** Without the punctuation that belongs to the sentence. A loop: `[…]+$` would be quadratic. */
function withoutTail(name: string): string {
  const characters = [...name]
  while (/^[\p{Pe}\p{Pf}\p{Po}>_~|]$/u.test(characters.at(-1) ?? '')) characters.pop()
  return characters.join('')
}

/** Blocks that are code only by indentation stay: in nested lists the same indentation is prose. */
export function withoutCode(text: string): string {
  const kept: string[] = []
  let paragraph: string[] = []
  let fence: Fence | undefined
  const endParagraph = () => {
    if (paragraph.length > 0) kept.push(withoutSpans(paragraph.join('\n')))
    paragraph = []
  }
  for (const line of text.split('\n')) {
    if (fence) {
      const { quotes, at } = skipQuotes(line, fence.quotes)
      if (quotes === fence.quotes) {
        if (closes(line.slice(at), fence)) fence = undefined
        continue
      }
      // Only a quotation can end before the fence in it does.
      fence = undefined
    }
    const { quotes, at, item } = skipMarkers(line)
    const rest = line.slice(at)
    fence = opens(rest, quotes)
    // A code span ends with its paragraph.
    if (fence || item || rest.trim() === '' || rest.startsWith('#')) endParagraph()
    if (!fence) paragraph.push(line)
    if (rest.startsWith('#')) endParagraph()
  }
  endParagraph()
  return kept.join('\n')
}

type Fence = { char: string; length: number; quotes: number }

function opens(rest: string, quotes: number): Fence | undefined {
  const char = rest[0]
  if (char !== '`' && char !== '~') return undefined
  const length = runLength(rest, 0)
  // Three backticks and their like again on the same line are a code span.
  if (length < 3 || (char === '`' && rest.includes('`', length))) return undefined
  return { char, length, quotes }
}

function closes(rest: string, fence: Fence): boolean {
  if (rest[0] !== fence.char) return false
  const length = runLength(rest, 0)
  return length >= fence.length && rest.slice(length).trim() === ''
}

function skipQuotes(line: string, most: number): { quotes: number; at: number } {
  let quotes = 0
  let at = 0
  for (; at < line.length; at++) {
    if (line[at] === '>' && quotes < most) quotes++
    else if (line[at] !== ' ' && line[at] !== '\t') break
  }
  return { quotes, at }
}

/** Past indentation, quotation marks and list markers: a fence may stand behind any of them. */
function skipMarkers(line: string): { quotes: number; at: number; item: boolean } {
  const marker = /(?:[-*+]|\d{1,9}[.)])[ \t]/y
  let quotes = 0
  let item = false
  let at = 0
  while (at < line.length) {
    marker.lastIndex = at
    if (line[at] === '>') quotes++
    else if (marker.test(line)) {
      item = true
      at = marker.lastIndex
      continue
    } else if (line[at] !== ' ' && line[at] !== '\t') break
    at++
  }
  return { quotes, at, item }
}

/** `opens`: where it begins as an opening run. `closedBy`: where the run ends that would close it. */
type Run = { start: number; end: number; opens: number; closedBy: number | undefined }

/** A run of backticks opens a span that the next run of the same length closes; one without such a partner is text. */
function withoutSpans(paragraph: string): string {
  const kept: string[] = []
  let from = 0
  for (const { start, opens, closedBy } of backtickRuns(paragraph)) {
    if (start < from || closedBy === undefined) continue
    kept.push(paragraph.slice(from, opens), ' ')
    from = closedBy
  }
  kept.push(paragraph.slice(from))
  return kept.join('')
}

function backtickRuns(text: string): Run[] {
  const runs: Run[] = []
  for (let start = text.indexOf('`'); start >= 0; start = text.indexOf('`', runs.at(-1)?.end)) {
    // A backslash takes the first backtick away from an opening run, not from a closing one.
    const opens = isEscaped(text, start) ? start + 1 : start
    runs.push({ start, end: start + runLength(text, start), opens, closedBy: undefined })
  }
  const nextEnds = new Map<number, number>()
  for (const run of runs.toReversed()) {
    run.closedBy = nextEnds.get(run.end - run.opens)
    nextEnds.set(run.end - run.start, run.end)
  }
  return runs
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text[at - 1 - backslashes] === '\\') backslashes++
  return backslashes % 2 === 1
}

function runLength(text: string, start: number): number {
  let end = start
  while (text[end] === text[start]) end++
  return end - start
}

/** Folders that a path must stay in: by name before the disk is touched, by place once links are followed. */
export type Bounds = { named: string[]; real: string[] }

export type Refusal = { refused: 'outside' | 'unreadable' | 'not-a-file' | 'not-text' | 'too-large'; reason: string }

export const FILE_CAP_BYTES = 5_000_000

export function boundsOf(...folders: string[]): Bounds {
  const real = folders.map(canonical)
  return { named: [...folders.map((folder) => normalize(folder)), ...real], real }
}

/** One folder, one name: links are followed; a folder that is not there keeps the name it was given. */
export function canonical(folder: string): string {
  try {
    return realpathSync.native(folder)
  } catch {
    return normalize(folder).replace(/(.)\/+$/, '$1')
  }
}

export function isInside(folders: string[], path: string): boolean {
  return folders.some((folder) => path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep))
}

export function locate(path: string, bounds: Bounds | undefined): { real: string } | Refusal | undefined {
  // By name first: to look at a path that a stranger wrote can already mount a share.
  if (bounds && !isInside(bounds.named, path)) return outside
  try {
    const real = realpathSync.native(path)
    return bounds && !isInside(bounds.real, real) ? outside : { real }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(code)) return undefined
    return { refused: 'unreadable', reason: `it cannot be read (${code || message(error)})` }
  }
}

const outside: Refusal = { refused: 'outside', reason: 'it leads outside the project' }

type Text = { text: string; bytes: number }

/** The text of a path without links, line ends as `\n`, no byte order mark. */
export function readText(real: string): Text | Refusal {
  try {
    // Looked at before it is opened: opening a device may do something, opening a pipe waits.
    if (!statSync(real).isFile()) return notAFile
    const fd = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    try {
      const stats = fstatSync(fd)
      if (!stats.isFile()) return notAFile
      if (stats.size > FILE_CAP_BYTES)
        return { refused: 'too-large', reason: `it has ${stats.size} bytes, more than ${FILE_CAP_BYTES}` }
      return decode(readAll(fd, stats.size))
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    return { refused: 'unreadable', reason: `it cannot be read (${code ?? message(error)})` }
  }
}

const notAFile: Refusal = { refused: 'not-a-file', reason: 'it is not a file' }

/** No more than it had when it was looked at. */
function readAll(fd: number, size: number): Buffer {
  const bytes = Buffer.alloc(size)
  let done = 0
  for (let read = -1; read !== 0 && done < size; done += read) read = readSync(fd, bytes, done, size - done, null)
  return bytes.subarray(0, done)
}

function decode(bytes: Buffer): Text | Refusal {
  if (bytes.includes(0) || !isUtf8(bytes)) return { refused: 'not-text', reason: 'it is not UTF-8 text' }
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  return { text: text.replaceAll('\r\n', '\n'), bytes: bytes.length }
}

/** Hidden names without an extension are none: `.env`, `.netrc` and `.git/config` hold credentials. */
export function isTextName(path: string): boolean {
  if (path.split(sep).includes('.git')) return false
  const extension = extname(path).slice(1).toLowerCase()
  return extension === '' ? !basename(path).startsWith('.') : TEXT_EXTENSIONS.has(extension)
}

const TEXT_EXTENSIONS = new Set(
  `md markdown mdx mdc txt text rst adoc asciidoc org tex csv tsv log diff patch
  json jsonc json5 jsonl yaml yml toml ini cfg conf properties xml html htm css scss sass less
  js mjs cjs jsx ts mts cts tsx vue svelte astro py pyi rb php pl lua r jl sh bash zsh fish ps1 bat cmd
  c h cc cpp cxx hpp cs m mm go rs zig swift java kt kts scala groovy gradle dart ex exs erl hrl hs elm clj cljs ml mli fs
  sql graphql gql proto tf hcl nix cmake mk vim el lisp scm asm s`.split(/\s+/),
)
