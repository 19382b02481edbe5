/** Which adapter reads which harness, where its transcripts are, and which harness wrote a file. */
import { fstatSync, readSync } from 'node:fs'
import type { HarnessName } from '../../../schema/session.ts'
import { type Found, takeLines, withPlain } from '../tail.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import type { Adapter } from './facts.ts'
import { parseLine } from './fields.ts'
import { gemini } from './gemini.ts'
import { generic } from './generic.ts'
import { pi } from './pi.ts'

export const adapters: readonly Adapter[] = [claudeCode, codex, gemini, pi, generic]

const byHarness = new Map<string, Adapter>(adapters.map((adapter) => [adapter.harness, adapter]))

/** A harness without a form of its own speaks the generic one. */
export function adapterFor(harness: string): Adapter {
  return byHarness.get(harness) ?? generic
}

export type Root = { harness: string; path: string }

export function rootsIn(roots: Readonly<Record<string, readonly string[]>>): Root[] {
  return Object.entries(roots).flatMap(([harness, paths]) => paths.map((path) => ({ harness, path })))
}

export type Source = { harness: string; root: string; path: string }

export const MOST_DEPTH = Math.max(...adapters.map(({ depth }) => depth))

export function sourceOf({ harness, path: root }: Root, name: string): Source | undefined {
  return adapterFor(harness).isTranscript(name) ? { harness, root, path: `${root}/${name}` } : undefined
}

export function mayHold({ harness }: Root, folder: string): boolean {
  return adapterFor(harness).mayHold?.(folder) ?? true
}

export function nameOf({ root, path }: Source): string {
  return path.slice(root.length + 1)
}

export type Unrecognised = { left: 'empty' | 'unreadable' | 'unrecognised' }

/** Enough for nearly all; a session may begin with a picture, though. */
const FIRST_BYTES = 65_536
const MOST_BYTES = 4_000_000

export function recognise(path: string): { harness: HarnessName } | Unrecognised {
  try {
    return withPlain(path, (fd): { harness: HarnessName } | Unrecognised => {
      const stats = fstatSync(fd)
      if (!stats.isFile()) return { left: 'unreadable' }
      if (stats.size === 0) return { left: 'empty' }
      const harness = byLines(fd, FIRST_BYTES) ?? (stats.size > FIRST_BYTES ? byLines(fd, MOST_BYTES) : undefined)
      return harness ? { harness } : { left: 'unrecognised' }
    })
  } catch {
    return { left: 'unreadable' }
  }
}

/** The first line that only one harness writes decides; what none claims may be of the generic form. */
function byLines(fd: number, capBytes: number): HarnessName | undefined {
  const buffer = Buffer.allocUnsafe(capBytes)
  const bytes = buffer.subarray(0, readSync(fd, buffer, 0, capBytes, 0))
  const found: Found = { lines: [], skipped: [], bytes: 0 }
  takeLines(bytes, 0, found, capBytes)
  let fallback: HarnessName | undefined
  for (const { text } of found.lines) {
    const record = parseLine(text)
    const harness = record && adapters.find((adapter) => adapter.recognises(record))?.harness
    if (harness && harness !== 'generic') return harness
    fallback ??= harness
  }
  return fallback
}

/** Where the root of the harness would be; `dir`: of the import. */
export function rootFor(harness: string, path: string, dir: string): string {
  return adapterFor(harness).rootOf?.(path) ?? dir
}
