/** What people rejected for good. Values are kept as hashes: recognising one needs no copy of it. */
import type { Db } from '../db/database.ts'
import { hashOf } from '../platform/safe-folder.ts'
import { isIndex } from './file-names.ts'
import { parsePointers } from './index-file.ts'
import { shorten } from './pointer.ts'
import { parseTopic } from './topic-file.ts'

type Tombstone = { id: number; at: number; dir: string; file: string; excerpt: string }

export type Tombstones = ReturnType<typeof createTombstones>

export function createTombstones(db: Db) {
  const insert = db.prepare('INSERT INTO tombstones (at, dir, file, excerpt) VALUES (?, ?, ?, ?)')
  const insertValue = db.prepare('INSERT OR IGNORE INTO tombstone_values (dir, value, tombstone) VALUES (?, ?, ?)')
  const find = db.prepare(`SELECT t.* FROM json_each(?) d JOIN json_each(?) s
    JOIN tombstone_values v ON v.dir = d.value AND v.value = s.value JOIN tombstones t ON t.id = v.tombstone LIMIT 1`)
  const list = db.prepare('SELECT * FROM tombstones ORDER BY id DESC')
  const inDir = db.prepare('SELECT id, at, file, excerpt FROM tombstones WHERE dir = ? ORDER BY id')
  const valuesUnder = db.prepare('SELECT value FROM tombstone_values WHERE tombstone = ? ORDER BY value').pluck()
  const stamp = db.prepare(`SELECT iif(count(*) = 0, '', max(id) || ' ' || count(*)) FROM tombstones`).pluck()
  const remove = db.prepare('DELETE FROM tombstones WHERE id = ?')
  return {
    add: db.transaction(({ at, dir, file, excerpt }: Omit<Tombstone, 'id'>, values: readonly string[]) => {
      const id = Number(insert.run(at, dir, file, excerpt).lastInsertRowid)
      for (const value of values) insertValue.run(dir, value, id)
      return id
    }),
    find: (dirs: readonly string[], values: readonly string[]) =>
      find.get(JSON.stringify(dirs), JSON.stringify(values)) as Tombstone | undefined,
    list: () => list.all() as Tombstone[],
    withValues: (dir: string) =>
      (inDir.all(dir) as Tombstone[]).map(({ id, at, file, excerpt }) => {
        return { at, file, excerpt, values: valuesUnder.all(id) as string[] }
      }),
    /** Another one whenever something was rejected or lifted; empty while nothing is. */
    stamp: () => stamp.get() as string,
    lift: (id: number): boolean => remove.run(id).changes > 0,
  }
}

const EXCERPT_CHARS = 200

/** For a person, to recognise a rejection by. */
export function excerptOf(text: string): string {
  return shorten(text, EXCERPT_CHARS)
}

/** Shorter paragraphs say too little: rejecting one would reject half of everything. */
const SHORTEST_VALUE = 12

/** Formatting characters, variation selectors, and letters that show nothing, such as Hangul fillers. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu
/** These as well, most of the time: control characters, unassigned ones, and the empty Braille cell. */
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Co}\p{Cn}\u2800]|(?![\t\n\r])\p{Cc}/gu

/** Ends of lines to some programs only. */
const OTHER_BREAK = /\r(?!\n)|[\v\f\u0085\u2028\u2029]/g

export function normaliseValue(text: string): string {
  return folded(text, UNSEEN)
}

function folded(text: string, left: RegExp): string {
  return (
    text
      .normalize('NFKC')
      .replace(left, '')
      .normalize('NFKC')
      .toLowerCase()
      // ß and the final sigma have no single lower case: by way of the upper case they meet.
      .toUpperCase()
      .toLowerCase()
      .replace(/[\p{P}\p{S}\p{Z}\p{C}\s]+/gu, ' ')
      .trim()
  )
}

/** The whole text and each of its paragraphs, lines and list items, as hashes. */
export function valuesOf(...texts: string[]): string[] {
  const values = new Set<string>()
  for (const text of texts)
    for (const part of partsOf(text))
      for (const value of readingsOf(part, withoutMark)) if (value.length >= SHORTEST_VALUE) values.add(hashOf(value))
  return [...values]
}

export function wholeValue(text: string): string[] {
  return readingsOf(text, (part) => part).flatMap((value) => (value === '' ? [] : [hashOf(value)]))
}

function partsOf(text: string): string[] {
  const even = text.replace(OTHER_BREAK, '\n')
  return even === text ? splitAt(text) : [...splitAt(text), ...splitAt(even)]
}

function splitAt(text: string): string[] {
  return [text, ...text.split(/\r?\n[^\S\r\n]*\r?\n/), ...text.split(/\r?\n/)]
}

/** Some programs show a control character as nothing, some, and the tombstones of earlier versions, as a space: it is read both ways. */
function readingsOf(text: string, trimmed: (text: string) => string): string[] {
  const bare = text.replace(UNSEEN, '')
  const value = normaliseValue(trimmed(bare))
  const spaced = bare === text ? value : folded(trimmed(text), INVISIBLE)
  return spaced === value ? [value] : [value, spaced]
}

/** `- `, `3. `, `> `, `**Why:** ` and the like: the same thing said as a list item, a quote or under a label. */
function withoutMark(text: string): string {
  return text
    .replace(/^\s*(?:(?:[-*+>]|\d{1,3}[.)]|#{1,6}|\[[ xX]\])\s+)*/, '')
    .replace(/^\*\*[^*\n]{1,40}:\*\*\s*/, '')
}

export function spokenValues(file: string, text: string): string[] {
  if (isIndex(file)) return valuesOf(...parsePointers(text).flatMap(({ title, hook }) => [title, hook]))
  const { body, name = '', description = '' } = parseTopic(text)
  return [...wholeValue(body), ...valuesOf(body, name, description)]
}

/** What a rejection is about: what a memory says, not what it is called. */
export function rejectedValues(file: string, text: string): string[] {
  if (isIndex(file)) return spokenValues(file, text)
  const { body } = parseTopic(text)
  return [...wholeValue(body), ...valuesOf(body)]
}
