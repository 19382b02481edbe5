/** The form of an export: a JSON value a line, and an end that tells a whole file from a cut one. Nothing that is read is trusted. */
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { MemoryError } from '../../schema/errors.ts'
import { EXPORT_VERSION, ExportLine, type TombstoneLine } from '../../schema/transfer.ts'
import { type Line, parseJson, readLines, shapeOf } from '../platform/json.ts'
import { shown } from '../platform/text.ts'

/** Of the kinds of lines, as in the end line. Earlier versions exported a history, `texts` and `changes`, which is read over. */
const NONE = { files: 0, texts: 0, changes: 0, tombstones: 0 }
const COUNTED = { file: 'files', text: 'texts', change: 'changes', tombstone: 'tombstones' } as const

export function createLinePrinter() {
  const sum = createHash('sha256')
  const counts = { ...NONE }
  const print = (value: Exclude<ExportLine, { kind: 'end' }>): string => {
    const line = `${JSON.stringify(value)}\n`
    sum.update(line)
    if (value.kind !== 'header') counts[COUNTED[value.kind]] += 1
    return line
  }
  return {
    header: (atMs: number, root: string): string => {
      const at = new Date(atMs).toISOString()
      return print({ kind: 'header', format: 'memoryd-export', version: EXPORT_VERSION, at, root })
    },
    file: (file: string, bytes: Buffer): string => {
      const text = bytes.toString()
      if (Buffer.from(text).equals(bytes)) return print({ kind: 'file', file, content: text })
      return print({ kind: 'file', file, content: bytes.toString('base64'), encoding: 'base64' })
    },
    tombstone: ({ at, ...same }: { at: number; file: string; excerpt: string; values: string[] }): string =>
      print({ kind: 'tombstone', at: new Date(at).toISOString(), ...same }),
    end: (left: { file: string; reason: string }[]): string => {
      const end: ExportLine = { kind: 'end', ...counts, left, sha256: sum.digest('hex') }
      return `${JSON.stringify(end)}\n`
    },
  }
}

const CAPS = {
  bytes: 2_000_000_000,
  /** A file of a megabyte, every character of it escaped, and some more. */
  lineBytes: 8_000_000,
  lines: 500_000,
  files: 5_000,
  /** Files and rejections are held in memory. */
  heldBytes: 64_000_000,
}
const MOST_DEPTH = 8
const MOST_VALUES = 20_000

/** `changes`: of a history, which earlier versions exported, too. */
export type MemorySet = { files: Map<string, Buffer>; tombstones: TombstoneLine[]; changes: number }

/** Returns when everything has come and nothing is missing. Throws with the line of what is wrong first. */
export async function readExport(chunks: AsyncIterable<Uint8Array>, caps = CAPS): Promise<MemorySet> {
  const sum = createHash('sha256')
  const counts = { ...NONE }
  const files = new Map<string, Buffer>()
  const tombstones: TombstoneLine[] = []
  let bytes = 0
  let heldBytes = 0
  let ended = false

  const hold = (size: number, number: number): void => {
    heldBytes += size
    if (heldBytes > caps.heldBytes)
      throw wrong(number, `exceeds the ${caps.heldBytes} bytes of files and rejections one import may hold`)
  }
  const take = (value: ExportLine, { number, bytes: line }: Line): void => {
    if (value.kind === 'header') {
      if (number > 1) throw wrong(number, 'is a second header')
      return
    }
    if (value.kind === 'end') {
      ended = true
      for (const kind of Object.values(COUNTED))
        if (value[kind] !== counts[kind])
          throw wrong(number, `says that there are ${value[kind]} ${kind}, but ${counts[kind]} came`)
      if (value.sha256 !== sum.digest('hex')) throw wrong(number, 'has another checksum: the file was changed')
      return
    }
    counts[COUNTED[value.kind]] += 1
    if (value.kind === 'file') {
      const content = contentOf(value, number)
      if (counts.files > caps.files) throw wrong(number, `is one file more than the ${caps.files} an import takes`)
      hold(content.length, number)
      if (files.has(value.file)) throw wrong(number, `brings ${shown(value.file)} again`)
      files.set(value.file, content)
    } else if (value.kind === 'tombstone') {
      hold(line.length, number)
      tombstones.push(value)
    }
  }

  const tooLong = (number: number): never => {
    throw wrong(number, `is longer than ${caps.lineBytes} bytes`)
  }
  for await (const line of readLines(chunks, caps.lineBytes, tooLong)) {
    if (ended) throw wrong(line.number, 'comes after the end')
    if (line.number > caps.lines) throw wrong(line.number, `is one more than the ${caps.lines} an import takes`)
    bytes += line.bytes.length
    if (bytes > caps.bytes) throw wrong(line.number, `goes beyond the ${caps.bytes} bytes an import takes`)
    const value = parse(line)
    if (value.kind !== 'end') sum.update(line.bytes).update('\n')
    take(value, line)
  }
  if (!ended) throw new MemoryError('BAD_REQUEST', 'the file is cut off: it has no end line', { hint: 'export again' })
  return { files, tombstones, changes: counts.changes }
}

function parse({ number, bytes }: Line): ExportLine {
  if (!isUtf8(bytes)) throw wrong(number, 'is not UTF-8')
  const text = bytes.toString()
  if (text.trim() === '') throw wrong(number, 'is empty')
  const { depth, values } = shapeOf(text)
  if (depth > MOST_DEPTH) throw wrong(number, 'nests deeper than any line of an export')
  if (values > MOST_VALUES) throw wrong(number, 'holds more values than any line of an export')
  const json = parseJson(text)
  if (json === undefined) throw wrong(number, 'is not JSON')
  if (number === 1) checkVersion(json)
  const result = ExportLine.safeParse(json)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const place = issue?.path.join('.')
  throw wrong(number, `does not fit: ${place ? `${place}: ` : ''}${issue?.message}`)
}

function checkVersion(header: unknown): void {
  const { format, version } = (header ?? {}) as { format?: unknown; version?: unknown }
  if (format !== 'memoryd-export') throw wrong(1, 'is not the header of an export')
  if (version === EXPORT_VERSION) return
  const shownVersion = JSON.stringify(version)?.slice(0, 20)
  throw wrong(1, `is of version ${shownVersion}; this memoryd reads version ${EXPORT_VERSION}`)
}

function contentOf({ content, encoding }: ExportLine & { kind: 'file' }, number: number): Buffer {
  if (encoding === undefined) return Buffer.from(content)
  const bytes = Buffer.from(content, 'base64')
  if (bytes.toString('base64') !== content) throw wrong(number, 'has a content that is not base64')
  return bytes
}

function wrong(number: number, what: string): MemoryError {
  return new MemoryError('BAD_REQUEST', `line ${number} of the file ${what}`, {
    hint: 'nothing was imported; give it a file as memoryd export writes it',
  })
}
