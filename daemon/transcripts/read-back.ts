/** Lines of files, read back from the places where they are known to stand. Nothing that stands elsewhere, and never more than a line. */
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'

export type Place = { harness: string; path: string; offset: number; length: number }

/** What is wanted of a line, if it is in it. */
export type At<T> = (harness: string, line: string) => T | undefined

export type ReadBack<T> = {
  /** All at once. Nothing where the file is gone or was written anew and no longer has it there. */
  read(places: readonly Place[]): Promise<(T | undefined)[]>
  close(): void
}

/** No longer line is ever taken in. */
const LONGEST_LINE_BYTES = 64 * 1024 * 1024
const MOST_OPEN = 32
const SCRATCH_BYTES = 65_536
const HANDFUL = 16
const HANDFUL_BYTES = 1024 * 1024

/** Where lines lie until they are texts, for one who reads again and again: to get it each time takes as long as to read some. */
export function createLineRoom(): Buffer {
  return Buffer.allocUnsafe(SCRATCH_BYTES)
}

/**
 * For the length of one search: files stay open from one message to the next. Read without a thread, which would take
 * ten times as long as the reading of a line; between handfuls, not before the first, others get their turn.
 */
export function openReadBack<T>(at: At<T>, room: Buffer = createLineRoom()): ReadBack<T> {
  // A longer line gets more of it, which stays until all is read: memory outside of the heap is collected late.
  let scratch = room
  const opened = new Map<string, number | undefined>()
  let reads = 0
  const close = () => {
    for (const fd of opened.values()) if (fd !== undefined) closeSync(fd)
    opened.clear()
  }
  const readOne = ({ harness, path, offset, length }: Place): T | undefined => {
    if (length > LONGEST_LINE_BYTES) return undefined
    if (!opened.has(path)) {
      if (opened.size >= MOST_OPEN) close()
      opened.set(path, openPlain(path))
    }
    const fd = opened.get(path)
    if (fd === undefined) return undefined
    if (length > scratch.length) scratch = Buffer.allocUnsafe(length)
    const line = readExactly(fd, scratch, offset, length)
    return line === undefined ? undefined : at(harness, line)
  }
  return {
    read: async (places) => {
      if (reads++ > 0) await turn()
      return places.map(readOne)
    },
    close,
  }
}

/** In their order, a few at a time: many where lines are short, one where it is as long as a book. */
export function* handfuls<P extends Place>(places: readonly P[], most: number = HANDFUL): Generator<P[]> {
  let handful: P[] = []
  let bytes = 0
  for (const place of places) {
    if (handful.length > 0 && (handful.length >= most || bytes + place.length > HANDFUL_BYTES)) {
      yield handful
      handful = []
      bytes = 0
    }
    handful.push(place)
    bytes += place.length
  }
  if (handful.length > 0) yield handful
}

/** Harnesses delete old transcripts whenever they like. Opening a pipe that stands there now does not wait, and no link is followed. */
function openPlain(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  } catch {
    return undefined
  }
}

/** Of what is no file nothing can be read at a place. */
function readExactly(fd: number, into: Buffer, offset: number, length: number): string | undefined {
  try {
    return readSync(fd, into, 0, length, offset) === length ? into.toString('utf8', 0, length) : undefined
  } catch {
    return undefined
  }
}
