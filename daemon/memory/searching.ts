/** Keeps the words of memories findable. Everything comes from the journal, which knows every file's last text without credentials. */
import type { Clock, Timer } from '../platform/clock.ts'
import type { Journal } from '../store/journal.ts'
import type { MemoryWords, WordChange } from '../store/memory-words.ts'
import { isIndex } from './folder.ts'
import { parseTopic } from './topic-file.ts'

export type Searching = {
  /** Something happened to a directory: its words follow in a moment, so that no write waits for them. */
  changed(dir: string): void
  /** Files, best first. */
  search(dir: string, question: string): string[]
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
  const refresh = (dir: string): void => {
    const indexed = words.indexed(dir)
    const present = journal.hashes(dir)
    const changes: WordChange[] = []
    for (const file of indexed.keys()) if (!present.has(file)) changes.push({ file, now: undefined })
    for (const [file, hash] of present) {
      if (isIndex(file) || indexed.get(file) === hash) continue
      const { name = '', description = '', body } = parseTopic(journal.latest(dir, file)?.after?.text ?? '')
      changes.push({ file, now: { hash, name, description, body } })
    }
    if (changes.length > 0) words.update(dir, changes)
  }
  let dirty = new Set<string>()
  let pending: Timer | undefined
  const refreshDirty = (): void => {
    const dirs = dirty
    dirty = new Set()
    try {
      for (const dir of dirs) refresh(dir)
    } catch (error) {
      // Whatever is missing now is found out about when somebody searches.
      onError(error)
    }
  }
  return {
    changed: (dir) => {
      if (dirty.size === 0) pending = clock.after(FOLLOW_MS, refreshDirty)
      dirty.add(dir)
    },
    search: (dir, question) => {
      // The index may have been deleted or replaced since; comparing hashes is cheap, and then nothing is missed.
      refresh(dir)
      return words.search(dir, question, MOST_HITS)
    },
    wipe: words.wipe,
    stop: () => pending?.stop(),
  }
}
