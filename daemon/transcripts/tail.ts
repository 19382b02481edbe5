/** Reads what is new in a transcript: whole lines, a bounded slice at a time. Follows no link and waits for no pipe. */
import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { BigIntStats, Stats } from 'node:fs'
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { setImmediate as immediate } from 'node:timers/promises'
import { MemoryError } from '../../schema/errors.ts'
import type { Clock } from '../platform/clock.ts'

export type Slice = Read | Refused

/** `rewritten`: begun anew, lines come again. `cursor`: the very one that was given when the file was not touched. */
export type Read = {
  changed: 'appended' | 'rewritten' | 'none'
  lines: Line[]
  skipped: Skipped[]
  cursor: Cursor
  more: boolean
}

/** The cursor that was given stays valid: the file may come back. */
type Refused = { changed: 'gone' } | { changed: 'unreadable' | 'unsupported'; reason: string }

export type Tail = ReturnType<typeof createTail>

const OPEN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

export function openPlain(path: string): number {
  return openSync(path, OPEN)
}

export function withPlain<T>(path: string, use: (fd: number) => T): T {
  const fd = openPlain(path)
  try {
    return use(fd)
  } finally {
    closeSync(fd)
  }
}

/** `undefined` where no plain file stands, or none any more: any other error says nothing about what stands there. */
export function unlessGone<T>(path: string, read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    const { code = '', errno } = error as NodeJS.ErrnoException
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO', 'ESPIPE'].includes(code)) return undefined
    if (errno === undefined) throw error
    throw new MemoryError('DEGRADED', `${path} cannot be read (${code})`, {
      hint: 'make it readable for you, or close other files; what waits for it goes on by itself',
    })
  }
}

