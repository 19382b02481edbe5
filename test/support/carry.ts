/** Memory sets as files, made and taken in without a process around it. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Imported } from '../../schema/transfer.ts'
import { person, type Rig } from './memory.ts'

export async function exportOf(rig: Pick<Rig, 'memory'>, cwd: string): Promise<string> {
  let text = ''
  for await (const piece of await rig.memory.exporting.start(cwd, person)) text += piece
  return text
}

export function importInto(rig: Pick<Rig, 'memory'>, cwd: string, file: string | Uint8Array): Promise<Imported> {
  return rig.memory.importing.run(cwd, person, inPieces(Buffer.from(file)))
}

/** Pieces that end anywhere, as they come from a socket. */
export async function* inPieces(bytes: Buffer, size = 4_099): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export function linesOf(file: string): Record<string, unknown>[] {
  return file
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

/** A file with an end that fits whatever stands before it. */
export function sealed(lines: readonly unknown[]): string {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const count = (kind: string) => lines.filter((line) => (line as { kind?: string }).kind === kind).length
  const counts = {
    files: count('file'),
    texts: count('text'),
    changes: count('change'),
    tombstones: count('tombstone'),
  }
  const sha256 = createHash('sha256').update(text).digest('hex')
  return `${text}${JSON.stringify({ kind: 'end', ...counts, left: [], sha256 })}\n`
}

export const header = {
  kind: 'header',
  format: 'memoryd-export',
  version: 1,
  at: '2026-01-01T00:00:00.000Z',
  root: '/somewhere',
}

/** Every file of a folder with its content. */
export function tree(dir: string): Record<string, string> {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1)).sort()
  return Object.fromEntries(paths.map((path) => [path, readFileSync(join(dir, path), 'utf8')]))
}
