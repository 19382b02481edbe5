/** The index, MEMORY.md: what of it is loaded, which pointers it holds, and how it is kept true to the memories, line by line. */
import { posix } from 'node:path'
import { grouped } from '../platform/text.ts'
import { INDEX_FILE, indexOf, isLog, nameInIndex } from './file-names.ts'
import { inFolder, type MemoryFile, type MemoryFolder } from './folder.ts'
import {
  oneLine,
  POINTER_CHARS,
  type Pointer,
  pointerLine,
  readPointer,
  type WrittenPointer,
  writePointer,
} from './pointer.ts'
import { hookOf, parseTopic } from './topic-file.ts'

export const INDEX_LINES = 200
export const INDEX_BYTES = 25_000

const NEWLINE = 0x0a

/**
 * `content`: what goes into a context. Cuts after line 200, then after the last line that ends within 25,000 bytes, line endings
 * included. A first line that is itself longer is cut between two characters: some of it says more than none.
 */
export function loadIndex(file: Buffer | string) {
  const whole = Buffer.from(file.toString())
  const ends = lineEnds(whole)
  const lines = ends.length
  const bytes = whole.length
  const lineCut = ends[Math.min(lines, INDEX_LINES) - 1] ?? 0
  const cut = lineCut > INDEX_BYTES ? byteCut(whole) : lineCut
  if (cut === bytes) return { content: whole.toString(), lines, bytes, truncated: false }

  const kept = whole.toString('utf8', 0, cut)
  const keptLines = ends.filter((end) => end <= cut).length
  const warning = cutWarning({ lines, bytes, lineCut, keptLines, keptBytes: cut })
  const content = `${kept}${kept.endsWith('\n') ? '' : '\n'}\n${warning}\n`
  return { content, lines, bytes, truncated: true, warning }
}

/** Where each line ends, its newline included. A last line needs none. */
function lineEnds(bytes: Buffer): number[] {
  const ends: number[] = []
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) ends.push(at + 1)
  if ((ends.at(-1) ?? 0) < bytes.length) ends.push(bytes.length)
  return ends
}

function byteCut(whole: Buffer): number {
  const newline = whole.lastIndexOf(NEWLINE, INDEX_BYTES - 1)
  if (newline !== -1) return newline + 1
  let cut = INDEX_BYTES
  while (((whole[cut] ?? 0) & 0xc0) === 0x80) cut -= 1
  return cut
}

type Cut = { lines: number; bytes: number; lineCut: number; keptLines: number; keptBytes: number }

function cutWarning({ lines, bytes, lineCut, keptLines, keptBytes }: Cut): string {
  const hits: string[] = []
  if (lines > INDEX_LINES)
    hits.push(
      `it has ${grouped(lines)} lines, ${grouped(lines - INDEX_LINES)} more than the ${INDEX_LINES} that are loaded`,
    )
  if (lineCut > INDEX_BYTES) {
    const what = lines > INDEX_LINES ? `the first ${INDEX_LINES} of them take` : 'it takes'
    hits.push(
      `${what} ${grouped(lineCut)} bytes, ${grouped(lineCut - INDEX_BYTES)} more than the ${grouped(INDEX_BYTES)} allowed`,
    )
  }
  const shown = keptLines === 0 ? 'the start of line 1' : `lines 1–${keptLines}`
  return (
    `> Warning: MEMORY.md is not shown in full: ${hits.join('; ')}. Above: ${shown}, ${grouped(keptBytes)} of ${grouped(bytes)} bytes. ` +
    'To see all of it again, keep every entry to one short line, move detail into topic files, and remove pointers that no longer matter.'
  )
}

/** Every pointer in the file's order; lines count from 1. */
export function parsePointers(content: string): (Pointer & { line: number })[] {
  return pointersOf(splitLines(content)).map(({ at, pointer: { file, title, hook } }) => ({
    line: at + 1,
    title,
    file,
    hook,
  }))
}

