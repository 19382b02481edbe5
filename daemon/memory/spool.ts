/**
 * What an import brought, on disk until all of it has come and is in order: a file of its own that goes with the import,
 * or is swept away at the next start. Takes a journal of any size with little memory.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { ChangeLine, TombstoneLine } from '../../schema/transfer.ts'

export type Spool = {
  addFile(file: string, bytes: Buffer): 'first' | 'again'
  addText(key: string, text: string): 'first' | 'again'
  addChange(change: ChangeLine, line: number): void
  addTombstone(tombstone: TombstoneLine): void
  /** The line of a change that needs a text which never came. */
  lineWithoutText(): number | undefined
  files(): string[]
  bytesOf(file: string): Buffer
  /** Files of which there is only a history: the last thing that happened to them is that they went. */
  gone(): Iterable<string>
  /** Histories that are wanted from now on, and no others: of which files, and under the names they will have. */
  want(files: Iterable<{ file: string; as: string }>): void
  /** A text or change that is wanted and was not cleaned yet. */
  uncleanText(): { key: string; text: string } | undefined
  uncleanChange(): { line: number; change: ChangeLine } | undefined
  uncleanTombstone(): { id: number; tombstone: TombstoneLine } | undefined
  cleanText(key: string, text: string): void
  cleanChange(line: number, change: ChangeLine): void
  cleanTombstone(id: number, tombstone: TombstoneLine): void
  /** In the order they came. */
  wanted(): Iterable<{ file: string; as: string; change: ChangeLine }>
  textOf(key: string): string | undefined
  tombstones(): Iterable<TombstoneLine>
  close(): void
}

const PAGE_FILES = 500

/** `state`: 0 as it came, 1 wanted, 2 cleaned. */
const TABLES = `
  CREATE TABLE files (file TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
  CREATE TABLE texts (key TEXT PRIMARY KEY, text TEXT NOT NULL, state INTEGER NOT NULL DEFAULT 0) STRICT;
  CREATE INDEX texts_to_clean ON texts (key) WHERE state = 1;
  CREATE TABLE changes (
    line INTEGER PRIMARY KEY, file TEXT NOT NULL, gone INTEGER, json TEXT NOT NULL, state INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX changes_by_file ON changes (file, line);
  CREATE INDEX changes_to_clean ON changes (line) WHERE state = 1;
  CREATE TABLE needs (
    line INTEGER NOT NULL, file TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (line, file, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE wants (file TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT;
  CREATE TABLE tombstones (id INTEGER PRIMARY KEY, json TEXT NOT NULL, state INTEGER NOT NULL DEFAULT 1) STRICT;
  CREATE INDEX tombstones_to_clean ON tombstones (id) WHERE state = 1;
`

