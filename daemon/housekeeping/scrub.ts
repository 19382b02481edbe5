/** Takes everything that is said of one memory out of history.db, and tells what copies of it are searched for. */
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { holdsBytes, isUsable } from '../db/backup.ts'
import { closing, type Db, hasTable, openForReading } from '../db/database.ts'
import { INDEXES, indexOf, nameInIndex } from '../memory/file-names.ts'
import { type LineChange, linesOf, withoutPointer } from '../memory/index-file.ts'
import { dropOrphans, type Evidence, type Lines, MOST_DEPTH } from '../memory/journal.ts'
import { hashOf } from '../platform/safe-folder.ts'

export type Purge = {
  id: number
  at: number
  dir: string
  file: string
  /** The change that deleted the memory: what came later under its name is another one. */
  change: number
}

type Name = { dir: string; file: string }

export type Traces = {
  own: number[]
  /** With those of others that have its texts. */
  touched: number[]
  keys: string[]
  /** Names under which it stood somewhere, its own first. */
  names: Name[]
  /** Those of them under which nothing else was ever kept. */
  goingNames: Name[]
  phrases: string[]
}

const WORD = 'purged'
/** Stands wherever a text could not be kept: others refer to it. */
const EMPTY = hashOf('')

const OWN = 'dir = @dir AND file = @file AND (id <= @change OR at <= @at)'

/** Before the history is scrubbed: little is left of them then. */
export function findTraces(db: Db, { dir, file, change, at }: Purge): Traces {
  const own = db.prepare(`SELECT id FROM changes WHERE ${OWN}`).pluck().all({ dir, file, change, at }) as number[]
  const lists = { own: JSON.stringify(own) }
  const held = db
    .prepare(
      `SELECT before_key FROM changes WHERE id IN ${listed('own')} AND before_key IS NOT NULL
       UNION SELECT after_key FROM changes WHERE id IN ${listed('own')} AND after_key IS NOT NULL`,
    )
    .pluck()
    .all(lists) as string[]
  const keys = held.filter((key) => key !== EMPTY)
  // With their parts, which have the same reason.
  const touched = db
    .prepare(
      `WITH whole AS (SELECT id FROM changes WHERE id IN ${listed('own')} OR before_key IN ${listed('keys')}
         OR after_key IN ${listed('keys')})
       SELECT id FROM whole UNION SELECT id FROM changes WHERE part_of IN (SELECT id FROM whole)`,
    )
    .pluck()
    .all({ ...lists, keys: JSON.stringify(keys) }) as number[]
  const others = otherNames(db, { dir, file }, touched, [...keys, EMPTY])
  const going = others.filter((name) => name.isSpent && !isThere(name))
  return {
    ...{ own, touched, keys },
    names: [{ dir, file }, ...others],
    goingNames: [{ dir, file }, ...going],
    phrases: phrasesIn(db, touched, keys),
  }
}

/** Other names the same texts were kept under: before a rename, in an old directory, in a shared one. */
function otherNames(db: Db, own: Name, touched: number[], silent: string[]): (Name & { isSpent: boolean })[] {
  const names = db
    .prepare(
      `SELECT DISTINCT dir, file FROM changes WHERE id IN ${listed('touched')} AND op <> 'refused'
         AND file NOT IN ${listed('indexes')}`,
    )
    .all({ touched: JSON.stringify(touched), indexes: JSON.stringify(INDEXES) }) as Name[]
  const holdsOther = db.prepare(
    `SELECT 1 FROM changes WHERE dir = @dir AND file = @file
       AND (before_key NOT IN ${listed('silent')} OR after_key NOT IN ${listed('silent')}) LIMIT 1`,
  )
  return names
    .filter(({ dir, file }) => dir !== own.dir || file !== own.file)
    .map((name) => ({ ...name, isSpent: holdsOther.get({ ...name, silent: JSON.stringify(silent) }) === undefined }))
}

