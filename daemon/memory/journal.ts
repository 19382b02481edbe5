/** The journal of changes to memories, appended to. Only withdrawn changes, `housekeeping/scrub.ts` and `move.ts` rewrite it. */
import { randomBytes } from 'node:crypto'
import { type Db, withoutWaiting } from '../db/database.ts'
import { hashOf } from '../platform/safe-folder.ts'
import { INDEXES, isIndex } from './file-names.ts'
import { applyLines, type LineChange, lineChanges, linesOf } from './index-file.ts'

export type Op = 'create' | 'update' | 'delete' | 'undo' | 'refused'

export type Evidence = { sessionId: string; messageIds: string[]; excerpt: string; at: string }

/** One state of a file: the hash of its bytes, and its text without credentials, or nothing once it was purged. */
export type Version = {
  hash: string
  readonly text: string | undefined
  /** The text is put together from changed lines when it is asked for. */
  inLines?: true
}

/** What an index gained and lost. `depth`: how many changes lie between it and a text that is kept whole. */
export type Lines = { depth: number; changes: LineChange[] }

/** Then it is kept whole once more: a text is put together from so many changes at most, and a whole one costs each a thousandth. */
export const MOST_DEPTH = 1_024

/** Whether the text gives the bytes back: no credential was taken out of it, and it was not purged. */
export function isExact(version: Version | undefined): boolean {
  return !version || (version.text !== undefined && hashOf(version.text) === version.hash)
}

export type NewChange = {
  at: number
  dir: string
  file: string
  op: Op
  actor: string
  reason: string
  runId: string | undefined
  before: Version | undefined
  after: Version | undefined
  undoable: boolean
  evidence: readonly Evidence[]
  /** `nothing`: a purge of the file begins with this change. */
  leaves?: 'history' | 'nothing'
  parts?: readonly NewChange[]
}

export type Change = Omit<NewChange, 'parts' | 'leaves'> & { id: number; partOf: number | undefined }

/** The last change of a file without its texts. `exact`: the journal keeps them byte for byte. */
export type Tip = { actor: string; partOf: number | undefined; hash: string | undefined; exact: boolean }

type ChangeFilter = { dir: string; file?: string | undefined; limit: number; before?: number | undefined }

export type Journal = ReturnType<typeof createJournal>

type Row = Omit<Change, 'runId' | 'partOf' | 'before' | 'after' | 'undoable' | 'evidence'> & {
  run: string | null
  part_of: number | null
  before_hash: string | null
  before_text: string | null
  after_hash: string | null
  after_text: string | null
  undoable: number
  evidence: string
  follows: number | null
  lines: string | null
}

type TipRow = { id: number; actor: string; partOf: number | null; hash: string | null; exact: number; depth: number }

const SELECT = `
  SELECT c.id, c.at, c.dir, c.file, c.op, c.actor, c.reason, c.run, c.part_of, c.before_hash, b.text AS before_text,
         c.after_hash, a.text AS after_text, c.undoable, c.evidence, c.follows, c.lines
  FROM changes c LEFT JOIN contents b ON b.key = c.before_key LEFT JOIN contents a ON a.key = c.after_key`

const UNUSED = `NOT EXISTS (SELECT 1 FROM changes WHERE before_key = key)
  AND NOT EXISTS (SELECT 1 FROM changes WHERE after_key = key)`
const END = Number.MAX_SAFE_INTEGER

