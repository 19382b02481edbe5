/** A memory directory as the gate sees it: texts and hashes, opened for one piece of work and closed again. */
import { isUtf8 } from 'node:buffer'
import { mkdirSync } from 'node:fs'
import { MemoryError } from '../../schema/errors.ts'
import { type Confined, openFolder } from './confined.ts'
import { isCode } from './descend.ts'
import { INDEX_FILE, INDEXES } from './file-name.ts'
import type { Content } from './plain-file.ts'

/** The bytes of a file as text; `exact` when the text gives the same bytes back. `mode`: permissions only. */
export type Present = { hash: string; text: string; exact: boolean; mode: number; stamp: string }

/** Makes the directory if need be. Whoever opens it has to close it. */
export function openIn(dir: string): Confined {
  try {
    return openIfThere(dir) ?? openMade(dir)
  } catch (error) {
    throw placeTrouble(dir, error)
  }
}

export function inFolder<T>(dir: string, act: (folder: Confined) => T): T {
  const folder = openIn(dir)
  try {
    return act(folder)
  } catch (error) {
    throw placeTrouble(dir, error)
  } finally {
    folder.close()
  }
}

function openIfThere(dir: string): Confined | undefined {
  try {
    return openFolder(dir)
  } catch (error) {
    // Whatever stands in the way is named by whoever tries to make it.
    if (isCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

function openMade(dir: string): Confined {
  makeFolder(dir)
  return openFolder(dir)
}

function makeFolder(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
  } catch (cause) {
    if (!isCode(cause, 'EEXIST', 'ENOTDIR')) throw cause
    throw new MemoryError('REFUSED', `${dir} is not a folder`, { reason: 'path', hint: 'move it away', cause })
  }
}

const troubles: Record<string, string> = {
  ENOSPC: 'there is no space left',
  EDQUOT: 'the quota is used up',
  EROFS: 'it is read-only',
  EIO: 'its disk fails',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
}

/** Memories may be on another disk than the daemon's own state: whoever writes is told which of them it is. */
export function placeTrouble(dir: string, cause: unknown): unknown {
  const code = String((cause as { code?: unknown } | undefined)?.code)
  if (!Object.hasOwn(troubles, code)) return cause
  return new MemoryError('DEGRADED', `the memory directory ${dir} cannot be used: ${troubles[code]} (${code})`, {
    hint: 'make room there, or make it writable for you',
    cause,
  })
}

export function readPresent(folder: Confined, file: string): Present | undefined {
  const content = folder.read(file)
  return content && presentOf(content)
}

export function presentOf({ bytes, hash, mode, stamp }: Content): Present {
  return { hash, text: bytes.toString(), exact: isUtf8(bytes), mode, stamp }
}

/** `team/x.md` is pointed to by the team's own index, everything else by the directory's. */
export function indexOf(file: string): string {
  return file.startsWith('team/') ? `team/${INDEX_FILE}` : INDEX_FILE
}

export function isIndex(file: string): boolean {
  return INDEXES.includes(file)
}

/** A file as its own index names it. */
export function nameInIndex(file: string): string {
  return file.startsWith('team/') ? file.slice('team/'.length) : file
}