/** What cannot be looked at may well be there. */
function isThere({ dir, file }: Name): boolean {
  try {
    return lstatSync(join(dir, file), { throwIfNoEntry: false }) !== undefined
  } catch {
    return true
  }
}

function phrasesIn(db: Db, touched: number[], keys: string[]): string[] {
  const lists = { keys: JSON.stringify(keys), touched: JSON.stringify(touched) }
  const texts = (sql: string) => db.prepare(sql).pluck()
  const contents = texts(`SELECT text FROM contents WHERE key IN ${listed('keys')}`).all(lists) as string[]
  const evidence = texts(`SELECT evidence FROM changes WHERE id IN ${listed('touched')}`).all(lists) as string[]
  const excerpts = evidence.flatMap((json) => evidenceIn(json).map(({ excerpt }) => excerpt))
  const staying = texts(`SELECT text FROM contents WHERE key NOT IN ${listed('keys')}`)
  return distinctPhrases([...contents, ...excerpts], staying.iterate(lists) as Iterable<string>)
}

const QUOTING: Record<string, string> = {
  changes: 'reason, evidence',
  tombstones: 'excerpt',
  reviews: 'before_text, after_text, reason, evidence',
  mail: 'body, summary',
}
/** Phrases that are searched for in the bytes of a copy, which takes time for each. */
const MOST_IN_BYTES = 16

/** Whether a copy of the history, of any schema, holds something of the memory, or cannot be read. */
export function mayHold(file: string, traces: Traces): boolean {
  if (!isUsable(file)) return true
  if (closing(openForReading(file), (db) => mentions(db, traces))) return true
  // Rows that were deleted before the copy was made stay in its free pages.
  return holdsBytes(file, evenly(traces.phrases, MOST_IN_BYTES))
}

function mentions(db: Db, { goingNames, keys, phrases }: Traces): boolean {
  if (!hasTable(db, 'changes')) return false
  const isNamed = db.prepare('SELECT 1 FROM changes WHERE dir = ? AND file = ? LIMIT 1')
  if (goingNames.some(({ dir, file }) => isNamed.get(dir, file))) return true
  const isKept = db.prepare(`SELECT 1 FROM contents WHERE key IN ${listed('keys')} LIMIT 1`)
  if (isKept.get({ keys: JSON.stringify(keys) })) return true
  // Evidence is kept as JSON.
  const quotes = quoting([...phrases, ...phrases.map((phrase) => JSON.stringify(phrase).slice(1, -1))])
  return Object.entries(QUOTING).some(([table, columns]) => {
    if (!hasTable(db, table)) return false
    for (const row of db.prepare(`SELECT ${columns} FROM ${table}`).raw().iterate() as Iterable<(string | null)[]>)
      if (row.some(quotes)) return true
    return false
  })
}

export function scrub(db: Db, purge: Purge, traces: Traces): number {
  return db.transaction(() => {
    const quotes = quoting(traces.phrases)
    forgetReviews(db, purge, quotes)
    hideExcerpts(db, purge, traces, quotes)
    hideQuotes(db, traces, quotes)
    forgetShown(db, traces)
    hideMail(db, quotes)
    const versions = forgetContents(db, purge, traces)
    for (const { dir, file } of traces.names)
      for (const index of INDEXES) cleanIndex(db, { ...purge, dir }, index, (text) => withoutIn(index, text, file))
    // Texts that no change refers to any more: replaced index versions and withdrawn writes.
    dropOrphans(db)
    return versions
  })()
}

/** A person may point to the team's memories from their own index, too. */
function withoutIn(index: string, text: string, file: string): string {
  return withoutPointer(text, index === indexOf(file) ? nameInIndex(file) : file)
}

type Quotes = (text: string | null) => boolean

function quoting(phrases: readonly string[]): Quotes {
  return (text) => text !== null && phrases.some((phrase) => text.includes(phrase))
}

