/**
 * `<state>/sessions/<harness>/<id>/pushed.jsonl`: turns of harnesses that write no files. Appends whole turns, and none
 * twice; what a kill left half written was never acknowledged and is cut off.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { syncPath } from '../platform/files.ts'
import type { Cursor } from './cursor.ts'
import { id, parseLine, text } from './fields.ts'
import type { Tail } from './tail.ts'

/** What is known of a file as long as nobody else has touched it. */
export type Pushed = FileLook & { ids: Set<string>; cwd: string | undefined }

export type FileLook = { inode: string; sizeBytes: number }

const OPEN = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW
const SLICE_BYTES = 1_000_000
const LF = 0x0a

/** Which turns are in it already, by the ids of their ends. */
export async function scanPushed(tail: Tail, path: string): Promise<Pushed> {
  const known: Pushed = { inode: '', sizeBytes: 0, ids: new Set(), cwd: undefined }
  let cursor: Cursor | undefined
  for (let more = true; more; ) {
    const slice = tail.readSlice(path, cursor, { capBytes: SLICE_BYTES })
    if (!('cursor' in slice)) return known
    for (const line of slice.lines) {
      const record = parseLine(line.text)
      const ended = record?.type === 'end' ? id(record.id) : undefined
      if (ended !== undefined) known.ids.add(ended)
      if (record?.type === 'session' && text(record.cwd) !== '') known.cwd = text(record.cwd)
    }
    cursor = slice.cursor
    known.inode = cursor.inode
    known.sizeBytes = cursor.sizeBytes
    more = slice.more
    await turn()
  }
  return known
}

/** After this returns they are on disk, all of them; if it throws, none is. Gives the file as it is then. */
export function appendLines(path: string, lines: readonly string[]): FileLook {
  const made = mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const fd = openSync(path, OPEN, 0o600)
  try {
    const before = wholeLines(fd)
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
      fsyncSync(fd)
    } catch (error) {
      ftruncateSync(fd, before)
      throw error
    }
    if (before === 0) syncFolders(dirname(path), made ?? dirname(path))
    return { inode: String(fstatSync(fd, { bigint: true }).ino), sizeBytes: before + bytes.length }
  } finally {
    closeSync(fd)
  }
}

/** Cuts off what has no end of line. */
function wholeLines(fd: number): number {
  const { size } = fstatSync(fd)
  const chunk = Buffer.alloc(65_536)
  for (let end = size; end > 0; ) {
    const from = Math.max(0, end - chunk.length)
    const bytes = chunk.subarray(0, readSync(fd, chunk, 0, end - from, from))
    const last = bytes.lastIndexOf(LF)
    if (last !== -1) {
      const whole = from + last + 1
      if (whole < size) ftruncateSync(fd, whole)
      return whole
    }
    end = from
  }
  if (size > 0) ftruncateSync(fd, 0)
  return 0
}

/** A new file is there for good once its folder says so, and that one's folder, up to what was there before. */
function syncFolders(folder: string, made: string): void {
  syncPath(folder)
  if (folder !== dirname(made) && folder.startsWith(dirname(made))) syncFolders(dirname(folder), made)
}
