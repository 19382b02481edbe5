/** One transcript and a reader of it, whose cursor goes through JSON after every slice as it would through a database. */
import { join } from 'node:path'
import { type Cursor, createTail, type Line, type Skipped, type Slice } from '../../daemon/transcripts/tail.ts'
import { makeHome } from '../support/home.ts'

export type Fixture = {
  path: string
  /** One slice. */
  read(options?: { capBytes: number }): Slice
  /** Slices until there is no more; all that they found. */
  readAll(options?: { capBytes: number }): { lines: Line[]; skipped: Skipped[]; slices: number }
  texts(): string[]
  cursor(): Cursor
  setCursor(change: Partial<Cursor>): void
}

export const AMPLE = { capBytes: 1_000_000 }

/** `now`: what the clock says; it is asked after the file was looked at and before it is read. */
export function openFixture({ now = Date.now }: { now?: () => number } = {}): Fixture {
  const path = join(makeHome().dir, 'session.jsonl')
  const tail = createTail({ now })
  let cursor: Cursor | undefined
  const read: Fixture['read'] = (options = AMPLE) => {
    const slice = tail.readSlice(path, cursor, options)
    if ('cursor' in slice) cursor = JSON.parse(JSON.stringify(slice.cursor))
    return slice
  }
  const readAll: Fixture['readAll'] = (options) => {
    const all = { lines: [] as Line[], skipped: [] as Skipped[], slices: 0 }
    for (let more = true; more; all.slices++) {
      const slice = read(options)
      if (!('cursor' in slice)) throw new Error(`${slice.changed}`)
      all.lines.push(...slice.lines)
      all.skipped.push(...slice.skipped)
      more = slice.more
    }
    return all
  }
  return {
    path,
    read,
    readAll,
    texts: () => readAll().lines.map(({ text }) => text),
    cursor: () => cursor as Cursor,
    setCursor: (change) => {
      cursor = { ...(cursor as Cursor), ...change }
    },
  }
}

/** Long after the last change: a clock that makes the times of a file tell the next one. */
export function muchLater(): number {
  return Date.now() + 60_000
}
