/** What was read of transcripts, in `index.db`: a slice and the place where reading goes on are one transaction. */
import { type Db, preparedIn } from '../db/database.ts'
import type { Due } from '../jobs/job.ts'
import { createJobTable } from '../jobs/job-table.ts'
import { createLru } from '../platform/lru.ts'
import type { Rewound, Usage } from './formats/facts.ts'
import type { Source } from './formats/format.ts'
import type { MessageWords, Ready } from './message-index.ts'

type Name = { id: string } | { hash: string }

export type MessageStep = {
  kind: 'message'
  session: SessionRow
  name: Name
  subAgent: string
  offset: number
  length: number
  at: number | undefined
  by: string
  answerId: string | undefined
  startsTurn: 0 | 1
  ends: string | undefined
  toolCalls: number
  tokens: Usage | undefined
  /** What can be searched for, free of credentials; empty when there is nothing to find. Is not stored. */
  text: string
}

export type Step = MessageStep | Rewound

export type Slice = Source & {
  bornAt: number
  /** `anew`: the file was rewritten; what does not come again is gone. `again`: the same, from its beginning. */
  begun: 'on' | 'anew' | 'again'
  cursor: string
  known: string
  steps: readonly Step[]
  skipped: ReadonlyMap<string, number>
  due?: { jobs: readonly Due[]; nowMs: number } | undefined
}

type Texts = { id: number; text: string }[]

type FileRow = { cursor: string; known: string; gone: 0 | 1; again: 0 | 1 }

export type Transcripts = ReturnType<typeof createTranscripts>

export function createTranscripts(db: Db, words: MessageWords) {
  const fileRow = db.prepare('SELECT cursor, known, gone, again FROM files WHERE path = ?')
  const putFile = db
    .prepare(
      `INSERT INTO files (harness, root, path, born, cursor, known) VALUES (@harness, @root, @path, @bornAt, @cursor, @known)
       ON CONFLICT (path) DO UPDATE SET harness = @harness, root = @root, cursor = @cursor, known = @known, gone = 0,
         again = iif(@begun = 'on', again, 0)
       RETURNING id`,
    )
    .pluck()
  const fileGone = db.prepare('UPDATE files SET gone = ? WHERE path = ? RETURNING id').pluck()
  const forgetPlaces = db.prepare('UPDATE messages SET gone = 1 WHERE file = ?')
  const forgetSkipped = db.prepare('DELETE FROM skipped_lines WHERE file = ?')
  const addSkipped = db.prepare(
    `INSERT INTO skipped_lines (file, reason, count) VALUES (?, ?, ?)
     ON CONFLICT (file, reason) DO UPDATE SET count = count + excluded.count`,
  )
  const sessions = createSessionRows(db)
  const holders = createOtherHolders(db)
  const message = prepareMessages(db)
  const rewind = prepareRewinds(db)
  const jobs = createJobTable(() => db)

  const putMessage = (file: number, step: MessageStep, texts: Texts) => {
    const session = sessions.put(step.session, step.at)
    const uid = 'id' in step.name ? step.name.id : message.uidOf(file, step.name.hash)
    const isNew = !message.isKnown(uid)
    const known = isNew ? undefined : message.find(uid, session, step.subAgent)
    // Another file of the same session holds it as well: it stands where it was read first, as long as it is there.
    if (known && known.file !== file && known.there === 1) return holders.add(known.file, file)
    const twin = isNew || known ? undefined : message.twinOf(uid, { session, file, at: step.at })
    // Files are read in any order: the fork may have been the first.
    if (twin?.copied === 'there') message.setCopied(twin.id)
    if (twin) sessions.setFork(twin.copied === 'here' ? [session, twin.name] : [twin.session, step.session.id])
    const id = message.put(step, { file, session, uid, copied: twin?.copied === 'here' ? 1 : 0, isNew })
    if (known || step.text !== '') texts.push({ id, text: step.text })
  }

  const saveOne = ({ steps, skipped, due, ...row }: Slice, texts: Texts): Source[] => {
    const file = putFile.get(row) as number
    if (row.begun !== 'on') {
      message.forget()
      forgetPlaces.run(file)
      forgetSkipped.run(file)
    }
    // What is read again holds what it held: others would be sent back and forth.
    const again = row.begun === 'anew' ? holders.left(file) : []
    for (const [reason, count] of skipped) addSkipped.run(file, reason, count)
    for (const step of steps) {
      if (step.kind === 'message') putMessage(file, step, texts)
      else rewind(file, step)
    }
    if (due) for (const job of due.jobs) jobs.enqueue(job, due.nowMs)
    return again
  }
  const saveAll = db.transaction((slices: readonly Slice[], ready: Ready) => {
    const texts: Texts = []
    const again = slices.flatMap((slice) => saveOne(slice, texts))
    sessions.flush()
    words.put(texts, ready)
    return again
  })
  const setGone = db.transaction((path: string, gone: 0 | 1): Source[] => {
    const file = fileGone.get(gone, path) as number | undefined
    return file === undefined || gone === 0 ? [] : holders.left(file)
  })

  const orForget = <T>(act: () => T): T => {
    try {
      return act()
    } catch (error) {
      words.forget()
      sessions.forget()
      message.forget()
      throw error
    }
  }

  return {
    file: (path: string) => fileRow.get(path) as FileRow | undefined,
    /** Does all that needs no lock. The function that it returns saves all slices or none, and gives files to read again. */
    ready: (slices: readonly Slice[]): (() => Source[]) => {
      const messages = slices.flatMap(({ steps }) => steps.filter((step) => step.kind === 'message'))
      const texts = messages.map(({ text }) => text).filter((text) => text !== '')
      const ready = orForget(() => words.ready(texts))
      // Immediate: begun as a reader, it would be refused when another connection has written meanwhile.
      return () => orForget(() => saveAll.immediate(slices, ready))
    },
    /** 1: the harness deleted the file. Gives the files that have to be read again because of it. */
    setGone: (path: string, gone: 0 | 1): Source[] => setGone.immediate(path, gone),
  }
}

