/** Texts of messages, read from the transcripts in which they stand. Nothing that stands elsewhere, and never more than a line. */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

export type Place = { harness: string; path: string; offset: number; length: number }

/** The text of the message in a line; empty where there is nothing to find in it. */
export type TextAt = (harness: string, line: string) => string

export type ReadBack = {
  /** All at once. Nothing where the transcript is gone or was written anew and no longer has a message there. */
  read(places: readonly Place[]): Promise<(string | undefined)[]>
  close(): Promise<void>
}

/** No longer line is ever taken in. */
const LONGEST_LINE_BYTES = 64 * 1024 * 1024
const MOST_OPEN = 32
const HANDFUL = 16
const HANDFUL_BYTES = 1024 * 1024

/** For the length of one search: transcripts stay open from one message to the next. */
export function openReadBack(textAt: TextAt): ReadBack {
  const opened = new Map<string, Promise<FileHandle | undefined>>()
  const close = async () => {
    const handles = [...opened.values()]
    opened.clear()
    for (const handle of handles) await (await handle)?.close()
  }
  const readOne = async ({ harness, path, offset, length }: Place) => {
    if (length > LONGEST_LINE_BYTES) return undefined
    const handle = opened.get(path) ?? openTranscript(path)
    opened.set(path, handle)
    const line = await readExactly(await handle, offset, length)
    return line === undefined ? undefined : textAt(harness, line) || undefined
  }
  return {
    read: async (places) => {
      // Only between reads: one that is under way needs its file.
      if (opened.size >= MOST_OPEN) await close()
      return Promise.all(places.map(readOne))
    },
    close,
  }
}

/** In their order, a few at a time: many where lines are short, one where it is as long as a book. */
export function* handfuls<P extends Place>(places: readonly P[]): Generator<P[]> {
  let handful: P[] = []
  let bytes = 0
  for (const place of places) {
    if (handful.length > 0 && (handful.length >= HANDFUL || bytes + place.length > HANDFUL_BYTES)) {
      yield handful
      handful = []
      bytes = 0
    }
    handful.push(place)
    bytes += place.length
  }
  if (handful.length > 0) yield handful
}

/** Whatever stands there now must be a file: opening a pipe would wait for ever. */
async function openTranscript(path: string): Promise<FileHandle | undefined> {
  try {
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    if ((await handle.stat()).isFile()) return handle
    await handle.close()
  } catch {
    // Harnesses delete old transcripts whenever they like.
  }
  return undefined
}

async function readExactly(handle: FileHandle | undefined, offset: number, length: number) {
  if (!handle) return undefined
  try {
    const bytes = Buffer.alloc(length)
    const { bytesRead } = await handle.read(bytes, 0, length, offset)
    return bytesRead === length ? bytes.toString('utf8') : undefined
  } catch {
    return undefined
  }
}
