/** The index, MEMORY.md: what of it is loaded, which pointers it holds, and how it is kept true to the memories, line by line. */
import { posix } from 'node:path'
import type { MayBeAt } from '../platform/safe-folder.ts'
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

/** `content`: what goes into a context. A first line that is longer than that is cut between two characters. */
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

export function parsePointers(content: string): (Pointer & { line: number })[] {
  return splitLines(content).flatMap((line, at) => {
    const pointer = readPointer(line.text)
    return pointer ? [{ line: at + 1, title: pointer.title, file: pointer.file, hook: pointer.hook }] : []
  })
}

/** A known file keeps its place and spelling, new ones follow the last; nothing else changes by a byte. */
export function withPointers(content: string, pointers: readonly Pointer[]): string {
  const fresh = new Map<string, Pointer>()
  let index = content
  for (const pointer of pointers) {
    // An import may bring thousands that are not there.
    const mayBeThere = marksOf(pointer.file).some((mark) => index.includes(mark))
    const lines = mayBeThere ? splitLines(index) : []
    const [own] = pointersTo(pointer.file, lines)
    if (!own) fresh.set(pointer.file, pointer)
    else if (!says(own.pointer, pointer)) {
      const text = writePointer(pointer, own.pointer)
      index = join(lines.with(own.at, { text, end: lines[own.at]?.end ?? '' }))
    }
  }
  return withNewPointers(index, [...fresh.values()])
}

/** Only the end is taken apart: an index may have thousands of lines. */
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

/** What `withPointers` added is taken back to the byte. */
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

/** With their endings. */
export function linesOf(content: string): string[] {
  return content.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

/** How many lines go at a place of the text before, and which come there. */
export type LineChange = [at: number, gone: number, come: string[]]

/** What differs, up to the next line that stands in both and only once in the text after. */
export function lineChanges(before: readonly string[], after: readonly string[]): LineChange[] {
  const places = new Map<string, number>()
  for (const [n, line] of after.entries()) places.set(line, places.has(line) ? -1 : n)
  const changes: LineChange[] = []
  for (let from = 0, to = 0; from < before.length || to < after.length; from++, to++) {
    if (before[from] === after[to]) continue
    let next = from
    while (next < before.length && (places.get(before[next] ?? '') ?? -1) < to) next++
    const end = next < before.length ? (places.get(before[next] ?? '') ?? 0) : after.length
    changes.push([from, next - from, after.slice(to, end)])
    from = next
    to = end
  }
  return changes
}

export function applyLines(lines: string[], changes: readonly LineChange[]): void {
  for (const [at, gone, come] of changes.toReversed()) lines.splice(at, gone, ...come)
}

function join(lines: Line[]): string {
  return lines.map(({ text, end }) => text + end).join('')
}

function firstEnding(content: string): Line['end'] {
  return splitLines(content.slice(0, content.indexOf('\n') + 1))[0]?.end || '\n'
}

type Found = { at: number; pointer: WrittenPointer }

/** A pointer to the file has one of these in it: its name, or what stands in one that is escaped or encoded. */
function marksOf(file: string): string[] {
  return [posix.basename(file), '\\', '%']
}

/** Only lines that may name the file are decoded. */
function pointersTo(file: string, lines: Line[]): Found[] {
  const marks = marksOf(file)
  return lines.flatMap(({ text }, at) => {
    const pointer = marks.some((mark) => text.includes(mark)) ? readPointer(text) : undefined
    return pointer?.file === file ? [{ at, pointer }] : []
  })
}

function lastPointerIn(content: string): { start: number; pointer: WrittenPointer } | undefined {
  for (let end = content.length; end > 0; ) {
    const start = end < 2 ? 0 : content.lastIndexOf('\n', end - 2) + 1
    const pointer = readPointer(splitLines(content.slice(start, end))[0]?.text ?? '')
    if (pointer) return { start, pointer }
    end = start
  }
  return undefined
}

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

type ProblemKind = 'front-matter' | 'nul' | 'prose' | 'long' | 'duplicate' | 'outside'
type Problem = { kind: ProblemKind; line: number; text: string; source: string }

/** memoryd cuts a hook near 150 characters; one of another writer is refused only when it is plainly content. */
const LONG_CHARS = 2 * POINTER_CHARS
const HEADING = /^#{1,6}(?:[ \t]|$)/

/** Problems that `before` has already are left out: what a person wrote never stands in the way of another write. */
export function indexProblems(content: string, knownFiles: Iterable<string>, before = ''): Omit<Problem, 'source'>[] {
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

function identity({ kind, source }: Problem): string {
  return `${kind} ${source}`
}

function problemsOf(content: string, known: ReadonlySet<string>): Problem[] {
  const pointers = new Map(parsePointers(content).map((pointer) => [pointer.line, pointer]))
  const lines = splitLines(content).map(({ text }) => text)
  const frontMatterEnd = lastFrontMatterLine(lines)
  const seen = new Map<string, number>()
  return lines.flatMap((source, at) => {
    const line = at + 1
    const found = (kind: ProblemKind, text: string): Problem[] => [{ kind, line, text, source }]
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

function lastFrontMatterLine(lines: string[]): number {
  if (lines[0]?.replace(/^\uFEFF/, '').trimEnd() !== '---') return 0
  const close = lines.findIndex((line, at) => at > 0 && line.trimEnd() === '---')
  return close === -1 ? 1 : close + 1
}

export function isOutside({ file }: Pick<Pointer, 'file'>): boolean {
  return /^(?:[\\/~]|[a-z][a-z0-9+.-]*:)/i.test(file) || file.split(/[\\/]/).includes('..') || file.includes('\0')
}

/** Makes the directory if need be. `team`: absent when team memory is off, empty when it has none yet. */
export function readIndexes(dir: string, { withTeam, mayBeAt }: { withTeam: boolean; mayBeAt: MayBeAt }) {
  const readBoth = (folder: MemoryFolder) => {
    const read = (file: string): string => folder.read(file)?.text ?? ''
    return { own: read(INDEX_FILE), ...(withTeam && { team: read(`team/${INDEX_FILE}`) }) }
  }
  return inFolder(dir, readBoth, { mayBeAt })
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
    if (before?.isText === false) return []
    const old = before?.text ?? ''
    const left = gone.reduce((index, memory) => withoutPointer(index, nameInIndex(memory.file)), old)
    const text = withPointers(left, pointers)
    return text === old ? [] : [{ file, before, text, bytes: Buffer.from(text) }]
  })
}

function pointerTo({ file, content }: Pointed): Pointer[] {
  if (content === undefined) return []
  const name = nameInIndex(file)
  const topic = parseTopic(content)
  return [{ file: name, title: topic.name ?? name.replace(/\.md$/, ''), hook: hookOf(topic) }]
}
