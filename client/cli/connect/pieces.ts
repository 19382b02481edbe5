/** Puts a value into a text of JSON with comments, or takes one out, and touches nothing else. Pure. */
import { type Node, skipBlank } from './jsonc.ts'

/** `at`: where it begins in the text that contains it. */
export type Piece = { at: number; text: string }

type Child = { start: number; end: number }

function childrenOf(container: Node): Child[] {
  if (container.kind === 'object') return container.members.map(({ start, value }) => ({ start, end: value.end }))
  return container.kind === 'array' ? container.items : []
}

export function insertLast(text: string, container: Node, value: unknown, key?: string) {
  const style = styleOf(text)
  const inner = text.slice(container.start + 1, container.end - 1)
  const outer = indentAt(text, container.start)
  const last = childrenOf(container).at(-1)
  const isOpen = inner.includes('\n') || (last === undefined && style.unit !== undefined)
  const indent = last && isOpen ? indentAt(text, last.start) : outer + (style.unit ?? '')
  const spaces = isOpen ? style.unit : undefined
  const body = JSON.stringify(value, null, spaces).replaceAll('\n', `${style.eol}${indent}`)
  const named = key === undefined ? body : `${JSON.stringify(key)}:${isOpen || inner.includes(' ') ? ' ' : ''}${body}`
  const apart = isOpen ? `${style.eol}${indent}` : /, /.test(inner) ? ' ' : ''
  if (last) {
    const noted = commentAfter(text, last.end)
    if (noted === undefined || !isOpen) return put(text, [{ at: last.end, text: `,${apart}${named}` }])
    const next = skipBlank(text, last.end)
    // With a comma after it already, ours comes behind the comment and has one of its own.
    if (text[next] === ',' && next < noted) return put(text, [{ at: noted, text: `${apart}${named},` }])
    const comma = { at: last.end, text: ',' }
    return put(text, [comma, { at: noted + 1, text: `${apart}${named}` }])
  }
  if (!isOpen) return put(text, [{ at: container.start + 1, text: named }])
  const at = container.start + 1 + inner.trimEnd().length
  const closing = inner.includes('\n') ? '' : `${style.eol}${outer}`
  return put(text, [{ at, text: `${apart}${named}${closing}` }])
}

function put(before: string, pieces: Piece[]) {
  return { text: withPieces(before, pieces), pieces }
}

/** Inserts in list order; the offset of a piece counts those inserted before it. */
export function withPieces(before: string, pieces: readonly Piece[]): string {
  let whole = before
  for (const { at, text } of pieces) whole = whole.slice(0, at) + text + whole.slice(at)
  return whole
}

export function shifted(earlier: readonly Piece[], later: readonly Piece[]): Piece[] {
  return later.reduce<Piece[]>(
    (pieces, { at, text }) =>
      pieces.map((piece) => (piece.at >= at ? { ...piece, at: piece.at + text.length } : piece)),
    [...earlier],
  )
}

/** The parts of the text that the pieces make up: one may be inside another, so they are joined. */
function stretchesOf(pieces: readonly Piece[]): { start: number; end: number }[] {
  const joined: { start: number; end: number }[] = []
  for (const { at, text } of pieces) {
    const last = joined.at(-1)
    if (last && at <= last.end) last.end += text.length
    else joined.push({ start: at, end: at + text.length })
  }
  return joined
}

/** Undefined where a piece was changed. Those with `mark` are found by their text, a comma by what follows it. */
export function withoutPieces(text: string, after: string, pieces: readonly Piece[], mark: string): string | undefined {
  let left = ''
  let done = 0
  let hasComma = false
  for (const { start, end } of stretchesOf(pieces)) {
    const ours = after.slice(start, end)
    if (ours === ',') {
      hasComma = true
      continue
    }
    const at = text.indexOf(ours, done)
    if (!ours.includes(mark) || at < 0) return undefined
    const comma = hasComma ? commaBefore(text, done, at) : at
    if (comma === undefined) return undefined
    left += text.slice(done, comma) + text.slice(comma + 1, at)
    done = at + ours.length
    hasComma = false
  }
  return hasComma ? undefined : left + text.slice(done)
}

