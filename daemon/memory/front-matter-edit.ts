/** Sets one field in the text of a front matter and leaves every other byte of it alone. Pure. */
import { isMap, isScalar, type Node, type Pair, parseDocument, type Scalar, type YAMLMap } from 'yaml'
import { isPlainScalar, nestsTooDeep } from '../platform/front-matter.ts'

/** `head + yaml + tail + body` is the text: the opening line, what stands between, the closing line, the rest. */
export type Block = { head: string; yaml: string; tail: string; body: string }

const BLOCK = /^(\uFEFF?---[ \t]*(?:ya?ml)?[ \t]*\r?\n)((?:.*?\n)?)(---[ \t]*(?:\r?\n|\r?$))/is

export function splitFrontMatter(text: string): Block | undefined {
  const [whole, head, yaml, tail] = BLOCK.exec(text) ?? []
  if (whole === undefined || head === undefined || yaml === undefined || tail === undefined) return undefined
  return { head, yaml, tail, body: text.slice(whole.length) }
}

/** `inside`: a block that may hold the field instead. A new one stands after those named by `after`, ending in `end`. */
export type Field = { key: string; inside?: string; after: readonly string[]; end: string }

export function setField(yaml: string, field: Field, value: string): string {
  const map = readMap(yaml)
  if (!map) return setLine(yaml, field, value)
  const inner = field.inside === undefined ? undefined : findPair(map, field.inside)?.value
  for (const holder of isMap(inner) ? [map, inner] : [map]) {
    const pair = findPair(holder, field.key)
    if (pair) return replaceValue(yaml, { holder, pair, field, value })
  }
  if (map.flow) return splice(yaml, offsetOf(map) + 1, 0, `${field.key}: ${JSON.stringify(value)}, `)
  return insertEntry(yaml, map, field, value)
}

function readMap(yaml: string): YAMLMap | undefined {
  if (nestsTooDeep(yaml)) return undefined
  try {
    const document = parseDocument(yaml, {
      schema: 'core',
      uniqueKeys: false,
      logLevel: 'silent',
      prettyErrors: false,
    })
    const map: unknown = document.contents
    return document.errors.length === 0 && isMap(map) ? map : undefined
  } catch {
    return undefined
  }
}

type Found = { holder: YAMLMap; pair: Pair; field: Field; value: string }

function replaceValue(yaml: string, { holder, pair, field, value }: Found): string {
  const node = pair.value
  if (!isScalar(node) || !node.range || node.tag !== undefined) return setLine(yaml, field, value)
  const [start, end] = node.range
  // A block scalar owns the newline after its last line; a missing value may touch its colon or a comment.
  const newline = /\r?\n$/.exec(yaml.slice(start, end))?.[0] ?? ''
  const before = yaml[start - 1] === ':' ? ' ' : ''
  const after = newline === '' && yaml[end] === '#' ? ' ' : ''
  const text = holder.flow ? JSON.stringify(value) : yamlScalar(value)
  return splice(yaml, start, end - start, `${before}${text}${newline}${after}`)
}

function insertEntry(yaml: string, map: YAMLMap, { key, after, end }: Field, value: string): string {
  const first = yaml.lastIndexOf('\n', offsetOf(map.items[0]?.key) - 1) + 1
  const indent = /^[ \t]*/.exec(yaml.slice(first))?.[0] ?? ''
  const previous = after.map((name) => findPair(map, name)?.value).filter((node) => isScalar(node) && node.range)
  const ends = previous.map((node) => lineEnd(yaml, (node as Scalar).range?.[1] ?? 0))
  const at = ends.length > 0 ? Math.max(...ends) : first
  return splice(yaml, at, 0, `${indent}${key}: ${yamlScalar(value)}${end}`)
}

/** Not `^`, which also matches after U+2028: only a newline starts a line. */
export const LINE_START = '(?<![^\\n])'

/** What is no YAML has lines all the same: a field is one of them and the indented lines and list items below it. */
function setLine(yaml: string, { key, inside, after, end }: Field, value: string): string {
  const entry = (name: string, indent: string) =>
    new RegExp(`${LINE_START}(${indent})${name}[ \\t]*:[^\\n]*(?:\\n(?:\\1[ \\t]+\\S|-[ \\t])[^\\n]*)*\\n?`).exec(yaml)
  const own = entry(key, '') ?? (inside === undefined ? null : entry(key, '[ \\t]+'))
  const line = `${own?.[1] ?? ''}${key}: ${yamlScalar(value)}${end}`
  if (own) return splice(yaml, own.index, own[0].length, line)
  const ends = after.map((name) => entry(name, '')).map((found) => (found ? found.index + found[0].length : 0))
  return splice(yaml, Math.max(0, ...ends), 0, line)
}

/** A line of text as a value, quoted only where some reader of YAML would take it for something else. */
export function yamlScalar(text: string): string {
  return isPlainScalar(text) ? text : JSON.stringify(text)
}

function findPair(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find((pair) => isScalar(pair.key) && pair.key.value === key)
}

function offsetOf(node: unknown): number {
  return (node as Node | undefined)?.range?.[0] ?? 0
}

/** The start of the line after the one `at` is on, or `at` where a line has just ended. */
function lineEnd(text: string, at: number): number {
  if (text[at - 1] === '\n') return at
  const newline = text.indexOf('\n', at)
  return newline === -1 ? text.length : newline + 1
}

function splice(text: string, at: number, length: number, insert: string): string {
  return text.slice(0, at) + insert + text.slice(at + length)
}