type ReviewRow = ChangeRow & { file: string; before_text: string | null; after_text: string | null }
type TombstoneRow = { id: number; dir: string; file: string; excerpt: string }
type MailRow = { id: number; body: string; summary: string | null }
type ChangeRow = { id: number; dir: string; reason: string; evidence: string }

function forgetReviews(db: Db, { dir, file }: Purge, quotes: Quotes): void {
  const remove = db.prepare('DELETE FROM reviews WHERE id = ?')
  for (const row of db.prepare('SELECT * FROM reviews').all() as ReviewRow[]) {
    const texts = [row.before_text, row.after_text]
    const points = (text: string | null) => text !== null && withoutIn(row.file, text, file) !== text
    const isAbout = row.dir === dir && (row.file === file || (INDEXES.includes(row.file) && texts.some(points)))
    if (isAbout || [...texts, row.reason, row.evidence].some(quotes)) remove.run(row.id)
  }
}

/** What was rejected stays rejected: values are recognised by their hashes. */
function hideExcerpts(db: Db, purge: Purge, { goingNames }: Traces, quotes: Quotes): void {
  const rows = db.prepare('SELECT id, dir, file, excerpt FROM tombstones').all() as TombstoneRow[]
  const update = db.prepare('UPDATE tombstones SET file = ?, excerpt = ? WHERE id = ?')
  for (const { id, dir, file, excerpt } of rows) {
    const isOwn = goingNames.some((name) => name.dir === dir && name.file === file)
    if (isOwn || quotes(excerpt)) update.run(isOwn ? nameFor(purge) : file, WORD, id)
  }
}

/** Other memories may rest on the same words of a person, or name this one in their reasons. */
function hideQuotes(db: Db, { touched, goingNames }: Traces, quotes: Quotes): void {
  const rows = db
    .prepare(`SELECT id, dir, reason, evidence FROM changes WHERE id NOT IN ${listed('touched')}`)
    .all({ touched: JSON.stringify(touched) }) as ChangeRow[]
  const update = db.prepare('UPDATE changes SET reason = ?, evidence = ? WHERE id = ?')
  for (const { id, dir, reason, evidence } of rows) {
    const isNamed = goingNames.some((name) => name.dir === dir && names(reason, name.file))
    const hidden = quotes(reason) || isNamed ? WORD : reason
    const silent = evidenceIn(evidence).map((entry) => (quotes(entry.excerpt) ? { ...entry, excerpt: '' } : entry))
    const rest = JSON.stringify(silent)
    if (rest !== evidence || hidden !== reason) update.run(hidden, rest, id)
  }
}

function forgetShown(db: Db, { names }: Traces): void {
  // Prompts show indexes.
  const prompts = db.prepare('DELETE FROM prompts WHERE dir = ?')
  // Notices name files, and not in which directory: one too many that goes says nothing wrong.
  const notices = db.prepare('DELETE FROM notices WHERE EXISTS (SELECT 1 FROM json_each(files) WHERE value = ?)')
  const recalled = db.prepare('DELETE FROM recalled WHERE dir = ? AND file = ?')
  for (const { dir, file } of names) {
    prompts.run(dir)
    notices.run(file)
    recalled.run(dir, file)
  }
  // Notes of sessions do not say of which project they are: all are made anew.
  db.exec('DELETE FROM rendered_messages; DELETE FROM renderings')
}

/** An agent that has not read it yet still learns that there was something. */
function hideMail(db: Db, quotes: Quotes): void {
  const rows = db.prepare('SELECT id, body, summary FROM mail WHERE acknowledged = 0').iterate()
  const said: number[] = []
  for (const { id, body, summary } of rows as Iterable<MailRow>) if (quotes(body) || quotes(summary)) said.push(id)
  const hide = db.prepare(`UPDATE mail SET body = '${WORD}', summary = NULL WHERE id = ?`)
  for (const id of said) hide.run(id)
}

