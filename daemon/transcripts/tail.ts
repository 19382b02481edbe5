/**
 * Reads what is new in a transcript: whole lines, a bounded slice at a time. Knows bytes and files, not what a line says.
 * Follows no link, waits for no pipe, and says as a value what it cannot read.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import type { Clock } from '../platform/clock.ts'
import { type Cursor, compare, cursorAt, type Look, lookOf, type Place, placeAfter, START } from './cursor.ts'
import { FINGERPRINT_BYTES, matches } from './fingerprint.ts'
import { type Found, LF, LINE_CAP_BYTES, type Line, type Skipped, takeLines } from './lines.ts'

export type Slice = Read | Refused

/**
 * `rewritten`: begun anew, in a new generation; lines that were delivered before come again.
 * `cursor`: the very one that was given when the file was not touched.
 */
type Read = {
  changed: 'appended' | 'rewritten' | 'none'
  lines: Line[]
  skipped: Skipped[]
  cursor: Cursor
  more: boolean
}

/** The cursor that was given stays valid: the file may come back. */
type Refused = { changed: 'gone' } | { changed: 'unreadable' | 'unsupported'; reason: string }

export type Tail = {
  /** Holds no more than `capBytes`, a chunk, and the one longer line that may end in the slice. */
  readSlice(path: string, cursor: Cursor | undefined, options: { capBytes: number }): Slice
}

const OPEN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY
const CHUNK_BYTES = 262_144

export function createTail({ clock }: { clock: Pick<Clock, 'now'> }): Tail {
  // One for all slices: fresh memory for each costs more time than reading.
  const scratch = Buffer.allocUnsafe(FINGERPRINT_BYTES + CHUNK_BYTES)
  return {
    readSlice: (path, cursor, { capBytes }) => {
      if (path.endsWith('.zst')) return { changed: 'unsupported', reason: 'it is compressed (zstd)' }
      try {
        const fd = openSync(path, OPEN)
        try {
          const stats = fstatSync(fd, { bigint: true })
          if (!stats.isFile()) return { changed: 'unreadable', reason: 'it is not a plain file' }
          return readOn({ fd, scratch, look: lookOf(stats, clock.now()), capBytes }, cursor)
        } finally {
          closeSync(fd)
        }
      } catch (error) {
        return refusalOf(error)
      }
    },
  }
}

type Opened = { fd: number; scratch: Buffer; look: Look; capBytes: number }

function readOn(file: Opened, cursor: Cursor | undefined): Read {
  const { fd, look } = file
  if (!cursor) {
    const read = advance(file, START)
    return sliceOf(read, read.place.scanned > 0 ? 'appended' : 'none', cursorAt(read.place, look, 0))
  }
  const known = compare(cursor, look)
  if (known === 'same' && cursor.scanned === look.sizeBytes)
    return { changed: 'none', lines: [], skipped: [], cursor, more: false }
  if (known === 'same' || (known === 'unsure' && hasSameHead(fd, cursor))) {
    const read = advance(file, cursor)
    const changed = read.place.scanned > cursor.scanned ? 'appended' : 'none'
    if (read.end !== 'astray') return sliceOf(read, changed, cursorAt(read.place, look, cursor.generation))
  }
  const read = advance(file, START)
  return sliceOf(read, 'rewritten', cursorAt(read.place, look, cursor.generation + 1))
}

function sliceOf({ found, end }: Advance, changed: Read['changed'], cursor: Cursor): Read {
  return { changed, lines: found.lines, skipped: found.skipped, cursor, more: end === 'more' }
}

function hasSameHead(fd: number, { head }: Place): boolean {
  return matches(head, readAt(fd, Buffer.allocUnsafe(head.length), 0))
}

/** `astray`: the file does not hold, where reading was to go on, what was read there. */
type Advance = { place: Place; found: Found; end: 'all' | 'more' | 'astray' }

function advance({ fd, scratch, look: { sizeBytes }, capBytes }: Opened, from: Place): Advance {
  const found: Found = { lines: [], skipped: [], bytes: 0 }
  const chunkBytes = Math.min(CHUNK_BYTES, Math.max(capBytes, FINGERPRINT_BYTES))
  let place = from
  do {
    const lengthBytes = Math.min(chunkBytes, sizeBytes - place.scanned)
    const next = step(fd, place, scratch.subarray(0, place.tail.length + lengthBytes), found, capBytes)
    // Changed under our hands after a few steps: what they found was there, and the next slice begins anew.
    if (!next) return { place, found, end: place === from ? 'astray' : 'more' }
    const stuck = next.scanned === place.scanned
    place = next
    // Shorter than it said it was. A file that always lies about its size must not keep the caller busy.
    if (stuck) return { place, found, end: 'all' }
  } while (place.scanned < sizeBytes && place.scanned - from.scanned < capBytes && found.bytes < capBytes)
  return { place, found, end: place.scanned < sizeBytes ? 'more' : 'all' }
}

/** Every read begins a little before the place it goes on from, and must find there what was there before. */
function step(fd: number, place: Place, buffer: Buffer, found: Found, capBytes: number): Place | undefined {
  const start = place.scanned - place.tail.length
  const bytes = readAt(fd, buffer, start)
  if (!matches(place.tail, bytes.subarray(0, place.tail.length))) return undefined
  const scanned = start + bytes.length
  let offset = place.offset
  if (offset < start) {
    const end = bytes.indexOf(LF, place.tail.length)
    if (end === -1) return placeAfter(place, { bytes, start, offset, scanned })
    const after = start + end + 1
    if (!takeLongLine(fd, { offset, after }, found)) return undefined
    offset = after
  }
  offset = takeLines(bytes.subarray(offset - start), offset, found, capBytes)
  // Lines beyond the cap are read again by the next slice: held back, they would be lost with this process.
  return placeAfter(place, { bytes, start, offset, scanned: found.bytes < capBytes ? scanned : offset })
}

/** The start of a line that came in several reads was not kept. Too long, it is never held. */
function takeLongLine(fd: number, { offset, after }: { offset: number; after: number }, found: Found): boolean {
  const length = after - 1 - offset
  if (length > LINE_CAP_BYTES) {
    found.skipped.push({ offset, length, reason: 'too-long' })
    found.bytes += length + 1
    return true
  }
  const bytes = readAt(fd, Buffer.allocUnsafe(length + 1), offset)
  if (bytes.indexOf(LF) !== length) return false
  takeLines(bytes, offset, found, Number.POSITIVE_INFINITY)
  return true
}

/** Less than asked for when the file ends before. */
function readAt(fd: number, buffer: Buffer, position: number): Buffer {
  let done = 0
  while (done < buffer.length) {
    const got = readSync(fd, buffer, done, buffer.length - done, position + done)
    if (got === 0) break
    done += got
  }
  return buffer.subarray(0, done)
}

/** Too much is open, or the disk or the network hesitates. */
const PASSING = ['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EAGAIN', 'ESTALE', 'ETIMEDOUT']

function refusalOf(error: unknown): Refused {
  const { code, errno } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return { changed: 'gone' }
  if (code === 'ELOOP') return { changed: 'unreadable', reason: 'it is a link; links are not followed' }
  // Not the file's fault: told as such, it would not be tried again before it changes.
  if (PASSING.includes(`${code}`)) throw error
  // A path with a NUL in it is refused before the system is asked.
  if (errno === undefined && code !== 'ERR_INVALID_ARG_VALUE') throw error
  return { changed: 'unreadable', reason: `it cannot be read (${code})` }
}