/** The same message in another session, and which of the two is the copy. */
type Twin = { id: number; session: number; name: string; copied: 'here' | 'there' }

type Belongs = { file: number; session: number; uid: string; copied: 0 | 1; isNew: boolean }

const WORLDWIDE_CHARS = 20

function prepareMessages(db: Db) {
  const counted = createLru<string, number>(10_000)
  const occurrences = db
    // `+`: by the index on names. A file may hold a hundred thousand.
    .prepare(`SELECT count(*) FROM messages WHERE +file = @file AND gone = 0 AND uid >= @first AND uid < @beyond`)
    .pluck()
  const isKnown = db.prepare('SELECT 1 FROM messages WHERE uid = ? LIMIT 1').pluck()
  const find = db.prepare(
    `SELECT m.file, NOT (m.gone OR f.gone) AS there FROM messages m JOIN files f ON f.id = m.file
     WHERE m.uid = ? AND m.session = ? AND m.sub_agent = ?`,
  )
  // Ids come again in sessions that have nothing to do with each other: the time must be the same too, or the origin named.
  // Short ones, as pi's, come again at the same time as well where agents work side by side; so do lines without an id.
  const twin = db.prepare(
    `SELECT m.id, m.session, other.session AS name,
       CASE WHEN own.fork_of = other.session THEN 'here' WHEN other.fork_of = own.session THEN 'there'
         WHEN theirs.born > ours.born THEN 'there' ELSE 'here' END AS copied
     FROM messages m JOIN sessions other ON other.id = m.session JOIN files theirs ON theirs.id = m.file
       JOIN sessions own ON own.id = @session JOIN files ours ON ours.id = @file
     WHERE m.uid = @uid AND m.session <> @session AND m.copied = 0 AND other.harness = own.harness
       AND (m.at = @at AND length(@uid) >= ${WORLDWIDE_CHARS} AND @uid NOT LIKE '#%' OR own.fork_of = other.session OR other.fork_of = own.session) LIMIT 1`,
  )
  const copied = db.prepare('UPDATE messages SET copied = 1 WHERE id = ?')
  // Bound by position: this runs for every message.
  const row = `INSERT INTO messages (session, file, offset, length, uid, sub_agent, at, said_by, answer, starts_turn, ends,
      tool_calls, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, copied)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
  const insert = db.prepare(row)
  const put = db
    .prepare(
      `${row} ON CONFLICT (uid, session, sub_agent) DO UPDATE SET file = excluded.file, offset = excluded.offset,
         length = excluded.length, at = excluded.at, said_by = excluded.said_by, answer = excluded.answer,
         starts_turn = excluded.starts_turn, ends = excluded.ends, tool_calls = excluded.tool_calls,
         input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
         cache_read_tokens = excluded.cache_read_tokens, cache_write_tokens = excluded.cache_write_tokens,
         rewound = 0, gone = 0
       RETURNING id`,
    )
    .pluck()
  return {
    isKnown: (uid: string) => isKnown.get(uid) !== undefined,
    find: (uid: string, session: number, subAgent: string) =>
      find.get(uid, session, subAgent) as { file: number; there: 0 | 1 } | undefined,
    twinOf: (uid: string, { session, file, at }: { session: number; file: number; at: number | undefined }) =>
      twin.get({ uid, session, file, at: at ?? null }) as Twin | undefined,
    setCopied: (id: number) => void copied.run(id),
    /** The same line may stand in a file several times; the n-th is the n-th again when the file is read anew. */
    uidOf: (file: number, hash: string): string => {
      const line = `${file} ${hash}`
      const before = counted.get(line) ?? (occurrences.get({ file, first: `#${hash}.`, beyond: `#${hash}/` }) as number)
      // To count a line that stands there once costs nothing.
      if (before > 0) counted.set(line, before + 1)
      return `#${hash}.${before + 1}`
    },
    forget: counted.clear,
    /** One that is new cannot be there already: it needs no conflict clause and no answer. */
    put: (step: MessageStep, { session, file, uid, copied, isNew }: Belongs): number => {
      const { offset, length, subAgent, at = null, by, answerId = null, startsTurn, ends = null, toolCalls } = step
      const { input = null, output = null, cacheRead = null, cacheWrite = null } = step.tokens ?? {}
      const place = [session, file, offset, length, uid, subAgent, at, by, answerId, startsTurn, ends, toolCalls]
      const values = [...place, input, output, cacheRead, cacheWrite, copied]
      return isNew ? Number(insert.run(values).lastInsertRowid) : (put.get(values) as number)
    },
  }
}

