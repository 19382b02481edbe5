/** One line of the index: `- [Title](file.md) — one-line hook`, printed strictly and read leniently. Pure. */
import { posix } from 'node:path'

export type Pointer = { file: string; title: string; hook: string }

/** With its spelling, so that a part of the line can be replaced and the rest stays as a person wrote it. */
export type WrittenPointer = Pointer & { indent: string; bullet: string; link: string; dash: string }

/** Longer only when the file's own name leaves no room. */
export const POINTER_CHARS = 150
const TITLE_CHARS = 60
/** A hook cut shorter than this says nothing. */
const HOOK_LEAST_CHARS = 12
const DASH = ' — '

/** No pointer is this long, and matching stays cheap on a file that is one line. */
const LINE_CHARS = 4096

/**
 * A list item that starts with a link. Brackets in the title may be escaped or balanced; the target may stand in
 * angle brackets, hold balanced parentheses and, other than in strict markdown, plain spaces.
 */
const POINTER =
  /^(\uFEFF?[ \t]*)([-*+][ \t]+)\[((?:\\.|[^\\[\]]|\[[^[\]]*\])*)\](\((?:[ \t]*<((?:\\.|[^\\<>])*)>[^()]*|((?:\\.|[^\\()<>]|\([^()]*\))*))\))(.*)$/s
const HOOK = /^([ \t]*(?:(?:[—–:]|-{1,3})(?:[ \t]+|$))?)(.*)$/s
const LINK_TITLE = /[ \t]+(?:"[^"]*"|'[^']*')$/
const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i

/** `line`: without its ending. */
export function readPointer(line: string): WrittenPointer | undefined {
  const match = line.length > LINE_CHARS ? null : POINTER.exec(line)
  if (!match) return undefined
  const [, indent = '', bullet = '', title = '', link = '', angled, bare, rest = ''] = match
  const file = targetFile(angled ?? bare?.trim().replace(LINK_TITLE, '') ?? '')
  if (file === '') return undefined
  const [, dash = '', hook = ''] = HOOK.exec(rest) ?? []
  return { indent, bullet, link, dash, file, title: unescapeMarkdown(title).trim(), hook: hook.trim() }
}

/** Without a line ending, in the style of its neighbour. Title and hook are cut where the line would get too long. */
export function pointerLine(pointer: Pointer, like = { indent: '', bullet: '- ' }): string {
  const link = `(${printTarget(pointer.file)})`
  return writePointer(pointer, { indent: like.indent.replace('\uFEFF', ''), bullet: like.bullet, link, dash: DASH })
}

export function writePointer(
  { file, title, hook }: Pointer,
  { indent, bullet, link, dash }: Pick<WrittenPointer, 'indent' | 'bullet' | 'link' | 'dash'>,
): string {
  const shownTitle = shorten(title, TITLE_CHARS) || shorten(posix.basename(file, '.md'), TITLE_CHARS)
  const start = `${indent}${bullet}[${shownTitle.replace(/[\\[\]]/g, '\\$&')}]${link}`
  const between = dash.trim() === '' ? DASH : dash
  const roomChars = POINTER_CHARS - [...start].length - [...between].length
  const whole = oneLine(hook)
  const shownHook = [...whole].length <= roomChars || roomChars >= HOOK_LEAST_CHARS ? shorten(whole, roomChars) : ''
  return shownHook === '' ? start : `${start}${between}${shownHook}`
}

/** `./a.md#part` and `a%20b.md` name files; the path within the memory directory is what identifies one. */
function targetFile(target: string): string {
  const path = decode(unescapeMarkdown(target.replace(/(?<!\\)#.*$/s, '')))
  return path === '' || URL_START.test(path) ? path : posix.normalize(path)
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path // A name with a per cent sign that was not encoded.
  }
}

function printTarget(file: string): string {
  const safe = file.replace(/[%#\p{Cc}\u2028\u2029]/gu, encodeURIComponent)
  const escaped = safe.replace(/[\\<>]/g, '\\$&')
  return /^[^\s()<>\\]+$/.test(safe) ? safe : `<${escaped}>`
}

/** Markdown: a backslash makes punctuation plain; before anything else it is a backslash. */
function unescapeMarkdown(text: string): string {
  return text.replace(/\\([!-/:-@[-`{-~])/g, '$1')
}

/** White space, control characters and noncharacters become single spaces: nothing can start a line of its own. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\uFFFE\uFFFF]+/gu, ' ').trim()
}

/** At most `maxChars` code points, cut at a word where there is one in the second half, with … for what is gone. */
export function shorten(text: string, maxChars: number): string {
  const line = oneLine(text)
  const chars = [...line]
  if (chars.length <= maxChars) return line
  const cut = chars.slice(0, Math.max(0, maxChars - 1)).join('')
  const atWord = chars[maxChars - 1] === ' ' ? cut.length : cut.lastIndexOf(' ')
  return `${(atWord > cut.length / 2 ? cut.slice(0, atWord) : cut).replace(/[\s,;:.\-–—]+$/, '')}…`
}
