/** Hands out a whole memory set with its journal as it was at one moment, a piece at a time. Changes nothing. */

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import { type ChangeLine, EXPORT_VERSION, type ExportLine } from '../../schema/transfer.ts'
import type { Clock } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import type { Content } from '../platform/safe-folder.ts'
import type { ExportSource, KeptChange, KeptTombstone, Moment } from './export-source.ts'
import { inFolder } from './folder.ts'
import type { Places } from './place.ts'
import { listMemories } from './scan.ts'

type Deps = {
  places: Places
  source: ExportSource
  clock: Clock
  /** Brings the journal up to what others did in a directory. */
  look: (dir: string) => Promise<unknown>
}

export type Exporting = {
  /** What can be refused is refused before the first piece. */
  start(cwd: string, caller: Caller): Promise<AsyncIterable<string>>
}

type Left = { file: string; reason: string }
type Snapshot = Moment & {
  root: string
  at: number
  files: { file: string; hash: string }[]
  left: Left[]
  /** A person makes them one at a time: there are never many. */
  tombstones: KeptTombstone[]
}

/** Lines are short and pieces cost the same whatever their size. */
const PIECE_CHARS = 65_536

export function createExport({ places, source, clock, look }: Deps): Exporting {
  /** Synchronous: whatever of ours happens, happens before or after it. */
  const snapshot = (root: string, dir: string): Snapshot => {
    const { files, closed } = listMemories(dir)
    const seen = files.map((file) => ({ file, content: readable(dir, file) }))
    return {
      ...source.moment(dir),
      root,
      at: clock.now(),
      tombstones: [...source.tombstones(dir)],
      files: seen.flatMap(({ file, content }) => (typeof content === 'string' ? [] : [{ file, hash: content.hash }])),
      left: [
        ...seen.flatMap(({ file, content }) => (typeof content === 'string' ? [{ file, reason: content }] : [])),
        ...closed.map((file) => ({ file, reason: 'is no plain file, or a folder that is closed to memoryd' })),
      ],
    }
  }

  /** As it was at the moment: from the disk, or from the journal if it has changed since. */
  const bytesOf = (dir: string, file: string, hash: string): Buffer => {
    const now = readable(dir, file)
    if (typeof now !== 'string' && now.hash === hash) return now.bytes
    const then = source.textOf(hash)
    if (then !== undefined) return Buffer.from(then)
    throw new MemoryError('CONFLICT', `${file} was changed while it was being exported`, { hint: 'export again' })
  }

  async function* lines({ root, dir, at, files, left, tombstones, ...moment }: Snapshot): AsyncGenerator<string> {
    const write = createLineWriter()
    yield write.line(headerLine(at, root))
    for (const { file, hash } of files) yield write.line(fileLine(file, bytesOf(dir, file, hash)))
    let changes = 0
    for (const { texts, change } of source.changes({ dir, ...moment })) {
      for (const text of texts) yield write.line({ kind: 'text', ...text })
      yield write.line(changeLine(change))
      changes += 1
    }
    // Moved to another directory meanwhile: what is left of it must not look like all of it.
    if (changes !== moment.changes) throw new MemoryError('CONFLICT', 'the journal was moved while it was exported')
    for (const tombstone of tombstones) yield write.line(tombstoneLine(tombstone))
    yield write.end(left)
  }

  return {
    start: async (cwd, caller) => {
      const { root, dir, off } = places.find(cwd, caller)
      if (off === undefined) await look(dir)
      return pieces(lines(snapshot(root, dir)))
    },
  }
}

/** The content, or why there is none to be had. */
function readable(dir: string, file: string): Content | string {
  try {
    const content = existsSync(dir) ? inFolder(dir, (folder) => folder.read(file)) : undefined
    return content ?? 'cannot be found under its name'
  } catch (error) {
    return message(error)
  }
}

async function* pieces(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = ''
  for await (const line of lines) {
    piece += line
    if (piece.length < PIECE_CHARS) continue
    yield piece
    piece = ''
  }
  yield piece
}

/** How a memory set is written as one file: a JSON value a line, and an end that tells a whole file from a cut one. Pure. */

export type Counts = { files: number; texts: number; changes: number; tombstones: number }

/** Counts what it writes and what that adds up to. */
export function createLineWriter() {
  const sum = createHash('sha256')
  const counts: Counts = { files: 0, texts: 0, changes: 0, tombstones: 0 }
  const counted = { file: 'files', text: 'texts', change: 'changes', tombstone: 'tombstones' } as const
  return {
    line: (value: Exclude<ExportLine, { kind: 'end' }>): string => {
      const line = `${JSON.stringify(value)}\n`
      sum.update(line)
      if (value.kind !== 'header') counts[counted[value.kind]] += 1
      return line
    },
    end: (left: { file: string; reason: string }[]): string => {
      const end: ExportLine = { kind: 'end', ...counts, left, sha256: sum.digest('hex') }
      return `${JSON.stringify(end)}\n`
    },
  }
}

export function headerLine(at: number, root: string): ExportLine & { kind: 'header' } {
  return { kind: 'header', format: 'memoryd-export', version: EXPORT_VERSION, at: iso(at), root }
}

export function fileLine(file: string, bytes: Buffer): ExportLine & { kind: 'file' } {
  const text = bytes.toString()
  if (Buffer.from(text).equals(bytes)) return { kind: 'file', file, content: text }
  return { kind: 'file', file, content: bytes.toString('base64'), encoding: 'base64' }
}

export function changeLine({ at, runId, evidence, ...same }: KeptChange): ChangeLine {
  return { kind: 'change', at: iso(at), ...same, ...(runId !== undefined && { run: runId }), evidence: [...evidence] }
}

export function tombstoneLine({ at, ...same }: KeptTombstone): ExportLine & { kind: 'tombstone' } {
  return { kind: 'tombstone', at: iso(at), ...same }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