function prepareRewinds(db: Db): (file: number, step: Rewound) => void {
  const byId = db.prepare('SELECT min(id) FROM messages WHERE uid = ? AND +file = ?').pluck()
  const byTurn = db
    .prepare(
      `SELECT id FROM messages WHERE file = @file AND starts_turn = 1 AND said_by <> 'injected' AND rewound = 0 AND gone = 0
       ORDER BY id DESC LIMIT 1 OFFSET @before`,
    )
    .pluck()
  const drop = db.prepare('UPDATE messages SET rewound = 1 WHERE file = ? AND id >= ?')
  return (file, step) => {
    if ('turns' in step && step.turns === 0) return
    // More turns than there are: all of it. A message that was never seen takes nothing with it.
    const from = 'from' in step ? byId.get(step.from, file) : (byTurn.get({ file, before: step.turns - 1 }) ?? 0)
    if (typeof from === 'number') drop.run(file, from)
  }
}

/** A message has one place. When the file of that place goes, the other files that hold the message are read again. */
function createOtherHolders(db: Db) {
  const add = db.prepare('INSERT OR IGNORE INTO other_holders (stands, holder) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM other_holders WHERE stands = ?')
  const mark = db.prepare(
    'UPDATE files SET again = 1 WHERE id IN (SELECT holder FROM other_holders WHERE stands = ?) RETURNING id',
  )
  const there = db.prepare('SELECT harness, root, path FROM files WHERE id = ? AND gone = 0')
  return {
    add: (stands: number, holder: number) => void add.run(stands, holder),
    /** What stood in this file may stand there no more. Gives those that are there and hold some of it. */
    left: (stands: number): Source[] => {
      const marked = mark.pluck().all(stands) as number[]
      remove.run(stands)
      // They take over what it held. It may come back as it was, and when they go after that, it is its turn.
      for (const id of marked) add.run(id, stands)
      return marked.flatMap((id) => (there.get(id) as Source | undefined) ?? [])
    },
  }
}

export type TranscriptFiles = ReturnType<typeof createTranscriptFiles>

