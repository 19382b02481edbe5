/** Reads front matter, YAML between two lines of three dashes. Never throws and never runs code: what it cannot read is body. */
import grayMatter from 'gray-matter'
import { type CST, isMap, isScalar, LineCounter, Parser, parseDocument, visit } from 'yaml'
import { message } from './files.ts'

export type FrontMatter = {
  data: Record<string, unknown>
  body: string
  /** `raw + body` is the text. */
  raw: string
  /** Why front matter that is there was not read; the body is then the whole text. */
  problem?: string
}

const CAP_BYTES = 64 * 1024
/** gray-matter's search for comments is quadratic in blank lines: 64 KB of them took it five seconds. */
const CAP_LINES = 1000
/** The YAML library recurses, and a stack that ends inside a regular expression ends the process: no catch helps. */
const CAP_DEPTH = 50

export function parseFrontMatter(text: string): FrontMatter {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : ''
  const marked = text.slice(mark.length)
  const whole = { data: {}, body: marked, raw: mark }
  const found = findBlock(marked)
  if (found === undefined) return whole
  if ('problem' in found) return { ...whole, problem: found.problem }
  try {
    const data = readPlainYaml(found.yaml) ?? readYaml(found.yaml)
    return { data, body: marked.slice(found.end), raw: mark + marked.slice(0, found.end) }
  } catch (error) {
    return { ...whole, problem: `the front matter is not valid: ${message(error).split('\n', 1)[0]}` }
  }
}

type Block = { yaml: string; end: number }

/** Stricter than gray-matter, which takes `----` for the end and a file without an end for front matter throughout. */
function findBlock(text: string): Block | { problem: string } | undefined {
  const opening = /^---[ \t]*([A-Za-z]\w{0,20})?[ \t]*\r?\n/.exec(text)
  if (!opening) return undefined
  const language = opening[1]?.toLowerCase() ?? 'yaml'
  if (language !== 'yaml' && language !== 'yml')
    return { problem: `front matter in ${opening[1]} is not read, only YAML` }
  const start = opening[0].length
  const close = text.slice(0, CAP_BYTES + start).indexOf('\n---', start - 1)
  if (close < 0)
    return { problem: text.length > CAP_BYTES ? `the front matter does not end within ${CAP_BYTES} bytes` : NOT_CLOSED }
  const closing = /^\n---[ \t]*(?:\r?\n|\r?$)/.exec(text.slice(close, close + 200))
  if (!closing) return { problem: NOT_CLOSED }
  const yaml = text.slice(start, close + 1).replaceAll('\r\n', '\n')
  if (Buffer.byteLength(yaml) > CAP_BYTES) return { problem: `the front matter is longer than ${CAP_BYTES} bytes` }
  if (yaml.split('\n').length > CAP_LINES) return { problem: `the front matter has more than ${CAP_LINES} lines` }
  return { yaml, end: close + closing[0].length }
}

const NOT_CLOSED = 'the front matter is not closed by a line of three dashes'

export function readYaml(yaml: string): Record<string, unknown> {
  try {
    return grayMatter(`---\n${yaml}\n---\n`, OPTIONS).data
  } catch (error) {
    const quoted = quoteValues(yaml)
    if (quoted === yaml) throw error
    return grayMatter(`---\n${quoted}\n---\n`, OPTIONS).data
  }
}

function refuse(): never {
  throw new Error('only YAML is read')
}

// Always passed: without options gray-matter keeps every text it ever saw, and `---js` is evaluated.
const OPTIONS = { language: 'yaml', engines: { yaml: parseYaml, javascript: refuse, js: refuse, json: refuse } }

function parseYaml(yaml: string): Record<string, unknown> {
  if (nestsTooDeep(yaml)) throw new Error(`it nests more than ${CAP_DEPTH} deep`)
  const lineCounter = new LineCounter()
  const document = parseDocument(yaml, {
    schema: 'core',
    // Or `!!timestamp` and `!!binary` bring in what the core schema leaves out.
    resolveKnownTags: false,
    // Checked below: the library compares every key with every other.
    uniqueKeys: false,
    logLevel: 'error',
    // Or each of many errors gets its own excerpt of the text.
    prettyErrors: false,
    lineCounter,
  })
  const [error] = document.errors
  // gray-matter leaves the line break behind the dashes in: lines count from the opening delimiter, as in the file.
  if (error) throw new Error(`${error.message} (line ${lineCounter.linePos(error.pos[0]).line})`, { cause: error })
  visit(document, {
    Map: (_, map) => {
      const keys = new Set<string>()
      for (const { key } of map.items) {
        if (!isScalar(key)) continue
        if (keys.has(String(key.value))) throw new Error(`the key ${key.value} appears twice`)
        keys.add(String(key.value))
      }
    },
  })
  if (document.contents === null) return {}
  if (!isMap(document.contents)) throw new Error('it must consist of `key: value` lines')
  return document.toJS({ maxAliasCount: 0 })
}