/** That something changed stays, and when; the name, which may be made of what the memory said, goes too. */
function forgetContents(db: Db, purge: Purge, { own, touched, keys, goingNames }: Traces): number {
  const lists = { own: JSON.stringify(own), touched: JSON.stringify(touched), keys: JSON.stringify(keys) }
  const run = (sql: string) => db.prepare(sql).run({ ...lists, name: nameFor(purge) }).changes
  run(`UPDATE changes SET reason = '${WORD}', evidence = '[]' WHERE id IN ${listed('touched')}`)
  run(`UPDATE changes SET undoable = 0 WHERE id IN ${listed('own')} OR before_key IN ${listed('keys')}`)
  run(`UPDATE changes SET before_key = NULL WHERE before_key IN ${listed('keys')}`)
  run(`UPDATE changes SET after_key = NULL WHERE after_key IN ${listed('keys')}`)
  run(`UPDATE changes SET file = @name WHERE id IN ${listed('own')}`)
  for (const name of goingNames.slice(1)) giveUpName(db, name, nameFor(purge))
  return run(`DELETE FROM contents WHERE key IN ${listed('keys')}`)
}

/** No look at the directory would find that the file of the new name is gone: it is on record as gone. */
function giveUpName(db: Db, { dir, file }: Name, name: string): void {
  db.prepare(`UPDATE changes SET after_hash = NULL WHERE id = (SELECT max(id) FROM changes
    WHERE dir = @dir AND file = @file AND op <> 'refused')`).run({ dir, file })
  db.prepare('UPDATE changes SET file = @name WHERE dir = @dir AND file = @file').run({ dir, file, name })
}

/** The cleaned text takes the place of every version of the index that had title and hook of the memory. */
function cleanIndex(db: Db, { dir, change, at }: Purge, file: string, without: (text: string) => string): void {
  cleanLines(db, { dir, change, at }, file, (line) => without(line) !== line)
  const versions = db
    .prepare(
      `SELECT key, text FROM contents WHERE key IN (SELECT before_key FROM changes WHERE ${OWN}
         UNION SELECT after_key FROM changes WHERE ${OWN})`,
    )
    .all({ dir, file, change, at }) as { key: string; text: string }[]
  const insert = db.prepare('INSERT OR IGNORE INTO contents (key, text) VALUES (?, ?)')
  const before = db.prepare('UPDATE changes SET before_key = ?, undoable = 0 WHERE before_key = ?')
  const after = db.prepare('UPDATE changes SET after_key = ? WHERE after_key = ?')
  for (const { key, text } of versions) {
    const rest = without(text)
    if (rest === text) continue
    insert.run(hashOf(rest), rest)
    before.run(hashOf(rest), key)
    after.run(hashOf(rest), key)
  }
}

type LinesRow = { id: number; follows: number | null; lines: string | null; before: string | null; isOwn: number }