/** Whether `withPointer` would leave the index as it is. Only lines that may name the file are decoded. */
export function saysAlready(index: Buffer, pointer: Pointer): boolean {
  const named = marksOf(pointer.file).flatMap((mark) => linesWith(index, mark))
  let own: { start: number; pointer: WrittenPointer } | undefined
  for (const { start, text } of named) {
    const found = own && own.start <= start ? undefined : readPointer(text)
    if (found?.file === pointer.file) own = { start, pointer: found }
  }
  return own !== undefined && says(own.pointer, pointer)
}

function linesWith(index: Buffer, mark: string): { start: number; text: string }[] {
  const lines: { start: number; text: string }[] = []
  for (let at = index.indexOf(mark); at !== -1; ) {
    const start = index.lastIndexOf(NEWLINE, at) + 1
    const newline = index.indexOf(NEWLINE, at)
    const end = newline === -1 ? index.length : newline + 1
    lines.push({ start, text: splitLines(index.toString('utf8', start, end))[0]?.text ?? '' })
    at = index.indexOf(mark, end)
  }
  return lines
}

/**
 * The index with a pointer to this file. A file that has one keeps its place and spelling; title and hook are replaced
 * only when they say something else. A new one follows the last pointer, in its style, or stands at the end.
 * Nothing else changes by a byte.
 */
export function withPointer(content: string, pointer: Pointer): string {
  const mayBeThere = marksOf(pointer.file).some((mark) => content.includes(mark))
  const lines = mayBeThere ? splitLines(content) : []
  const [own] = pointersTo(pointer.file, lines)
  if (!own) return withNewPointers(content, [pointer])
  const text = writePointer(pointer, own.pointer)
  return says(own.pointer, pointer) ? content : join(lines.with(own.at, { text, end: lines[own.at]?.end ?? '' }))
}

/** What `withPointer` would make of them one after the other, in one pass: an import may bring thousands. */
export function withPointers(content: string, pointers: readonly Pointer[]): string {
  if (pointers.length < 2) return pointers.reduce(withPointer, content)
  const known = new Set(parsePointers(content).map(({ file }) => file))
  const fresh = new Map<string, Pointer>()
  const kept = pointers.reduce((text, pointer) => {
    if (known.has(pointer.file)) return withPointer(text, pointer)
    fresh.set(pointer.file, pointer)
    return text
  }, content)
  return fresh.size === 0 ? kept : withNewPointers(kept, [...fresh.values()])
}

/** Only the end is taken apart: an index may have thousands of lines, and gets one more with every new memory. */
function withNewPointers(content: string, pointers: readonly Pointer[]): string {
  const last = lastPointerIn(content)
  const from = last?.start ?? 0
  const lines = splitLines(content.slice(from))
  const texts = pointers.map((pointer) => pointerLine(pointer, last?.pointer))
  const at = last ? afterItem(lines, { at: 0, pointer: last.pointer }) : lines.length
  const before = lines[at - 1]
  if (before?.end === '') {
    // The file ends without a newline: it still does afterwards. A bare CR there must not become half of a CRLF.
    const end = before.text.endsWith('\r') ? '\r\n' : firstEnding(content)
    return [content, ...texts].join(end)
  }
  const cut = lines.slice(0, at).reduce((chars, line) => chars + line.text.length + line.end.length, from)
  const added = texts.map((text) => text + (before?.end ?? '\n')).join('')
  return `${content.slice(0, cut)}${added}${content.slice(cut)}`
}

/** The index without any pointer to this file: what `withPointer` added is taken back to the byte. */
export function withoutPointer(content: string, file: string): string {
  const lines = splitLines(content)
  const own = new Set(pointersTo(file, lines).map(({ at }) => at))
  if (own.size === 0) return content
  const kept = lines.filter((_line, at) => !own.has(at))
  // A last line without a newline takes the one before it along.
  const last = kept.at(-1)
  if (last && lines.at(-1)?.end === '' && own.has(lines.length - 1)) kept[kept.length - 1] = { ...last, end: '' }
  return join(kept)
}

type Line = { text: string; end: '\r\n' | '\n' | '' }

/** A line ends at LF or CRLF; a CR alone is part of its text. */
export function splitLines(content: string): Line[] {
  const parts = content.split('\n')
  const last = parts.pop() ?? ''
  const lines = parts.map((part): Line => {
    return part.endsWith('\r') ? { text: part.slice(0, -1), end: '\r\n' } : { text: part, end: '\n' }
  })
  return last === '' ? lines : [...lines, { text: last, end: '' }]
}

