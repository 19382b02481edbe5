/** Keeps the words of memories findable. Everything comes from the journal, which knows every file's last text without credentials. */
import type { Clock, Timer } from '../platform/clock.ts'
import { isLog } from './daily-log.ts'
import { isIndex } from './folder.ts'
import type { Journal } from './journal.ts'
import type { MemoryWords, WordChange } from './memory-words.ts'
import { parseTopic } from './topic-file.ts'

export type Searching = {
  /** Something happened to these files: their words follow in a moment, so that no write waits for them. */
  changed(dir: string, files: readonly string[]): void
  /** Files, best first. */
  search(dir: string, question: string): string[]
  /** The same by what is known of their words right now: nothing is waited for. */
  known(dir: string, question: string): string[]
  /** After a purge: nothing of what is gone stays in the index's file. */
  wipe(): void
  stop(): void
}

const MOST_HITS = 50
const FOLLOW_MS = 100

type Deps = {
  journal: Journal
  words: MemoryWords
  clock: Pick<Clock, 'after'>
  onError: (error: unknown) => void
}

export function createSearching({ journal, words, clock, onError }: Deps): Searching {
  const follow = (dir: string, files: Iterable<string>): void => {
    const changes: WordChange[] = []
    for (const file of files) {
      if (isIndex(file) || isLog(file)) continue
      const { after } = journal.latest(dir, file) ?? {}
      const { name = '', description = '', body } = parseTopic(after?.text ?? '')
      changes.push({ file, now: after && { hash: after.hash, name, description, body } })
    }
    if (changes.length > 0) words.update(dir, changes)
  }
  const refresh = (dir: string): void => {
    const indexed = words.indexed(dir)
    const present = journal.hashes(dir)
    const gone = [...indexed.keys()].filter((file) => !present.has(file))
    const other = [...present].flatMap(([file, hash]) => (indexed.get(file) === hash ? [] : [file]))
    follow(dir, [...gone, ...other])
  }
  let dirty = new Map<string, Set<string>>()
  let pending: Timer | undefined
  const followDirty = (): void => {
    const due = dirty
    dirty = new Map()
    try {
      for (const [dir, files] of due) follow(dir, files)
    } catch (error) {
      // Whatever is missing now is found out about when somebody searches.
      onError(error)
    }
  }
  return {
    changed: (dir, files) => {
      if (dirty.size === 0) pending = clock.after(FOLLOW_MS, followDirty)
      const waiting = dirty.get(dir) ?? new Set()
      for (const file of files) waiting.add(file)
      dirty.set(dir, waiting)
    },
    search: (dir, question) => {
      // The index may have been deleted or replaced since; comparing hashes is cheap, and then nothing is missed.
      refresh(dir)
      return words.search(dir, question, MOST_HITS)
    },
    known: (dir, question) => words.search(dir, question, MOST_HITS),
    wipe: words.wipe,
    stop: () => pending?.stop(),
  }
}