/** Where a text is kept as changed lines, those that go are left out of them, and the places of the others follow. */
function cleanLines(db: Db, of: Pick<Purge, 'dir' | 'change' | 'at'>, file: string, goes: (line: string) => boolean) {
  const rows = db.prepare(`SELECT c.id, follows, lines, b.text AS before, (id <= @change OR at <= @at) AS isOwn
    FROM changes c LEFT JOIN contents b ON b.key = before_key
    WHERE dir = @dir AND file = @file AND (lines IS NOT NULL OR follows IS NOT NULL) ORDER BY id`)
  const whole = db
    .prepare(`SELECT text FROM changes JOIN contents ON key = after_key WHERE id = @id AND ${OWN}`)
    .pluck()
  const update = db.prepare('UPDATE changes SET lines = ?, undoable = min(undoable, ?) WHERE id = ?')
  /** Places of lines that go, after each change. */
  const known = new Map<number, number[]>()
  const placesIn = (text: unknown) => linesOf(String(text ?? '')).flatMap((line, n) => (goes(line) ? [n] : []))
  for (const { id, follows, lines, before, isOwn } of rows.all({ ...of, file }) as LinesRow[]) {
    const places =
      follows === null
        ? placesIn(isOwn && before)
        : (known.get(follows) ?? placesIn(whole.get({ ...of, file, id: follows })))
    const { depth, changes } = JSON.parse(lines ?? '{"depth":0,"changes":[]}') as Lines
    const between = (from: number, to: number) => places.filter((place) => place >= from && place < to).length
    const grown = (some: LineChange[]) => some.reduce((sum, [, gone, come]) => sum + come.length - gone, 0)
    const clean = changes.map(([at, gone, come]): LineChange => {
      return [at - between(0, at), gone - between(at, at + gone), come.filter((line) => !isOwn || !goes(line))]
    })
    const after = [
      ...places
        .filter((place) => !changes.some(([at, gone]) => place >= at && place < at + gone))
        .map((place) => place + grown(changes.filter(([at, gone]) => at + gone <= place))),
      ...changes.flatMap(([at, , come], n) => {
        return come.flatMap((line, m) => (isOwn && goes(line) ? [at + grown(changes.slice(0, n)) + m] : []))
      }),
    ]
    if (lines !== null) known.set(id, after)
    if (places.length === 0 && after.length === 0) continue
    // Its text is no longer that of the file: the next change does not build on it.
    const kept: Lines = { depth: after.length > 0 ? MOST_DEPTH : depth, changes: clean }
    update.run(lines && JSON.stringify(kept), places.length > 0 ? 0 : 1, id)
  }
}

function listed(name: string): string {
  return `(SELECT value FROM json_each(@${name}))`
}

/** No memory can have this name. */
function nameFor({ change }: Purge): string {
  return `purged-${change}`
}

function evidenceIn(json: string): Evidence[] {
  return JSON.parse(json) as Evidence[]
}

/** `a.md` is not named by `data.md`. */
function names(text: string, file: string): boolean {
  for (let at = text.indexOf(file); at !== -1; at = text.indexOf(file, at + 1))
    if (!/[\w./-]/.test(text[at - 1] ?? ' ')) return true
  return false
}

/** Shorter ones stand everywhere. */
const SHORTEST_CHARS = 12
/** SQLite parts a long text over pages: some pieces of it stand within one. */
const PIECE_CHARS = 40
const MOST_PHRASES = 300

/** `- `, `3. `, `> `, `**Why:** `, `description: "`: a phrase is what stands behind it. */
const MARK = /^\s*(?:(?:[-*+>]|\d{1,3}[.)]|#{1,6})\s+)*(?:\*\*[^*]{1,40}:\*\*\s*|[a-z][\w-]{0,40}:\s+["']?)?/i

export function phrasesOf(text: string): string[] {
  const lines = text.split(/\r?\n/).map((line) => line.replace(MARK, '').replace(/["']?\s*$/, ''))
  const phrases = lines.flatMap(pieces).filter((piece) => piece.length >= SHORTEST_CHARS)
  return phrases.length > 0 || text.trim() === '' ? phrases : [text]
}

/** A line that stays elsewhere gives nothing away. */
export function distinctPhrases(going: Iterable<string>, staying: Iterable<string>): string[] {
  const phrases = new Set([...going].flatMap(phrasesOf))
  for (const text of staying) for (const phrase of phrasesOf(text)) phrases.delete(phrase)
  return evenly([...phrases], MOST_PHRASES)
}

function evenly<T>(items: readonly T[], most: number): T[] {
  const step = Math.max(1, items.length / most)
  return items.filter((_item, n) => Math.floor(n / step) !== Math.floor((n - 1) / step))
}

function pieces(line: string): string[] {
  const chars = [...line]
  const starts = Array.from({ length: Math.ceil(chars.length / PIECE_CHARS) }, (_, n) => n * PIECE_CHARS)
  return starts.map((start) => chars.slice(start, start + PIECE_CHARS).join(''))
}
