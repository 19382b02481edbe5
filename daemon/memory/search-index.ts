/** The words of memories in `index.db`: a full-text index that can be thrown away and made again from the journal. */
import { MemoryError } from '../../schema/errors.ts'
import { type Db, preparedIn, withoutWaiting } from '../db/database.ts'
import { MEMORY_FILES, MEMORY_WORDS } from '../db/index-schema.ts'
import type { Clock, Timer } from '../platform/clock.ts'
import { isIndex, isLog } from './file-names.ts'
import type { Journal } from './journal.ts'
import { parseTopic } from './topic-file.ts'
import { indexable, wordsQuery } from './unspaced-words.ts'

export type MemoryWords = {
  /** The files of a directory that are indexed, with the hash of what was. */
  indexed(dir: string): Map<string, string>
  /** All in one transaction. */
  update(dir: string, changes: readonly WordChange[]): void
  /** Files, best first: those that hold every word, or, if there are none, any of them. */
  search(dir: string, question: string, limit: number): string[]
  /** Begins anew, and overwrites with zeros whatever the file still holds of what is gone. */
  wipe(): void
}

const MOST_BLOB_BYTES = 64 * 1024 * 1024

export type WordChange = {
  file: string
  now: { hash: string; name: string; description: string; body: string } | undefined
}

/** What a memory is called says more about it than one word of its text. */
const SEARCH = `
  SELECT m.file FROM memory_words JOIN memories m ON m.id = memory_words.rowid
  WHERE memory_words MATCH ? AND m.dir = ? ORDER BY bm25(memory_words, 4.0, 3.0, 1.0), m.file LIMIT ?`

export function createMemoryWords(current: () => Db): MemoryWords {
  const statements = preparedIn(current, prepare)
  return {
    indexed: (dir) => {
      const rows = statements().indexed.all(dir) as { file: string; hash: string }[]
      return new Map(rows.map(({ file, hash }) => [file, hash]))
    },
    // Made from the journal, and made again from it should a power cut take it.
    update: (dir, changes) => withoutWaiting(current(), () => statements().update(dir, changes)),
    search: (dir, question, limit) => {
      const { search } = statements()
      const find = (match: 'all' | 'any') => {
        const query = wordsQuery(question, match)
        return query === undefined ? [] : (search.all(query, dir, limit) as string[])
      }
      const all = find('all')
      return all.length > 0 ? all : find('any')
    },
    wipe: () => {
      const db = current()
      // Without it a page that is used again keeps what stood in the part that is free.
      db.pragma('secure_delete = ON')
      try {
        db.transaction(() =>
          db.exec(
            `DROP TABLE memories; DROP TABLE memory_words; DROP TABLE memory_files; ${MEMORY_WORDS} ${MEMORY_FILES}`,
          ),
        )()
        zeroFreePages(db)
      } finally {
        db.pragma('secure_delete = OFF')
      }
      const [result] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]
      if (result?.busy !== 0)
        throw new MemoryError('CONFLICT', 'another program is reading index.db: words may be left in its log', {
          hint: 'end that program, then try again',
        })
    },
  }
}

/** Cheaper than VACUUM where gigabytes of transcripts are indexed in the same file: the free pages are used once, for nothing. */
function zeroFreePages(db: Db): void {
  const bytes =
    (Number(db.pragma('freelist_count', { simple: true })) + 1) * Number(db.pragma('page_size', { simple: true }))
  db.exec('CREATE TABLE zeros (bytes BLOB)')
  const fill = db.prepare('INSERT INTO zeros VALUES (zeroblob(?))')
  for (let left = bytes; left > 0; left -= MOST_BLOB_BYTES) fill.run(Math.min(left, MOST_BLOB_BYTES))
  db.exec('DROP TABLE zeros')
}

function prepare(db: Db) {
  const idOf = db.prepare('SELECT id FROM memories WHERE dir = ? AND file = ?').pluck()
  const removeWords = db.prepare('DELETE FROM memory_words WHERE rowid = ?')
  const remove = db.prepare('DELETE FROM memories WHERE id = ?')
  const insert = db.prepare('INSERT INTO memories (dir, file, hash) VALUES (?, ?, ?)')
  const insertWords = db.prepare('INSERT INTO memory_words (rowid, name, description, body) VALUES (?, ?, ?, ?)')
  return {
    indexed: db.prepare('SELECT file, hash FROM memories WHERE dir = ?'),
    search: db.prepare(SEARCH).pluck(),
    update: db.transaction((dir: string, changes: readonly WordChange[]) => {
      for (const { file, now } of changes) {
        const id = idOf.get(dir, file)
        if (id !== undefined) {
          removeWords.run(id)
          remove.run(id)
        }
        if (!now) continue
        const { lastInsertRowid } = insert.run(dir, file, now.hash)
        insertWords.run(lastInsertRowid, indexable(now.name), indexable(now.description), indexable(now.body))
      }
    }),
  }
}

/** Keeps the words of memories findable. Everything comes from the journal, which knows every file's last text without credentials. */

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