/** Ask this before any YAML of unknown origin is parsed. */
export function nestsTooDeep(yaml: string): boolean {
  let level: CST.Token[] = [...new Parser().parse(yaml)]
  for (let depth = 0; depth <= CAP_DEPTH; depth++) {
    if (level.length === 0) return false
    level = level.flatMap(partsOf)
  }
  return true
}

function partsOf(token: CST.Token): CST.Token[] {
  if (token.type === 'document') return token.value ? [token.value] : []
  if (!('items' in token)) return []
  return token.items.flatMap(({ key, value }) => [key, value].filter((part) => part !== undefined && part !== null))
}

// People and models write `paths: **/*.ts` and `description: Deploys: never on Friday`, and the harnesses read it. Only
// what is no YAML otherwise is quoted, so an alias stays one and is refused.
function quoteValues(yaml: string): string {
  return yaml
    .split('\n')
    .map((line) => {
      const entry = /^([A-Za-z_][\w-]*:[ \t]+)(\S.*)$/.exec(line)
      const item = entry ? null : /^([ \t]*-[ \t]+)(\S.*)$/.exec(line)
      const [, lead = '', value = ''] = entry ?? item ?? []
      if (/^["'|>&!]/.test(value)) return line
      const bare =
        /^[@`%]|^\*\W/.test(value) ||
        (value.startsWith('{') && !value.trimEnd().endsWith('}')) ||
        (value.startsWith('[') && !value.trimEnd().endsWith(']')) ||
        (entry !== null && /^[^[{]/.test(value) && /:(\s|$)/.test(value))
      return bare ? lead + JSON.stringify(value.trimEnd()) : line
    })
    .join('\n')
}

const KEY = '([A-Za-z_][\\w-]*)'
/** Without characters that YAML takes for a break, or refuses. */
const TEXT = '[^\\p{Cc}\\uFEFF\\u2028\\u2029\\uFFFE\\uFFFF\\p{Cs}]'
const ENTRY = new RegExp(`^( *)${KEY}:(?: +(\\S${TEXT}*?))? *$`, 'u')
const QUOTED = new RegExp(`^"(?:(?!["\\\\])${TEXT}|\\\\["\\\\])*"$`, 'u')
const CONSTANT = /^(?:true|false|null|~)$/i

/** Lines of `key: some words`, as nearly every file has, at a fiftieth of the YAML library's cost; else nothing. */
export function readPlainYaml(yaml: string): Record<string, unknown> | undefined {
  const data: Record<string, string | Record<string, string>> = {}
  let inner: { data: Record<string, string>; indent: string } | undefined
  for (const line of yaml.replace(/\n$/, '').split('\n')) {
    const [, indent = '', key, text] = ENTRY.exec(line) ?? []
    if (key === undefined || key === '__proto__' || CONSTANT.test(key)) return undefined
    if (indent === '') inner = undefined
    else if (!inner || (inner.indent !== '' && inner.indent !== indent)) return undefined
    else inner.indent = indent
    const holder = inner?.data ?? data
    const value = text === undefined ? undefined : readScalar(text)
    if (Object.hasOwn(holder, key) || (value === undefined && (text !== undefined || inner))) return undefined
    if (value === undefined) {
      inner = { data: {}, indent: '' }
      data[key] = inner.data
    } else holder[key] = value
  }
  // A key with nothing below it is null.
  return Object.values(data).some((value) => Object.keys(value).length === 0) ? undefined : data
}

function readScalar(text: string): string | undefined {
  if (QUOTED.test(text)) return JSON.parse(text)
  return isText(text) && !CONSTANT.test(text) ? text : undefined
}

const OLD_WORD = /^(?:~|null|true|false|y|n|yes|no|on|off)$/i
const NUMBER =
  /^[-+]?(?:0[xob][\da-f_]+|(?:\d[\d_,]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:e[-+]?\d+)?|\.(?:inf|nan)|\d+(?::[0-5]?\d)+(?:\.\d*)?)$/i
const OLD_DATE = /^\d{4}-\d\d?-\d\d?(?:[Tt ].*)?$/
const SYNTAX = /^[,[\]{}#&*!|>'"%@`]|^[-?:](?:\s|$)|^(?:---|\.\.\.)|:(?:\s|$)|\s#/

/** Whether every reader of YAML, old ones included, reads a line of text without quotes as that text. */
export function isPlainScalar(text: string): boolean {
  return isText(text) && !OLD_WORD.test(text) && !OLD_DATE.test(text)
}

function isText(text: string): boolean {
  return text !== '' && !NUMBER.test(text) && !SYNTAX.test(text)
}