export function lstat(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

const CHUNK_BYTES = 262_144

export function createTail(clock: Pick<Clock, 'now'>) {
  // One for all slices: fresh memory for each costs more time than reading.
  const scratch = Buffer.allocUnsafe(FINGERPRINT_BYTES + CHUNK_BYTES)
  const open = (path: string, cursor: Cursor | undefined, { capBytes }: { capBytes: number }): Slice => {
    if (path.endsWith('.zst')) return { changed: 'unsupported', reason: 'it is compressed (zstd)' }
    return withPlain(path, (fd): Slice => {
      const stats = fstatSync(fd, { bigint: true })
      if (!stats.isFile()) return { changed: 'unreadable', reason: 'it is not a plain file' }
      return readOn({ fd, scratch, look: lookOf(stats, clock.now()), capBytes }, cursor)
    })
  }
  const readSlice: typeof open = (path, cursor, { capBytes }) => {
    try {
      return open(path, cursor, { capBytes })
    } catch (error) {
      return refusalOf(error)
    }
  }
  return {
    readSlice,
    /** From the beginning to the end; other work gets its turn after each slice. */
    slices: async function* (path: string, { capBytes }: { capBytes: number }) {
      const read = (cursor?: Cursor) => unlessGone(path, () => open(path, cursor, { capBytes }))
      for (let slice = read(); slice && 'cursor' in slice; slice = slice.more ? read(slice.cursor) : undefined) {
        yield slice
        await immediate()
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
  const hasSameHead = () => matches(cursor.head, readAt(fd, Buffer.allocUnsafe(cursor.head.length), 0))
  if (known === 'same' || (known === 'unsure' && hasSameHead())) {
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

/** `astray`: the file does not hold, where reading was to go on, what was read there. */
type Advance = { place: Place; found: Found; end: 'all' | 'more' | 'astray' }

function advance({ fd, scratch, look: { sizeBytes }, capBytes }: Opened, from: Place): Advance {
  const found: Found = { lines: [], skipped: [], bytes: 0 }
  const chunkBytes = Math.min(CHUNK_BYTES, Math.max(capBytes, FINGERPRINT_BYTES))
  let place = from
  do {
    const lengthBytes = Math.min(chunkBytes, sizeBytes - place.scanned)
    const next = step(fd, place, scratch.subarray(0, place.tail.length + lengthBytes), found, capBytes)
    // Changed after a few steps: what they found was there, and the next slice begins anew.
    if (!next) return { place, found, end: place === from ? 'astray' : 'more' }
    const stuck = next.scanned === place.scanned
    place = next
    // Shorter than its size. A file that always lies about its size must not keep the caller busy.
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

function readAt(fd: number, buffer: Buffer, position: number): Buffer {
  let done = 0
  while (done < buffer.length) {
    const got = readSync(fd, buffer, done, buffer.length - done, position + done)
    if (got === 0) break
    done += got
  }
  return buffer.subarray(0, done)
}

const PASSING = ['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EAGAIN', 'ESTALE', 'ETIMEDOUT']

function refusalOf(error: unknown): Refused {
  const { code, errno } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return { changed: 'gone' }
  if (code === 'ELOOP') return { changed: 'unreadable', reason: 'it is a link; links are not followed' }
  // Not a property of the file: reported as one, the file would not be tried again before it changes.
  if (PASSING.includes(`${code}`)) throw error
  // A path with a NUL in it is refused before the system is asked.
  if (errno === undefined && code !== 'ERR_INVALID_ARG_VALUE') throw error
  return { changed: 'unreadable', reason: `it cannot be read (${code})` }
}

export type Place = {
  /** Every whole line before this byte was delivered. */
  offset: number
  /** No line ends between `offset` and this byte: a torn line is not searched again from its start. */
  scanned: number
  head: Fingerprint
  tail: Fingerprint
}

/** Device and inode are text: on some file systems they do not fit into a number. */
type Identity = { device: string; inode: string; sizeBytes: number }

export type Cursor = Place &
  Identity & {
    /** Grows whenever the file turned out to be another one, or rewritten, and was begun anew. */
    generation: number
    /** Times of the last change; none while they are too fresh to tell the next change. */
    stamp: string | null
  }

export type Look = Identity & { stamp: string; settled: 'yes' | 'not-yet' }

/** One tick of the coarsest file system: a second change within it leaves the same times. */
const SETTLED_MS = 2_000

const EMPTY: Fingerprint = { length: 0, hash: '' }
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

/** `unsure`: the fingerprints decide. Network and layered file systems get another device number with every mount. */
export function compare(cursor: Cursor, look: Look): 'same' | 'unsure' | 'other' {
  if (cursor.inode !== look.inode || cursor.scanned > look.sizeBytes) return 'other'
  if (cursor.device !== look.device) return 'unsure'
  return cursor.stamp === look.stamp && cursor.sizeBytes === look.sizeBytes ? 'same' : 'unsure'
}

function cursorAt(place: Place, look: Look, generation: number): Cursor {
  const { device, inode, sizeBytes, stamp, settled } = look
  return { ...place, generation, device, inode, sizeBytes, stamp: settled === 'yes' ? stamp : null }
}

/** Fingerprints are made of the bytes that were read: a second read could see others. */
function placeAfter(
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

/** Of the head of a file, and of what was read last: whether it still holds the same bytes. Stored with the cursor. */
type Fingerprint = { length: number; hash: string }

const FINGERPRINT_BYTES = 4_096

export function fingerprintOf(bytes: Uint8Array): Fingerprint {
  return bytes.length === 0 ? EMPTY : { length: bytes.length, hash: hash('sha256', bytes, 'hex').slice(0, 32) }
}

export function matches(expected: Fingerprint, bytes: Uint8Array): boolean {
  return bytes.length === expected.length && fingerprintOf(bytes).hash === expected.hash
}

/** `offset` and `length` in bytes: reading that part of the file again gives `text`. */
export type Line = { offset: number; length: number; text: string }

export type Skipped = { offset: number; length: number; reason: 'too-long' | 'not-utf8' | 'nul' }

export type Found = { lines: Line[]; skipped: Skipped[]; bytes: number }

const LINE_CAP_BYTES = 64_000_000

export const LF = 0x0a
const CR = 0x0d

const MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** Adds the lines of `bytes`, which begin at `at` in the file, up to `capBytes`. Returns the place after the last. */
export function takeLines(bytes: Buffer, at: number, found: Found, capBytes: number): number {
  const whole = bytes.subarray(0, bytes.lastIndexOf(LF) + 1)
  let next = 0
  for (let from = 0; from < whole.length && found.bytes < capBytes; from = next) {
    next = whole.indexOf(LF, from) + 1
    found.bytes += next - from
    const begin = at + from === 0 && whole.subarray(0, MARK.length).equals(MARK) ? MARK.length : from
    const end = next - 2 >= begin && whole[next - 2] === CR ? next - 2 : next - 1
    if (end <= begin) continue
    const line = whole.subarray(begin, end)
    const place = { offset: at + begin, length: line.length }
    if (line.includes(0)) found.skipped.push({ ...place, reason: 'nul' })
    else if (!isUtf8(line)) found.skipped.push({ ...place, reason: 'not-utf8' })
    else found.lines.push({ ...place, text: line.toString('utf8') })
  }
  return at + next
}

const MOST_BYTES = 1_000_000

export function readSmall(path: string): string {
  const read = (fd: number) => {
    const stats = fstatSync(fd)
    return stats.isFile() && stats.size <= MOST_BYTES ? readFileSync(fd, 'utf8') : ''
  }
  return unlessGone(path, () => withPlain(path, read)) ?? ''
}
