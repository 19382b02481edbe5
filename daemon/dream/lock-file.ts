/**
 * `.consolidate-lock` as a file: read, made, taken over and put back. Its body is the number of a process, its time that of
 * the last consolidation. Follows no link: anybody who can write into the directory may have put it there.
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  futimesSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'

export const LOCK_FILE = '.consolidate-lock'

/** No process has a longer number. */
const BODY_BYTES = 32

const OPEN = constants.O_NOFOLLOW | constants.O_NONBLOCK

/** A body is read as leniently as programs write it. */
export type Seen = { pid: number | undefined; mtimeNs: bigint }

export class NotPlain extends Error {}

export function read(dir: string): Seen | undefined {
  const fd = open(dir, constants.O_RDONLY)
  if (fd === undefined) return undefined
  try {
    const { mtimeNs } = fstatSync(fd, { bigint: true })
    const bytes = Buffer.alloc(BODY_BYTES)
    const text = bytes
      .subarray(0, readSync(fd, bytes, 0, BODY_BYTES, 0))
      .toString()
      .trim()
    const pid = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined
    return { pid, mtimeNs }
  } finally {
    closeSync(fd)
  }
}

/** Only if nobody else has: two who find nothing cannot both make it. */
export function create(dir: string, pid: number): 'written' | 'overtaken' {
  try {
    const fd = openSync(join(dir, LOCK_FILE), OPEN | constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
    writeAndClose(fd, String(pid))
    return 'written'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return 'overtaken'
    throw error
  }
}

/** Only over what was judged to be free. */
export function overwrite(dir: string, judged: Seen, pid: number): 'written' | 'overtaken' {
  const now = read(dir)
  if (now?.pid !== judged.pid || now?.mtimeNs !== judged.mtimeNs) return 'overtaken'
  const fd = open(dir, constants.O_WRONLY | constants.O_TRUNC)
  if (fd === undefined) return 'overtaken'
  writeAndClose(fd, String(pid))
  return 'written'
}

export function putBack(dir: string, beforeNs: string | null): void {
  if (beforeNs === null) {
    rmSync(join(dir, LOCK_FILE), { force: true })
    return
  }
  const fd = open(dir, constants.O_WRONLY | constants.O_TRUNC)
  if (fd === undefined) return
  try {
    const seconds = secondsOf(BigInt(beforeNs))
    futimesSync(fd, seconds, seconds)
  } finally {
    closeSync(fd)
  }
}

function writeAndClose(fd: number, text: string): void {
  try {
    writeSync(fd, text)
  } finally {
    closeSync(fd)
  }
}

function open(dir: string, flags: number): number | undefined {
  let fd: number
  try {
    // Nothing is truncated before it is known to be a file of its own.
    fd = openSync(join(dir, LOCK_FILE), OPEN | (flags & ~constants.O_TRUNC))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP' || code === 'EISDIR' || code === 'ENXIO')
      throw new NotPlain(`${LOCK_FILE} is not a plain file`)
    throw error
  }
  const stats = fstatSync(fd)
  if (!stats.isFile() || stats.nlink > 1) {
    closeSync(fd)
    throw new NotPlain(`${LOCK_FILE} is not a plain file of its own`)
  }
  if (flags & constants.O_TRUNC) ftruncateSync(fd)
  return fd
}

export function msOf(ns: bigint): number {
  return Number(ns / 1_000_000n)
}

/**
 * A time is set in seconds, as a floating-point number that the system cuts off: aimed at the middle between two of them,
 * it does not fall into the millisecond before.
 */
function secondsOf(ns: bigint): number {
  const aimed = ns % 1_000_000n < 999_000n ? ns + 500n : ns - 500n
  return Number(aimed) / 1e9
}
