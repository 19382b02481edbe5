/**
 * Checks a MEMORY.md that somebody wants to write. Allowed are pointers, headings of one index line's length, and blank
 * lines; everything else is content and belongs in a topic file. Pointers kept by the gate itself are not checked here,
 * so that what a person wrote into their index never stands in the way of another memory.
 */
import { parsePointers, splitLines } from './index-file.ts'
import { POINTER_CHARS, type Pointer } from './pointer.ts'

export type IndexProblem = {
  /** `dangling`: the file is not there (yet). All others make the text unfit as an index. */
  kind: 'front-matter' | 'nul' | 'prose' | 'long' | 'duplicate' | 'outside' | 'dangling'
  line: number
  text: string
}

/** The hook is cut near 150 characters when we write it; somebody else's is refused only when it is plainly content. */
const LONG_CHARS = 2 * POINTER_CHARS
const HEADING = /^#{1,6}(?:[ \t]|$)/

/**
 * What is wrong with `content`, in the order of its lines. Problems that stood in `before` already are not reported:
 * a write answers for what it brings.
 */
export function indexProblems(
  content: string,
  knownFiles: Iterable<string>,
  { before = '' }: { before?: string } = {},
): IndexProblem[] {
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

type Found = IndexProblem & { source: string }

function identity({ kind, source }: Found): string {
  return `${kind} ${source}`
}

function problemsOf(content: string, known: ReadonlySet<string>): Found[] {
  const pointers = new Map(parsePointers(content).map((pointer) => [pointer.line, pointer]))
  const lines = splitLines(content).map(({ text }) => text)
  const frontMatterEnd = lastFrontMatterLine(lines)
  const seen = new Map<string, number>()
  return lines.flatMap((source, at): Found[] => {
    const line = at + 1
    const found = (kind: IndexProblem['kind'], text: string): Found[] => [{ kind, line, text, source }]
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
    if (known.has(pointer.file)) return []
    if (isOutside(pointer)) return found('outside', `line ${line} points outside the memory directory: ${pointer.file}`)
    return found('dangling', `line ${line} points to ${pointer.file}, which does not exist; write that file first`)
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