export function createTranscriptFiles(current: () => Db) {
  const statements = preparedIn(current, (db) => ({
    cursor: db.prepare('SELECT cursor FROM files WHERE path = ? AND gone = 0 AND again = 0').pluck(),
    present: db.prepare(
      'SELECT id, harness, root, path FROM files WHERE id > @after AND gone = 0 ORDER BY id LIMIT @limit',
    ),
    skipped: db.prepare('SELECT reason, sum(count) FROM skipped_lines GROUP BY reason ORDER BY reason').raw(),
  }))
  return {
    cursor: (path: string) => statements().cursor.get(path) as string | undefined,
    present: (page: { after: number; limit: number }) => statements().present.all(page) as (Source & { id: number })[],
    skipped: (): Record<string, number> => Object.fromEntries(statements().skipped.all() as [string, number][]),
  }
}

/** What an earlier line told of a session stays, and its times span those of all its messages. */
export type SessionRow = {
  harness: string
  id: string
  forkOf: string | undefined
  cwd: string | undefined
  project: string | undefined
  /** Whose folder that is. A sub-agent may work elsewhere than its session: its folder counts only while no other is known. */
  cwdOf: 'session' | 'sub-agent'
  branch: string | undefined
  startedAt: number | undefined
  interactive: boolean | undefined
}

function createSessionRows(db: Db) {
  const put = db
    .prepare(
      `INSERT INTO sessions (harness, session, fork_of, cwd, project, branch, started_at, last_at, interactive,
         guessed)
       VALUES (@harness, @id, @forkOf, @cwd, @project, @branch, coalesce(@startedAt, @at), @at, @interactive,
         @guessed)
       ON CONFLICT (session, harness) DO UPDATE SET fork_of = coalesce(fork_of, @forkOf),
         cwd = iif(guessed > @guessed, coalesce(@cwd, cwd), coalesce(cwd, @cwd)),
         project = iif(guessed > @guessed, coalesce(@project, project), coalesce(project, @project)),
         guessed = CASE WHEN @cwd IS NULL THEN guessed WHEN cwd IS NULL THEN @guessed ELSE min(guessed, @guessed) END,
         branch = coalesce(@branch, branch),
         started_at = min(coalesce(started_at, @startedAt, @at), coalesce(@startedAt, @at, started_at)),
         last_at = max(coalesce(last_at, @at), coalesce(@at, last_at)), interactive = coalesce(@interactive, interactive)
       RETURNING id`,
    )
    .pluck()
  const fork = db.prepare('UPDATE sessions SET fork_of = coalesce(fork_of, ?) WHERE id = ?')
  const write = (session: SessionRow, at: number | undefined): number => {
    const { forkOf = null, cwd = null, project = null, branch = null, startedAt = null, interactive } = session
    const guessed = session.cwdOf === 'sub-agent' ? 1 : 0
    const sits = interactive === undefined ? null : Number(interactive)
    const { harness, id } = session
    const row = { harness, id, forkOf, cwd, project, branch, startedAt, guessed, at: at ?? null, interactive: sits }
    return put.get(row) as number
  }

  /** `from` and `to`: times of the messages since it was written. */
  let last: { session: SessionRow; row: number; from: number | undefined; to: number | undefined } | undefined
  const flush = () => {
    if (last?.from !== undefined) write(last.session, last.from)
    if (last?.to !== undefined && last.to !== last.from) write(last.session, last.to)
    last = undefined
  }

  return {
    /** `at`: of the message that goes with it. The row is there, its times only after `flush`. */
    put: (session: SessionRow, at: number | undefined): number => {
      // Message after message tells the same of its session: only how far they reach is new.
      if (last && isSame(last.session, session)) {
        if (at !== undefined) {
          last.from = Math.min(last.from ?? at, at)
          last.to = Math.max(last.to ?? at, at)
        }
        return last.row
      }
      flush()
      last = { session, row: write(session, at), from: undefined, to: undefined }
      return last.row
    },
    flush,
    forget: () => {
      last = undefined
    },
    setFork: ([session, origin]: readonly [session: number, origin: string]) => void fork.run(origin, session),
  }
}

export function isSame(one: SessionRow, other: SessionRow): boolean {
  return one === other || (Object.keys(one) as (keyof SessionRow)[]).every((key) => one[key] === other[key])
}