/** The first comma that only blanks and comments separate from `to`: a comment may hold another. */
function commaBefore(text: string, from: number, to: number): number | undefined {
  for (let at = text.indexOf(',', from); at >= 0 && at < to; at = text.indexOf(',', at + 1)) {
    try {
      if (skipBlank(text, at + 1) >= to) return at
    } catch {
      // It was in a comment that seems to begin another.
    }
  }
  return undefined
}

/** Where a comment in the same line ends, after a comma or not. */
function commentAfter(text: string, from: number): number | undefined {
  const found = /^[ \t]*,?[ \t]*(?:\/\/[^\r\n]*|\/\*(?:(?!\*\/)[^\r\n])*\*\/)/.exec(text.slice(from))
  return found ? from + found[0].length : undefined
}

/** Takes out one child with the comma that it needed, and the blanks before it. Comments beside and in it stay. */
export function removeChild(text: string, container: Node, index: number): string {
  const children = childrenOf(container)
  const child = children[index] as Child
  const before = children[index - 1]
  const next = skipBlank(text, child.end)
  const hasComma = text[next] === ','
  const start = before ? skipBlank(text, before.end) + 1 : container.start + 1
  // Before a trailing comma: the child before keeps its own.
  const isLast = index === children.length - 1
  const comma = before && !(isLast && hasComma) ? start - 1 : hasComma ? next : undefined
  const ahead = comma !== undefined && comma < child.start ? 1 : 0
  const bare = comma === undefined ? text : text.slice(0, comma) + text.slice(comma + 1)
  const left = cut(bare, start - ahead, child.start - ahead, child.end - ahead)
  if (before) return left
  const end = container.end - (text.length - left.length)
  const isEmpty = left.slice(start, end - 1).trim() === ''
  return isEmpty ? left.slice(0, start) + left.slice(end - 1) : left
}

/** Cuts `from` to `to`, and the blanks before it back to `floor`; a line comment keeps the end of its line. */
function cut(text: string, floor: number, from: number, to: number): string {
  let begin = from
  while (begin > floor && /[ \t\r\n]/.test(text[begin - 1] as string)) begin--
  const blank = text.slice(begin, from)
  const notes = joined(commentsIn(text.slice(from, to)), blank.includes('\n') ? blank : ' ')
  const kept = text.slice(0, begin) + notes
  const isNoted = endsInLineComment(text.slice(floor, begin) + notes)
  const isEnded = /^[ \t]*\r?\n/.test(text.slice(to))
  if (!isNoted || isEnded) return kept + text.slice(to)
  return kept + (notes !== '' ? '\n' : text.slice(begin, text.indexOf('\n', begin) + 1)) + text.slice(to)
}

function joined(comments: readonly string[], gap: string): string {
  const after = (comment: string | undefined) => (comment?.startsWith('//') && !gap.includes('\n') ? '\n' : gap)
  return comments.map((comment, n) => after(comments[n - 1]) + comment).join('')
}

export function commentsIn(text: string): string[] {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g) ?? []
  return tokens.filter((token) => !token.startsWith('"'))
}

function endsInLineComment(between: string): boolean {
  return /^(?:\s|\/\*(?:(?!\*\/)[\s\S])*\*\/|\/\/[^\n]*\n)*\/\/[^\n]*$/.test(between)
}

/** `unit` is undefined where all of the text is in one line. */
function styleOf(text: string): { eol: string; unit: string | undefined } {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  if (!text.trim().includes('\n')) return { eol, unit: /^\s*\{\s*\}\s*$/.test(text) ? '  ' : undefined }
  return { eol, unit: /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ' }
}

function indentAt(text: string, at: number): string {
  const line = text.lastIndexOf('\n', at - 1) + 1
  return /^[ \t]*/.exec(text.slice(line, at))?.[0] ?? ''
}