export function createJournal(db: Db) {
  const isKept = db.prepare('SELECT 1 FROM contents WHERE key = ?').pluck()
  const keep = db.prepare('INSERT INTO contents (key, text) VALUES (?, ?)')
  const insert = db.prepare(`
    INSERT INTO changes (at, dir, file, op, actor, reason, run, part_of, before_hash, before_key, after_hash, after_key,
                         undoable, evidence, follows, lines)
    VALUES (@at, @dir, @file, @op, @actor, @reason, @run, @partOf, @beforeHash, @beforeKey, @afterHash, @afterKey,
            @undoable, @evidence, @follows, @lines)`)
  const mark = db.prepare(`INSERT INTO marks (name, value) VALUES (?, ?)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE excluded.value > value`)
  const applied = db.prepare(`SELECT value FROM marks WHERE name = 'applied'`).pluck()
  const noted = db.prepare(`SELECT value FROM marks WHERE name LIKE 'open %'`).pluck()
  const unnote = db.prepare(`DELETE FROM marks WHERE name LIKE 'open %'`)
  const note = db.prepare(`INSERT INTO marks (name, value) VALUES ('open ' || @id, @id)`)
  const searchedBefore = db.prepare('SELECT value FROM marks WHERE name = ?').pluck()
  const forgetSearched = db.prepare(`DELETE FROM marks WHERE name LIKE 'searched %'`)
  const byId = db.prepare(`${SELECT} WHERE c.id = ?`)
  const byWhole = db.prepare(`${SELECT} WHERE c.part_of = ? ORDER BY c.id`)
  const byRun = db.prepare(`${SELECT} WHERE c.run = ? ORDER BY c.id`)
  const newest = db.prepare(`${SELECT} WHERE c.dir = ? AND c.part_of IS NULL AND c.id < ? ORDER BY c.id DESC LIMIT ?`)
  const newestOfFile = db.prepare(`${SELECT} WHERE c.dir = ? AND c.file = ? AND c.id < ? ORDER BY c.id DESC LIMIT ?`)
  const latest = db.prepare(`${SELECT} WHERE c.dir = ? AND c.file = ? AND c.op <> 'refused' ORDER BY c.id DESC LIMIT 1`)
  const hashes = db.prepare(
    `SELECT file, after_hash AS hash FROM changes WHERE id IN
       (SELECT max(id) FROM changes WHERE dir = ? AND op <> 'refused' GROUP BY file) AND after_hash IS NOT NULL`,
  )
  // A content's key is the hash of its text.
  const tip = db.prepare(`SELECT id, actor, part_of AS partOf, after_hash AS hash,
      lines IS NOT NULL OR after_hash IS after_key AS exact, coalesce(lines ->> 'depth', 0) AS depth FROM changes
    WHERE dir = ? AND file = ? AND id < ? AND op <> 'refused' ORDER BY id DESC LIMIT 1`)
  const way = db.prepare(`WITH RECURSIVE way (id, steps) AS (SELECT ?, 0 UNION ALL SELECT follows, steps + 1
      FROM way JOIN changes USING (id) WHERE lines IS NOT NULL AND follows IS NOT NULL)
    SELECT coalesce(a.text, b.text, iif(before_hash IS NULL, '', NULL)) AS base, lines FROM way JOIN changes c USING (id)
      LEFT JOIN contents b ON b.key = before_key LEFT JOIN contents a ON a.key = after_key ORDER BY steps DESC`)
  const resting = db
    .prepare(`SELECT evidence FROM changes WHERE dir = ? AND file = ? AND evidence <> '[]' ORDER BY id DESC LIMIT 50`)
    .pluck()
  // By time and not by id: earlier versions imported changes that are older than what was here.
  const atTime = db.prepare(
    `${SELECT} WHERE c.dir = ? AND c.file = ? AND c.op <> 'refused' AND c.at <= ? ORDER BY c.at DESC, c.id DESC LIMIT 1`,
  )
  const withdraw = db.prepare(`UPDATE changes SET op = 'refused', reason = ?, before_key = NULL, after_key = NULL,
    before_hash = NULL, after_hash = NULL, undoable = 0, follows = NULL, lines = NULL WHERE id = ? OR part_of = ?`)
  const since = db.prepare(`${SELECT} WHERE (c.id > ? OR c.id IN (SELECT value FROM json_each(?))) AND c.op <> 'refused'
    ORDER BY c.id`)
  const newestId = db.prepare('SELECT coalesce(max(id), 0) FROM changes').pluck()
  const purge = db.prepare(`INSERT INTO purges (at, dir, file, change, keys) VALUES (?, ?, ?, ?, '[]')`)
  const spare = db.prepare('DELETE FROM purges WHERE change = ?')

  const keyOf = (version: Version | undefined): string | null => {
    if (version?.text === undefined) return null
    const key = hashOf(version.text)
    if (!isKept.get(key)) keep.run(key, version.text)
    return key
  }
  /** From the last text that is kept whole on; nothing once it was purged. */
  const textAfter = (id: number): string | undefined => {
    const rows = way.all(id) as { base: string | null; lines: string | null }[]
    if (typeof rows[0]?.base !== 'string') return undefined
    const lines = linesOf(rows[0].base)
    for (const each of rows) if (each.lines) applyLines(lines, (JSON.parse(each.lines) as Lines).changes)
    return lines.join('')
  }
  /** Only of an index, and only where the bytes can be had back. */
  const inLines = (dir: string, file: string, id: number, before?: Version, after?: Version) => {
    if (!isIndex(file)) return { follows: null, lines: null }
    const last = tip.get(dir, file, id) as TipRow | undefined
    const isNext = before && last?.hash === before.hash && last.exact === 1 && last.depth < MOST_DEPTH
    const follows = isNext ? last.id : null
    if (after?.text === undefined || !isExact(after) || !(isNext || isExact(before))) return { follows, lines: null }
    const changes = lineChanges(linesOf(before?.text ?? ''), linesOf(after.text))
    const lines = JSON.stringify({ depth: isNext ? last.depth + 1 : 1, changes } satisfies Lines)
    return { follows, lines: 2 * lines.length < after.text.length ? lines : null }
  }
  const add = (change: NewChange, partOf: number | null): number => {
    const { at, dir, file, op, actor, reason, runId, before, after, undoable, evidence } = change
    const { follows, lines } = inLines(dir, file, END, before, after)
    const { lastInsertRowid } = insert.run({
      ...{ at, dir, file, op, actor, reason, run: runId ?? null, partOf, follows, lines },
      ...{ beforeHash: before?.hash ?? null, beforeKey: follows === null ? keyOf(before) : null },
      ...{ afterHash: after?.hash ?? null, afterKey: lines === null ? keyOf(after) : null },
      ...{ undoable: undoable ? 1 : 0, evidence: JSON.stringify(evidence) },
    })
    const id = Number(lastInsertRowid)
    if (change.leaves === 'nothing') purge.run(at, dir, file, id)
    for (const part of change.parts ?? []) add(part, id)
    return id
  }
  const hashesIn = (dir: string): Map<string, string> => {
    const rows = hashes.all(dir) as { file: string; hash: string }[]
    return new Map(rows.map(({ file, hash }) => [file, hash]))
  }
  const one = (found: unknown): Change | undefined => {
    if (!found) return undefined
    const { follows, lines, ...row } = found as Row
    const { run, part_of, before_hash, before_text, after_hash, after_text, undoable, evidence, ...same } = row
    return {
      ...same,
      runId: run ?? undefined,
      partOf: part_of ?? undefined,
      before: version(before_hash, before_text, follows === null ? undefined : () => textAfter(follows)),
      after: version(after_hash, after_text, lines === null ? undefined : () => textAfter(same.id)),
      undoable: undoable === 1,
      evidence: JSON.parse(evidence),
    }
  }
  const all = (rows: unknown[]): Change[] => rows.map((row) => one(row) as Change)
  let settled = (applied.get() as number | undefined) ?? 0
  let unsearched = END
  let patterns: number | undefined
  /** Changes before the mark that are in the files in part, or perhaps. */
  const open = new Set(noted.all() as number[])
  let isNoted = open.size > 0

  const putMark = db.transaction((id: number) => {
    // In one transaction: the mark never passes an open change that is not on record.
    if (isNoted) unnote.run()
    for (const each of open) note.run({ id: each })
    mark.run('applied', id)
  })
  const append = db.transaction((changes: readonly NewChange[], inTransaction?: () => void) => {
    // The mark before may not have reached the disk.
    putMark(settled)
    inTransaction?.()
    return changes.map((change) => add(change, null))
  })
  const beginSearching = db.transaction((): number => {
    const newest = newestId.get() as number
    forgetSearched.run()
    mark.run(`searched ${patterns}`, newest)
    return newest
  })
  const withdrawAll = db.transaction((ids: readonly number[], why: string, onRollback?: () => void) => {
    for (const id of ids) {
      withdraw.run(why, id, id)
      spare.run(id)
    }
    onRollback?.()
  })

  const whole = db.prepare(`${SELECT} WHERE c.id > coalesce((SELECT value FROM marks WHERE name = 'shortened'), 0)
    AND c.file IN (SELECT value FROM json_each(?)) AND c.op <> 'refused' AND c.follows IS NULL AND c.lines IS NULL
    ORDER BY c.id LIMIT ?`)
  const keysOf = db.prepare('SELECT before_key, after_key FROM changes WHERE id = ?').raw()
  const rewrite = db.prepare(`UPDATE changes SET follows = @follows, lines = @lines,
      before_key = iif(@follows IS NULL, before_key, NULL), after_key = iif(@lines IS NULL, after_key, NULL) WHERE id = @id`)
  const drop = db.prepare(`DELETE FROM contents WHERE key = ? AND ${UNUSED}`)
  const shorten = db.transaction((count: number): boolean => {
    const rows = all(whole.all(JSON.stringify(INDEXES), count))
    for (const { id, dir, file, before, after } of rows) {
      const keys = keysOf.get(id) as (string | null)[]
      rewrite.run({ id, ...inLines(dir, file, id, before, after) })
      for (const key of keys) drop.run(key)
    }
    mark.run('shortened', rows.at(-1)?.id ?? newestId.get())
    return rows.length > 0
  })

  return {
    /** All in one transaction, with `inTransaction`, which runs first. Returns the ids of the changes, not of their parts. */
    append: (changes: readonly NewChange[], inTransaction?: () => void): number[] => append(changes, inTransaction),
    /** Everything appended so far is in the files, but for what is open. A power cut may take the mark back: recovery then finds nothing to do. */
    settle: (): void => {
      const newest = newestId.get() as number
      // A transaction may still be rolled back.
      if (!db.inTransaction) settled = newest
      withoutWaiting(db, () => putMark(newest))
      if (!db.inTransaction) isNoted = open.size > 0
    },
    /** Neither in the files as a whole nor taken back: pending until they are finished, also after a start. */
    leaveOpen: (ids: readonly number[]): void => {
      for (const id of ids) open.add(id)
      isNoted = true
    },
    isOpen: (id: number): boolean => open.has(id),
    openIn: (dir: string): Change[] =>
      open.size === 0 ? [] : all(since.all(END, JSON.stringify([...open]))).filter((change) => change.dir === dir),
    finished: (ids: readonly number[]): void => {
      for (const id of ids) open.delete(id)
    },
    get: (id: number) => one(byId.get(id)),
    partsOf: (id: number) => all(byWhole.all(id)),
    ofRun: (runId: string) => all(byRun.all(runId)),
    /** Newest first, parts left out unless their file is asked for. */
    list: ({ dir, file, limit, before = END }: ChangeFilter) =>
      all(file === undefined ? newest.all(dir, before, limit) : newestOfFile.all(dir, file, before, limit)),
    latest: (dir: string, file: string) => one(latest.get(dir, file)),
    tip: (dir: string, file: string): Tip | undefined => {
      const found = tip.get(dir, file, END) as TipRow | undefined
      if (!found) return undefined
      const { actor, partOf, hash, exact } = found
      return { actor, partOf: partOf ?? undefined, hash: hash ?? undefined, exact: exact === 1 }
    },
    /** Texts that come into the journal from now on are searched for credentials with these patterns. */
    searchWith: (number: number): void => {
      patterns = number
      unsearched = (searchedBefore.get(`searched ${number}`) as number | undefined) ?? beginSearching()
    },
    /** Texts were copied from older changes: neither they nor what came before them counts as searched. */
    distrust: (): void => {
      if (patterns !== undefined) unsearched = beginSearching()
    },
    /** Whether these patterns searched these bytes, and the name of the file, and found no credential. */
    isSearched: (dir: string, file: string, hash: string | undefined): boolean => {
      const found = tip.get(dir, file, END) as TipRow | undefined
      return found !== undefined && found.id > unsearched && found.exact === 1 && found.hash === hash
    },
    evidence: (dir: string, file: string) =>
      (resting.all(dir, file) as string[]).flatMap((text) => JSON.parse(text) as Evidence[]),
    hashes: hashesIn,
    files: (dir: string) => [...hashesIn(dir).keys()],
    at: (dir: string, file: string, at: number) => one(atTime.get(dir, file, at)),
    pending: () => all(since.all(settled, JSON.stringify([...open]))),
    /** Goes on with index texts that an earlier version kept whole. Tells whether there may be more. */
    shorten: (count: number): boolean => shorten(count),
    /** Changes that could not be written did not happen: they stay as refusals, without their words. */
    withdraw: (ids: readonly number[], why: string, onRollback?: () => void): void => withdrawAll(ids, why, onRollback),
  }
}

export function dropOrphans(db: Db): void {
  db.exec(`DELETE FROM contents WHERE ${UNUSED}`)
}

function version(hash: string | null, text: string | null, put?: () => string | undefined): Version | undefined {
  if (hash === null) return undefined
  if (!put) return { hash, text: text ?? undefined }
  return {
    hash,
    inLines: true,
    get text() {
      return put()
    },
  }
}

/** Tells what and when to a person, and is unique. */
export function newRunId(kind: 'dream' | 'extract' | 'import' | 'undo', at: number): string {
  return `${kind}-${new Date(at).toISOString().replace(/[-:]|\.\d+/g, '')}-${randomBytes(4).toString('hex')}`
}

export function isDream(runId: string): boolean {
  return /^dream-\d{8}T\d{6}Z-[0-9a-f]{8}$/.test(runId)
}

/** Earlier versions moved memories one by one. */
export function isMove(runId: string): boolean {
  return /^move-\d{8}T\d{6}Z-[0-9a-f]{8}$/.test(runId)
}
