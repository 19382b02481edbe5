/** Reads an exported file into a spool, a line at a time. Trusts none of it: the first thing wrong is told with its line. */
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { MemoryError } from '../../schema/errors.ts'
import { EXPORT_VERSION, ExportLine } from '../../schema/transfer.ts'
import { type Line, readLines, shapeOf } from '../platform/json.ts'
import { hashOf } from '../platform/safe-folder.ts'
import { shown } from '../platform/text.ts'
import type { Counts } from './export.ts'
import type { Spool } from './spool.ts'

const caps = {
  bytes: 2_000_000_000,
  /** A file of a megabyte, every character of it escaped, and some more. */
  lineBytes: 8_000_000,
  lines: 500_000,
  files: 5_000,
  /** All memories are looked at together, so together they have to fit. */
  fileBytes: 64_000_000,
}
const MOST_DEPTH = 8
const MOST_VALUES = 20_000

/** Returns when everything has come and nothing is missing; throws otherwise. */
export async function readExport(chunks: AsyncIterable<Uint8Array>, spool: Spool, most = caps): Promise<void> {
  const sum = createHash('sha256')
  const counts: Counts = { files: 0, texts: 0, changes: 0, tombstones: 0 }
  let bytes = 0
  let fileBytes = 0
  let ended = false

  const take = (value: ExportLine, { number }: Line): void => {
    switch (value.kind) {
      case 'header':
        if (number > 1) throw wrong(number, 'is a second header')
        return
      case 'file': {
        const content = contentOf(value, number)
        fileBytes += content.length
        counts.files += 1
        if (counts.files > most.files) throw wrong(number, `is one file more than the ${most.files} an import takes`)
        if (fileBytes > most.fileBytes) throw wrong(number, `takes the files beyond ${most.fileBytes} bytes in all`)
        if (spool.addFile(value.file, content) === 'again') throw wrong(number, `brings ${shown(value.file)} again`)
        return
      }
      case 'text':
        counts.texts += 1
        if (hashOf(value.text) !== value.key) throw wrong(number, 'has a text that does not fit its key')
        if (spool.addText(value.key, value.text) === 'again') throw wrong(number, 'brings a text again')
        return
      case 'change':
        counts.changes += 1
        spool.addChange(value, number)
        return
      case 'tombstone':
        counts.tombstones += 1
        spool.addTombstone(value)
        return
      case 'end': {
        ended = true
        for (const kind of ['files', 'texts', 'changes', 'tombstones'] as const)
          if (value[kind] !== counts[kind])
            throw wrong(number, `says that there are ${value[kind]} ${kind}, but ${counts[kind]} came`)
        if (value.sha256 !== sum.digest('hex')) throw wrong(number, 'has another checksum: the file was changed')
      }
    }
  }

  const tooLong = (number: number): never => {
    throw wrong(number, `is longer than ${most.lineBytes} bytes`)
  }
  for await (const line of readLines(chunks, most.lineBytes, tooLong)) {
    if (ended) throw wrong(line.number, 'comes after the end')
    if (line.number > most.lines) throw wrong(line.number, `is one more than the ${most.lines} an import takes`)
    bytes += line.bytes.length
    if (bytes > most.bytes) throw wrong(line.number, `goes beyond the ${most.bytes} bytes an import takes`)
    const value = parse(line)
    if (value.kind !== 'end') sum.update(line.bytes).update('\n')
    take(value, line)
  }
  if (!ended) throw new MemoryError('BAD_REQUEST', 'the file is cut off: it has no end line', { hint: 'export again' })
  const lacking = spool.lineWithoutText()
  if (lacking !== undefined) throw wrong(lacking, 'needs a text that the file does not hold')
}

function parse({ number, bytes }: Line): ExportLine {
  if (!isUtf8(bytes)) throw wrong(number, 'is not UTF-8')
  const text = bytes.toString()
  if (text.trim() === '') throw wrong(number, 'is empty')
  const { depth, values } = shapeOf(text)
  if (depth > MOST_DEPTH) throw wrong(number, 'nests deeper than any line of an export')
  if (values > MOST_VALUES) throw wrong(number, 'holds more values than any line of an export')
  const json = parseJson(text, number)
  if (number === 1) checkVersion(json)
  const result = ExportLine.safeParse(json)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const place = issue?.path.join('.')
  throw wrong(number, `does not fit: ${place ? `${place}: ` : ''}${issue?.message}`)
}

function parseJson(text: string, number: number): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own words would quote what it choked on.
    throw wrong(number, 'is not JSON')
  }
}

function checkVersion(header: unknown): void {
  const { format, version } = (header ?? {}) as { format?: unknown; version?: unknown }
  if (format !== 'memoryd-export') throw wrong(1, 'is not the header of an export')
  if (version !== EXPORT_VERSION)
    throw wrong(
      1,
      `is of version ${JSON.stringify(version)?.slice(0, 20)}; this memoryd reads version ${EXPORT_VERSION}`,
    )
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
