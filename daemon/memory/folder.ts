/** A memory directory as the gate sees it: texts and hashes, opened for one piece of work and closed again. */
import { isUtf8 } from 'node:buffer'
import { closeSync, existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import { type Confined, openFolder } from './confined.ts'
import { isCode, type MayBeAt, OWN_REACH, openRoot, refuseAstray, refused, withNewFolders } from './descend.ts'
import { INDEX_FILE, INDEXES, shown, twinKey } from './file-names.ts'
import { type Content, hashOf, NEW_MODE } from './plain-file.ts'

/** A file as text; `exact` when the text gives the same bytes back. `mode`: permissions only. */
export type Present = { hash: string; bytes: Buffer; text: string; exact: boolean; mode: number; stamp: string }

/** Makes the directory if need be. Whoever opens it has to close it. */
export function openIn(dir: string, mayBeAt?: MayBeAt): Confined {
  try {
    return openIfThere(dir, mayBeAt) ?? openMade(dir, mayBeAt)
  } catch (error) {
    throw placeTrouble(dir, error)
  }
}

export function inFolder<T>(dir: string, act: (folder: Confined) => T, mayBeAt?: MayBeAt): T {
  const folder = openIn(dir, mayBeAt)
  try {
    return act(folder)
  } catch (error) {
    throw placeTrouble(dir, error)
  } finally {
    folder.close()
  }
}

function openIfThere(dir: string, mayBeAt: MayBeAt | undefined): Confined | undefined {
  try {
    return openFolder(dir, { mayBeAt })
  } catch (error) {
    // Whatever stands in the way is named by whoever tries to make it.
    if (isCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}

function openMade(dir: string, mayBeAt: MayBeAt | undefined): Confined {
  try {
    makeFolder(dir, mayBeAt)
    return openFolder(dir, { mayBeAt })
  } catch (error) {
    if (isCode(error, 'ENOENT')) throw refused(`the folder ${shown(dir)} was taken away while it was being opened`)
    if (!isCode(error, 'ENOTDIR')) throw error
    throw new MemoryError('REFUSED', `${dir} is not a folder`, { reason: 'path', hint: 'move it away', cause: error })
  }
}

/** From the last folder that is there, held open, and only where that leads to the right place: nothing is made elsewhere. */
function makeFolder(dir: string, mayBeAt: MayBeAt = () => true): void {
  const missing: string[] = []
  let there = dir
  for (; !existsSync(there) && dirname(there) !== there; there = dirname(there)) missing.unshift(basename(there))
  const top = openRoot(there, OWN_REACH)
  try {
    refuseAstray(dir, join(top.where, ...missing), mayBeAt)
    withNewFolders(top, missing, () => {})
  } finally {
    closeSync(top.fd)
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
  return { hash, bytes, text: bytes.toString(), exact: isUtf8(bytes), mode, stamp }
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

/** Several files, written all or none. */

/** `content`: nothing for a file that goes. */
type Step = { file: string; before: Before | undefined; content: string | Buffer | undefined }
type Before = Pick<Present, 'hash' | 'bytes' | 'mode'>

/** All of them, each only over what was seen; what was written before one failed is put back. */
export function putAll(folder: Confined, steps: readonly Step[]): void {
  const begun: Step[] = []
  try {
    for (const step of inOrder(steps)) {
      begun.push(step)
      put(folder, step)
    }
    folder.settle()
  } catch (error) {
    // Where it met somebody else's file, what stands there is theirs; any other trouble may have come after it was written.
    if (isCode(error, 'CONFLICT')) begun.pop()
    for (const step of begun.reverse()) putBack(folder, step)
    throw error
  }
}

/** What goes, goes last: as long as a write may fail, nothing has to come back. Only what is in the way of one goes first. */
function inOrder(steps: readonly Step[]): readonly Step[] {
  // Mostly none goes.
  if (steps.every(({ content }) => content !== undefined)) return steps
  const written = new Set(steps.flatMap(({ file, content }) => (content === undefined ? [] : [twinKey(file)])))
  const rank = ({ file, content }: Step) => (content !== undefined ? 1 : written.has(twinKey(file)) ? 0 : 2)
  return [...steps].sort((a, b) => rank(a) - rank(b))
}

function put(folder: Confined, { file, before, content }: Step): void {
  if (content === undefined) {
    if (before) folder.remove(file, { expect: before.hash, mode: before.mode })
    return
  }
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  folder.write(file, bytes, { expect: before?.hash ?? null, mode: before?.mode ?? NEW_MODE, settle: 'later' })
}

/** To the byte, over nothing but what we wrote. What cannot be put back keeps no other from it: the failure before is told. */
function putBack(folder: Confined, { file, before, content }: Step): void {
  try {
    if (content === undefined) {
      if (before) folder.write(file, before.bytes, { expect: null, mode: before.mode })
    } else if (before) folder.write(file, before.bytes, { expect: hashOf(content) })
    else folder.remove(file, { expect: hashOf(content) })
  } catch {}
}