export function openSpool(stateDir: string): Spool {
  const path = join(stateDir, `import-${randomBytes(6).toString('hex')}.tmp`)
  closeSync(openSync(path, 'wx', 0o600))
  const db = new Database(path)
  const close = () => {
    db.close()
    rmSync(path, { force: true })
  }
  try {
    // Nobody looks at it after a crash, so nothing is done to survive one: nothing is ever committed.
    for (const pragma of ['journal_mode = OFF', 'synchronous = OFF', 'locking_mode = EXCLUSIVE']) db.pragma(pragma)
    db.exec(`BEGIN; ${TABLES}`)
  } catch (error) {
    close()
    throw error
  }
  const addFile = db.prepare('INSERT OR IGNORE INTO files (file, bytes) VALUES (?, ?)')
  const addText = db.prepare('INSERT OR IGNORE INTO texts (key, text) VALUES (?, ?)')
  const addChange = db.prepare('INSERT INTO changes (line, file, gone, json) VALUES (?, ?, ?, ?)')
  const addNeed = db.prepare('INSERT OR IGNORE INTO needs (line, file, key) VALUES (?, ?, ?)')
  const addTombstone = db.prepare('INSERT INTO tombstones (json) VALUES (?)')
  const lacking = db.prepare('SELECT min(line) FROM needs WHERE key NOT IN (SELECT key FROM texts)').pluck()
  const files = db.prepare('SELECT file FROM files ORDER BY file').pluck()
  const bytes = db.prepare('SELECT bytes FROM files WHERE file = ?').pluck()
  const gone = db
    .prepare(
      `SELECT file FROM (SELECT file, gone, max(line) FROM changes WHERE gone IS NOT NULL AND file > ? GROUP BY file)
       WHERE gone = 1 AND file NOT IN (SELECT file FROM files) ORDER BY file LIMIT ${PAGE_FILES}`,
    )
    .pluck()
  const wantNothing = db.prepare('DELETE FROM wants')
  const want = db.prepare('INSERT OR REPLACE INTO wants (file, name) VALUES (?, ?)')
  const wantChanges = db.prepare('UPDATE changes SET state = 1 WHERE file = ? AND state = 0')
  // The part of a change that is about an index is wanted where that index is.
  const wantTexts = db.prepare(`UPDATE texts SET state = 1 WHERE state = 0 AND key IN (
    SELECT key FROM needs n JOIN changes c ON c.line = n.line
    WHERE c.file IN (SELECT file FROM wants) AND n.file IN (SELECT file FROM wants))`)
  const uncleanText = db.prepare('SELECT key, text FROM texts WHERE state = 1 LIMIT 1')
  const uncleanChange = db.prepare('SELECT line, json FROM changes WHERE state = 1 LIMIT 1')
  const cleanText = db.prepare('UPDATE texts SET text = ?, state = 2 WHERE key = ?')
  const cleanChange = db.prepare('UPDATE changes SET json = ?, state = 2 WHERE line = ?')
  const uncleanTombstone = db.prepare('SELECT id, json FROM tombstones WHERE state = 1 LIMIT 1')
  const cleanTombstone = db.prepare('UPDATE tombstones SET json = ?, state = 2 WHERE id = ?')
  const wanted = db.prepare(
    'SELECT w.file, w.name, c.json FROM changes c JOIN wants w ON w.file = c.file WHERE c.state = 2 ORDER BY c.line',
  )
  const text = db.prepare('SELECT text FROM texts WHERE key = ? AND state = 2').pluck()
  const tombstones = db.prepare('SELECT json FROM tombstones ORDER BY id').pluck()

  return {
    addFile: (file, content) => (addFile.run(file, content).changes === 1 ? 'first' : 'again'),
    addText: (key, content) => (addText.run(key, content).changes === 1 ? 'first' : 'again'),
    addChange: (change, line) => {
      const isGone = change.op === 'refused' ? null : change.after === null ? 1 : 0
      addChange.run(line, change.file, isGone, JSON.stringify(change))
      for (const { file, before, after } of [change, ...change.parts])
        for (const version of [before, after]) if (version?.text != null) addNeed.run(line, file, version.text)
    },
    addTombstone: (tombstone) => void addTombstone.run(JSON.stringify(tombstone)),
    lineWithoutText: () => (lacking.get() as number | null) ?? undefined,
    files: () => files.all() as string[],
    bytesOf: (file) => bytes.get(file) as Buffer,
    gone: function* () {
      for (let after = ''; ; ) {
        const page = gone.all(after) as string[]
        yield* page
        if (page.length < PAGE_FILES) return
        after = page.at(-1) ?? ''
      }
    },
    want: (wishes) => {
      wantNothing.run()
      for (const { file, as } of wishes) {
        want.run(file, as)
        wantChanges.run(file)
      }
      wantTexts.run()
    },
    uncleanText: () => uncleanText.get() as { key: string; text: string } | undefined,
    uncleanChange: () => {
      const row = uncleanChange.get() as { line: number; json: string } | undefined
      return row && { line: row.line, change: JSON.parse(row.json) }
    },
    uncleanTombstone: () => {
      const row = uncleanTombstone.get() as { id: number; json: string } | undefined
      return row && { id: row.id, tombstone: JSON.parse(row.json) }
    },
    cleanText: (key, content) => void cleanText.run(content, key),
    cleanChange: (line, change) => void cleanChange.run(JSON.stringify(change), line),
    cleanTombstone: (id, tombstone) => void cleanTombstone.run(JSON.stringify(tombstone), id),
    wanted: function* () {
      for (const { file, name, json } of wanted.iterate() as Iterable<{ file: string; name: string; json: string }>)
        yield { file, as: name, change: JSON.parse(json) }
    },
    textOf: (key) => text.get(key) as string | undefined,
    tombstones: function* () {
      for (const json of tombstones.iterate() as Iterable<string>) yield JSON.parse(json)
    },
    close,
  }
}
