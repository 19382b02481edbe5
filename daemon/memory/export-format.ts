/** How a memory set is written as one file: a JSON value a line, and an end that tells a whole file from a cut one. Pure. */
import { createHash } from 'node:crypto'
import { type ChangeLine, EXPORT_VERSION, type ExportLine } from '../../schema/export.ts'
import type { KeptChange, KeptTombstone } from './export-source.ts'

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
