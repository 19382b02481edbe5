/** The full-text index of memories in index.db. Made from the journal, which has the last text of each file without credentials. */
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import { type Db, emptyWal, numberIn, preparedIn, withoutWaiting } from '../db/database.ts'
import { MEMORY_FILES, MEMORY_WORDS } from '../db/index-schema.ts'
import type { Timer } from '../platform/clock.ts'
import { pairsOf, UNSPACED_SCRIPT } from '../platform/text.ts'
import { isIndex, isLog } from './file-names.ts'
import type { Journal } from './journal.ts'
import { parseTopic } from './topic-file.ts'

type WordChange = { file: string; now: { hash: string; name: string; description: string; body: string } | undefined }

const MOST_HITS = 50
/** A change is indexed after this, so that no write waits for it. */
const FOLLOW_MS = 100
const MOST_BLOB_BYTES = 64 * 1024 * 1024

export type SearchIndex = ReturnType<typeof createSearchIndex>

export function createSearchIndex({ clock, db }: Core, journal: Journal) {
  const statements = preparedIn(db.index, prepare)
  let changed = new Map<string, Set<string>>()
  let pending: Timer | undefined

  const follow = (dir: string, files: Iterable<string>): void => {
    const changes: WordChange[] = []
    for (const file of files) {
      if (isIndex(file) || isLog(file)) continue
      const { after } = journal.latest(dir, file) ?? {}
      const { name = '', description = '', body } = parseTopic(after?.text ?? '')
      changes.push({ file, now: after && { hash: after.hash, name, description, body } })
    }
    if (changes.length > 0) withoutWaiting(db.index(), () => statements().update.immediate(dir, changes))
  }
  const followChanged = (): void => {
    for (const [dir, files] of changed) follow(dir, files)
    changed = new Map()
  }
  const refresh = (dir: string): void => {
    const rows = statements().indexed.all(dir) as { file: string; hash: string }[]
    const indexed = new Map(rows.map(({ file, hash }) => [file, hash]))
    const present = journal.hashes(dir)
    const gone = [...indexed.keys()].filter((file) => !present.has(file))
    const other = [...present].flatMap(([file, hash]) => (indexed.get(file) === hash ? [] : [file]))
    follow(dir, [...gone, ...other])
  }
  const find = (dir: string, question: string): string[] => {
    const findBy = (match: 'all' | 'any') => {
      const query = wordsQuery(question, match)
      return query === undefined ? [] : (statements().search.all(query, dir, MOST_HITS) as string[])
    }
    const all = findBy('all')
    return all.length > 0 ? all : findBy('any')
  }

  return {
    changed: (dir: string, files: readonly string[]): void => {
      if (changed.size === 0) pending = clock.after(FOLLOW_MS, followChanged)
      const waiting = changed.get(dir) ?? new Set()
      for (const file of files) waiting.add(file)
      changed.set(dir, waiting)
    },
    /** Files, best first. Updates the index before: it may have been deleted or replaced. */
    search: (dir: string, question: string): string[] => {
      refresh(dir)
      return find(dir, question)
    },
    known: find,
    wipe: (): void => wipe(db.index()),
    stop: (): void => pending?.stop(),
  }
}

/** After a purge: makes the tables of memories anew, and overwrites with zeros what the file still holds of the old ones. */
function wipe(db: Db): void {
  // Without it a page that is used again keeps what stood in the part that is free.
  db.pragma('secure_delete = ON')
  try {
    const drop = 'DROP TABLE memories; DROP TABLE memory_words; DROP TABLE memory_files;'
    db.transaction(() => db.exec(`${drop} ${MEMORY_WORDS} ${MEMORY_FILES}`))()
    zeroFreePages(db)
  } finally {
    db.pragma('secure_delete = OFF')
  }
  if (emptyWal(db) === 'busy')
    throw new MemoryError('CONFLICT', 'another program is reading index.db: words may be left in its log', {
      hint: 'end that program, then try again',
    })
}

/** Cheaper than VACUUM, as gigabytes of transcripts are indexed in the same file: the free pages are filled once. */
function zeroFreePages(db: Db): void {
  const bytes = (numberIn(db, 'freelist_count') + 1) * numberIn(db, 'page_size')
  db.exec('CREATE TABLE zeros (bytes BLOB)')
  const fill = db.prepare('INSERT INTO zeros VALUES (zeroblob(?))')
  for (let left = bytes; left > 0; left -= MOST_BLOB_BYTES) fill.run(Math.min(left, MOST_BLOB_BYTES))
  db.exec('DROP TABLE zeros')
}

const SEARCH = `
  SELECT m.file FROM memory_words JOIN memories m ON m.id = memory_words.rowid
  WHERE memory_words MATCH ? AND m.dir = ? ORDER BY bm25(memory_words, 4.0, 3.0, 1.0), m.file LIMIT ?`

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

const UNSPACED = new RegExp(`[${UNSPACED_SCRIPT}]+`, 'gu')
const WORDS = /[\p{L}\p{N}_]+/gu

/** Runs of such a script become overlapping pairs, so that any two characters of it can be found. */
export function indexable(text: string): string {
  return text.normalize('NFKC').replace(UNSPACED, (run) => ` ${pairsOf(run).join(' ')} `)
}

/** Plain words: nothing in the text is an operator. Undefined when it has no word. */
export function wordsQuery(text: string, match: 'all' | 'any'): string | undefined {
  const words = [...text.normalize('NFKC').matchAll(WORDS)].flatMap(([word]) => phrases(word))
  if (words.length === 0) return undefined
  return words.map((word) => `"${word}"`).join(match === 'all' ? ' AND ' : ' OR ')
}

/** One word, or where scripts meet in it, each part; a run of pairs is a phrase. */
function phrases(word: string): string[] {
  const parts = word.replace(UNSPACED, (run) => ` ${pairsOf(run).join('\n')} `).split(' ')
  return parts.filter((part) => part !== '').map((part) => part.replaceAll('\n', ' '))
}
