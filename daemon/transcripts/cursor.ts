/** Where reading a file goes on, and what a look at the file says about that. Plain data and decisions; does no I/O. */
import type { BigIntStats } from 'node:fs'
import { EMPTY, FINGERPRINT_BYTES, type Fingerprint, fingerprintOf } from './fingerprint.ts'

export type Place = {
  /** Every whole line before this byte was delivered. */
  offset: number
  /** No line ends between `offset` and this byte: a torn line is not searched again from its start. */
  scanned: number
  /** Of the first bytes up to `scanned`. */
  head: Fingerprint
  /** Of the last bytes before `scanned`. */
  tail: Fingerprint
}

/** Device and inode are text: on some file systems they do not fit into a number. */
type Identity = { device: string; inode: string; sizeBytes: number }

/** Is stored in the transaction that stores what was made of the lines. */
export type Cursor = Place &
  Identity & {
    /** Grows whenever the file turned out to be another one, or rewritten, and was begun anew. */
    generation: number
    /** Times of the last change; none while they are too fresh to tell the next change. */
    stamp: string | null
  }

export type Look = Identity & { stamp: string; settled: 'yes' | 'not-yet' }

/**
 * A second change within one tick of the file system's clock leaves the same times: milliseconds on most systems, two
 * seconds on the coarsest.
 */
const SETTLED_MS = 2_000

export const START: Place = { offset: 0, scanned: 0, head: EMPTY, tail: EMPTY }

export function lookOf(stats: BigIntStats, nowMs: number): Look {
  return {
    device: String(stats.dev),
    inode: String(stats.ino),
    sizeBytes: Number(stats.size),
    stamp: `${stats.mtimeNs} ${stats.ctimeNs}`,
    settled: Number(stats.ctimeMs) + SETTLED_MS < nowMs ? 'yes' : 'not-yet',
  }
}

/**
 * `same`: not touched since. `other`: what was read is gone. `unsure`: the fingerprints decide; also when only the device
 * differs, because network and layered file systems are numbered anew with every mount.
 */
export function compare(cursor: Cursor, look: Look): 'same' | 'unsure' | 'other' {
  if (cursor.inode !== look.inode || cursor.scanned > look.sizeBytes) return 'other'
  if (cursor.device !== look.device) return 'unsure'
  return cursor.stamp === look.stamp && cursor.sizeBytes === look.sizeBytes ? 'same' : 'unsure'
}

export function cursorAt(place: Place, look: Look, generation: number): Cursor {
  const { device, inode, sizeBytes, stamp, settled } = look
  return { ...place, generation, device, inode, sizeBytes, stamp: settled === 'yes' ? stamp : null }
}

/**
 * The place after `bytes`, which begin at `start`, were read up to `scanned`. Fingerprints are of bytes that were read, never
 * of a second look, which could vouch for what nobody has seen.
 */
export function placeAfter(
  before: Place,
  { bytes, start, offset, scanned }: { bytes: Uint8Array; start: number; offset: number; scanned: number },
): Place {
  const read = bytes.subarray(0, scanned - start)
  return {
    offset,
    scanned,
    head: start === 0 ? fingerprintOf(read.subarray(0, FINGERPRINT_BYTES)) : before.head,
    tail: fingerprintOf(read.subarray(Math.max(0, read.length - FINGERPRINT_BYTES))),
  }
}