function join(lines: Line[]): string {
  return lines.map(({ text, end }) => text + end).join('')
}

/** As the first line ends. */
function firstEnding(content: string): Line['end'] {
  return splitLines(content.slice(0, content.indexOf('\n') + 1))[0]?.end || '\n'
}

type Found = { at: number; pointer: WrittenPointer }

/** What stands in a name that is escaped or encoded. */
const SPELLED_OTHERWISE = ['\\', '%']

function pointersOf(lines: Line[]): Found[] {
  return lines.flatMap(({ text }, at) => {
    const pointer = readPointer(text)
    return pointer ? [{ at, pointer }] : []
  })
}

/** What a pointer to the file has in it, one or the other. */
function marksOf(file: string): string[] {
  return [posix.basename(file), ...SPELLED_OTHERWISE]
}

/** With every new memory the whole index is looked through: only lines that may name the file are taken apart. */
function pointersTo(file: string, lines: Line[]): Found[] {
  const marks = marksOf(file)
  return lines.flatMap(({ text }, at) => {
    const pointer = marks.some((mark) => text.includes(mark)) ? readPointer(text) : undefined
    return pointer?.file === file ? [{ at, pointer }] : []
  })
}

/** Looked for from the end on. `start`: of its line. */
function lastPointerIn(content: string): { start: number; pointer: WrittenPointer } | undefined {
  for (let end = content.length; end > 0; ) {
    const start = end < 2 ? 0 : content.lastIndexOf('\n', end - 2) + 1
    const pointer = readPointer(splitLines(content.slice(start, end))[0]?.text ?? '')
    if (pointer) return { start, pointer }
    end = start
  }
  return undefined
}

/** Whether a line says this already, in full or as short as it would be written. */
function says(written: WrittenPointer, pointer: Pointer): boolean {
  const saysTitle = written.title === oneLine(pointer.title)
  const saysHook = written.hook === oneLine(pointer.hook)
  if (saysTitle && saysHook) return true
  const short = readPointer(writePointer(pointer, written))
  return (saysTitle || written.title === short?.title) && (saysHook || written.hook === short?.hook)
}

/** Lines indented below an item belong to it: a new item stands after them. */
function afterItem(lines: Line[], { at, pointer }: Found): number {
  const below = new RegExp(`^[ \\t]{${pointer.indent.length + 1},}\\S`)
  let next = at + 1
  while (below.test(lines[next]?.text ?? '')) next += 1
  return next
}

type IndexProblem = {
  kind: 'front-matter' | 'nul' | 'prose' | 'long' | 'duplicate' | 'outside'
  line: number
  text: string
}

/** We cut a hook near 150 characters; one of another writer is refused only when it is plainly content. */
const LONG_CHARS = 2 * POINTER_CHARS
const HEADING = /^#{1,6}(?:[ \t]|$)/

/**
 * What is wrong with `content`, in the order of its lines. Allowed are pointers, headings of one index line's length and blank
 * lines: everything else is content and belongs in a topic file. Problems that stood in `before` already are left out, so that
 * what a person wrote into an index never stands in the way of another write.
 */
export function indexProblems(content: string, knownFiles: Iterable<string>, before = ''): IndexProblem[] {
  const known = new Set(knownFiles)
  const old = new Map<string, number>()
  for (const problem of problemsOf(before, known)) old.set(identity(problem), (old.get(identity(problem)) ?? 0) + 1)
  return problemsOf(content, known)
    .filter((problem) => {
      const left = old.get(identity(problem)) ?? 0
      old.set(identity(problem), left - 1)
      return left <= 0
    })
    .map(({ kind, line, text }) => ({ kind, line, text }))
}

type SourcedProblem = IndexProblem & { source: string }

function identity({ kind, source }: SourcedProblem): string {
  return `${kind} ${source}`
}

