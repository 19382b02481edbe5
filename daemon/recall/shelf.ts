/**
 * The memories of one directory that have been read, and those that still have to be: read in short slices, so that nobody else
 * waits for large ones or for many. What is asked for comes first. Looks for nothing by itself.
 */
import type { MemoryType, Trust } from '../../schema/memory.ts'
import type { Clock } from '../platform/clock.ts'
import { createWordIndex, type WordIndex } from './word-index.ts'

export type Stamped = { file: string; stamp: string; modifiedMs: number }
export type MemoryText = Stamped & {
  name?: string
  description?: string
  type?: MemoryType
  trust?: Trust
  text: string
  body: string
  settled: boolean
}

/** What is known of a memory without its text. */
export type Item = Omit<MemoryText, 'text' | 'body' | 'settled'>

export type Shelf = {
  index: WordIndex
  items: ReadonlyMap<string, Item>
  /** Those of them that stand in folders. */
  nested: ReadonlySet<string>
  /** To be read, these before all others. */
  first(files: Iterable<string>): void
  /** To be read when it is their turn. */
  later(file: string): void
  waits(file: string): boolean
  /** How many have to be read. */
  unread(): number
  /** Reads for a moment. */
  readSome(): void
  /** Until all is read, others get their turn meanwhile: a smaller one while somebody waits. */
  readAll(): Promise<void>
  /** Until all is read or the time has passed. */
  readFor(waitMs: number): Promise<void>
  /** Reads one now; nothing when it is gone. */
  reread(file: string): MemoryText | undefined
  drop(file: string): void
}

/** Between two slices others get their turn. */
const SLICE_MS = 10
const WAITED_FOR_SLICE_MS = 25
const SLICE_FILES = 100
/** The words of a text after so many characters are not looked at: about 50 ms of work. */
const INDEXED_CHARS = 65_536

type Deps = {
  read: (file: string) => MemoryText | undefined
  /** Of what stands there now; nothing when it is gone. */
  stamp: (file: string) => string | undefined
  clock: Pick<Clock, 'elapsed' | 'after'>
  /** There is something, and it cannot be read: perhaps a folder that is called like a memory. */
  onOdd: () => void
  onError: (error: unknown) => void
  isStopped: () => boolean
}

export function createShelf({ read, stamp, clock, onOdd, onError, isStopped }: Deps): Shelf {
  const index = createWordIndex()
  const items = new Map<string, Item>()
  const nested = new Set<string>()
  const urgent = new Set<string>()
  const waiting = new Set<string>()
  let reading: Promise<void> | undefined
  let waiters = 0

  const unread = () => urgent.size + waiting.size

  const put = ({ text: _text, body, settled, ...item }: MemoryText): void => {
    // A stamp that another change may leave as it is tells nothing yet.
    items.set(item.file, settled ? item : { ...item, stamp: '' })
    if (item.file.includes('/')) nested.add(item.file)
    const { file, name = '', description = '' } = item
    index.put({ file, name, description, body: body.length > INDEXED_CHARS ? body.slice(0, INDEXED_CHARS) : body })
  }
  const drop = (file: string): void => {
    urgent.delete(file)
    waiting.delete(file)
    items.delete(file)
    nested.delete(file)
    index.remove(file)
  }

  const take = (file: string): void => {
    const wasNamed = urgent.delete(file)
    waiting.delete(file)
    const now = wasNamed ? stamp(file) : undefined
    // Something was done to it, and it has been read since.
    if (now !== undefined && items.get(file)?.stamp === now) return
    const text = read(file)
    if (text) put(text)
    else drop(file)
    if (!text && now !== undefined) onOdd()
  }

  const readSome = (): void => {
    const endMs = clock.elapsed() + (waiters > 0 ? WAITED_FOR_SLICE_MS : SLICE_MS)
    let left = SLICE_FILES
    for (const files of [urgent, waiting])
      for (const file of files) {
        take(file)
        if (--left === 0 || clock.elapsed() >= endMs) return
      }
  }

  const readAll = (): Promise<void> => {
    reading ??= (async () => {
      while (unread() > 0 && !isStopped()) {
        readSome()
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
      .catch(onError)
      .finally(() => {
        reading = undefined
      })
    return reading
  }

  return {
    index,
    items,
    nested,
    first: (files) => {
      for (const file of files) {
        waiting.delete(file)
        urgent.add(file)
      }
    },
    later: (file) => void (urgent.has(file) || waiting.add(file)),
    waits: (file) => urgent.has(file) || waiting.has(file),
    unread,
    readSome,
    readAll,
    readFor: (waitMs) =>
      new Promise<void>((resolve) => {
        waiters++
        const timer = clock.after(waitMs, resolve)
        void readAll().finally(() => {
          timer.stop()
          resolve()
        })
      }).finally(() => {
        waiters--
      }),
    reread: (file) => {
      const text = read(file)
      if (!text) drop(file)
      else if (items.get(file)?.stamp !== text.stamp) put(text)
      return text
    },
    drop,
  }
}
