/** Texts of messages, read from the transcripts in which they stand. Nothing that stands elsewhere, and never more than a line. */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

export type Place = { harness: string; path: string; offset: number; length: number }

/** The text of the message in a line; empty where there is nothing to find in it. */
export type TextAt = (harness: string, line: string) => string

export type ReadBack = {
  /** Nothing when the transcript is gone or was written anew and no longer has a message there. */
  read(place: Place): Promise<string | undefined>
  close(): Promise<void>
}

/** No longer line is ever taken in. */
const LONGEST_LINE_BYTES = 64 * 1024 * 1024
const MOST_OPEN = 32

/** For the length of one search: transcripts stay open from one message to the next. */
export function openReadBack(textAt: TextAt): ReadBack {
  const open = new Map<string, FileHandle | undefined>()
  const close = async () => {
    const handles = [...open.values()]
    open.clear()
    for (const handle of handles) await handle?.close()
  }
  return {
    read: async ({ harness, path, offset, length }) => {
      if (length > LONGEST_LINE_BYTES) return undefined
      if (!open.has(path)) {
        if (open.size >= MOST_OPEN) await close()
        open.set(path, await openTranscript(path))
      }
      const line = await readExactly(open.get(path), offset, length)
      return line === undefined ? undefined : textAt(harness, line) || undefined
    },
    close,
  }
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