function problemsOf(content: string, known: ReadonlySet<string>): SourcedProblem[] {
  const pointers = new Map(parsePointers(content).map((pointer) => [pointer.line, pointer]))
  const lines = splitLines(content).map(({ text }) => text)
  const frontMatterEnd = lastFrontMatterLine(lines)
  const seen = new Map<string, number>()
  return lines.flatMap((source, at): SourcedProblem[] => {
    const line = at + 1
    const found = (kind: IndexProblem['kind'], text: string): SourcedProblem[] => [{ kind, line, text, source }]
    if (line <= frontMatterEnd)
      return line === 1 ? found('front-matter', 'the index has no front matter; start with the pointers') : []
    if (source.includes('\0')) return found('nul', `line ${line} holds a NUL byte`)
    const pointer = pointers.get(line)
    if (!pointer)
      return isLayout(source)
        ? []
        : found('prose', `line ${line} is neither a pointer nor a heading; move it into a topic file`)

    const first = seen.get(pointer.file)
    if (first !== undefined)
      return found('duplicate', `line ${line} points to ${pointer.file} again, after line ${first}`)
    seen.set(pointer.file, line)
    if ([...pointer.title, ...pointer.hook].length > LONG_CHARS)
      return found(
        'long',
        `line ${line} is content, not a hook: keep it near ${POINTER_CHARS} characters and move the rest into ${pointer.file}`,
      )
    if (known.has(pointer.file) || !isOutside(pointer)) return []
    return found('outside', `line ${line} points outside the memory directory: ${pointer.file}`)
  })
}

function isLayout(line: string): boolean {
  return line.trim() === '' || (HEADING.test(line.replace(/^\uFEFF/, '')) && [...line].length <= POINTER_CHARS)
}

/** The line that closes a front matter at the start of the text, or 0 when there is none. */
function lastFrontMatterLine(lines: string[]): number {
  if (lines[0]?.replace(/^\uFEFF/, '').trimEnd() !== '---') return 0
  const close = lines.findIndex((line, at) => at > 0 && line.trimEnd() === '---')
  return close === -1 ? 1 : close + 1
}

export function isOutside({ file }: Pick<Pointer, 'file'>): boolean {
  return /^(?:[\\/~]|[a-z][a-z0-9+.-]*:)/i.test(file) || file.split(/[\\/]/).includes('..') || file.includes('\0')
}

/** As they are on disk; makes the directory if need be. `team`: absent when team memory is off, empty when it has none yet. */
export function readIndexes(dir: string, { withTeam }: { withTeam: boolean }) {
  return inFolder(dir, (folder) => {
    const read = (file: string): string => folder.read(file)?.text ?? ''
    return { own: read(INDEX_FILE), ...(withTeam && { team: read(`team/${INDEX_FILE}`) }) }
  })
}

/** A memory as it will be; without `content` it goes. */
type Pointed = { file: string; content: string | undefined }

export type IndexChange = { file: string; before: MemoryFile | undefined; text: string; bytes: Buffer }

/** The indexes that have to change, and to what. An index whose bytes are no text is left alone. */
export function upkeep(folder: MemoryFolder, changed: readonly Pointed[]): IndexChange[] {
  const memories = changed.filter(({ file }) => !isLog(file))
  const files = [...new Set(memories.map(({ file }) => indexOf(file)))]
  return files.flatMap((file) => {
    const own = memories.filter((memory) => indexOf(memory.file) === file)
    const gone = own.filter(({ content }) => content === undefined)
    const pointers = own.flatMap(pointerTo)
    const before = folder.read(file)
    // Most changes leave name and description as they are: an index of a thousand lines is not parsed for these.
    if (before && gone.length === 0 && pointers.every((pointer) => saysAlready(before.bytes, pointer))) return []
    if (before?.isText === false) return []
    const text = withPointers(gone.reduce(withoutGone, before?.text ?? ''), pointers)
    return text === (before?.text ?? '') ? [] : [{ file, before, text, bytes: Buffer.from(text) }]
  })
}

function withoutGone(index: string, { file }: Pointed): string {
  return withoutPointer(index, nameInIndex(file))
}

function pointerTo({ file, content }: Pointed): Pointer[] {
  if (content === undefined) return []
  const name = nameInIndex(file)
  const topic = parseTopic(content)
  return [{ file: name, title: topic.name ?? name.replace(/\.md$/, ''), hook: hookOf(topic) }]
}
