/** The words of messages in `index.db`, and which messages may answer a question. Knows no text: that stands in the transcripts. */
import { type Db, preparedIn } from '../db/database.ts'
import { type Demand, PIECE_CHARS, tokensOf } from './message-tokens.ts'
import { createSeenTerms, SEEN_TERMS_BYTES } from './seen-terms.ts'
import { prepareTerms, SHORTEST_PART, type TermsWith } from './terms.ts'

export type MessageWords = {
  /** What takes time and needs no lock: best before the transaction in which some or all of the texts are put. */
  ready(texts: readonly string[]): Ready
  /**
   * The texts have no credentials any more; what was put before under an id is replaced, and by an empty text removed. Part
   * of the caller's transaction, and best its end: whatever else is written after it makes SQLite put down the words of each
   * message by themselves, which takes five times as long.
   */
  put(texts: readonly MessageText[], ready?: Ready): void
  /** The caller's transaction was rolled back, and the words with it. */
  forget(): void
  /**
   * Each transaction leaves a part of its own, and a question looks into all of them: puts a few together, as a transaction
   * of its own that nobody has to wait for longer than for one of these.
   */
  merge(): 'more' | 'done'
  /**
   * The newest messages below `before` that may have what is asked for, newest first: none that has it is missing, whether
   * one really has it only its text tells. A page with fewer than `most` is the last.
   */
  candidates(asked: Asked, page: { before: number; most: number }): Candidate[]
}

export type MessageText = { id: number; text: string }

/** `made`: the tokens of those texts of which the table's own tokenizer would make others. `fresh`: terms that may be new. */
export type Ready = { made: ReadonlyMap<string, string>; fresh: readonly string[] }

/** A message must have every word and everything that is demanded; with `any`, one of the words is enough. */
export type Asked = {
  words: readonly Demand[]
  match: 'all' | 'any'
  literals: readonly Demand[]
  project: string
  session: string | undefined
  saidBy: string | undefined
  sinceMs: number | undefined
}

export type Candidate = {
  id: number
  harness: string
  session: string
  uid: string
  saidBy: string
  at: number | null
  path: string
  offset: number
  length: number
  /** Of BM25: the more negative, the better. Zero where no word was asked for. */
  score: number
}

/** More tokens than these have the part in common: it says too little to be worth a list. */
const MOST_TERMS = 2_000
/** So few that to read them costs less than to collect every token that begins with one or two letters. */
const FEW = 200
/** Of the table, written by one step of merging. */
const MERGED_PAGES = 64
/** As a sum: SQLite plans for the value of a bare parameter, and so prepares the statement anew each time. */
const LIMIT = 'LIMIT @most + 0'
const COLUMNS = `m.id, s.harness, s.session, m.uid, m.said_by, m.at, f.path, m.offset, m.length`
// Of a message that stands in several sessions: the origin, as long as it is there, else the first of its copies.
const FIRST = `NOT EXISTS (
  SELECT 1 FROM messages o JOIN files of ON of.id = o.file JOIN sessions os ON os.id = o.session
  WHERE o.uid = m.uid AND o.sub_agent = m.sub_agent AND o.session <> m.session AND (o.copied = 0 OR o.id < m.id)
    AND o.gone = 0 AND of.gone = 0 AND os.harness = s.harness
    AND (o.at = m.at OR os.session = s.fork_of OR os.fork_of = s.fork_of))`
// A copy in a forked session is the same message: it counts only where that very session is asked for, or the origin is gone.
const FILTER = `
  JOIN sessions s ON s.id = m.session JOIN files f ON f.id = m.file
  WHERE s.project = @project AND m.id < @before AND f.gone = 0 AND m.gone = 0
    AND (@session IS NULL AND (m.copied = 0 OR ${FIRST}) OR s.session = @session)
    AND (@saidBy IS NULL OR m.said_by = @saidBy) AND (@sinceMs IS NULL OR m.at >= @sinceMs)`

/** `seen`: which terms the index has, as far as is known. Whoever goes on with that of another adds no term once more. */
export function createMessageWords(
  current: () => Db,
  { seen }: { seen?: ArrayBufferLike | undefined } = {},
): MessageWords {
  const statements = preparedIn(current, (db) => prepare(db, seen ?? new ArrayBuffer(SEEN_TERMS_BYTES)))
  return {
    ready: (texts) => statements().ready(texts),
    put: (texts, ready) => statements().put(texts, ready),
    forget: () => statements().forget(),
    merge: () => statements().merge(),
    // In one transaction: to begin one for each block of terms takes longer than to read some of them.
    candidates: (asked, page) => statements().inOne(() => candidatesIn(statements(), asked, page)),
  }
}

function candidatesIn(
  { terms: { termsWith }, matching, all }: Pick<ReturnType<typeof prepare>, 'terms' | 'matching' | 'all'>,
  { words, match, literals, ...filter }: Asked,
  { before, most }: { before: number; most: number },
): Candidate[] {
  const { project, session = null, saidBy = null, sinceMs = null } = filter
  const bound = { before, most, project, session, saidBy, sinceMs }
  const asWords = wordsExpression(words, match)
  const rough = expression(asWords, literals.map(withoutShortEnd), termsWith)
  if (rough === 'nothing') return []
  if (rough !== 'anything') {
    const few = matching({ ...bound, ...rough, most: Math.min(most, FEW) })
    if (few.length < FEW) return few
  }
  const exact = expression(asWords, literals, termsWith)
  if (exact === 'nothing') return []
  return exact === 'anything' ? all(bound) : matching({ ...bound, ...exact })
}

function prepare(db: Db, memory: ArrayBufferLike) {
  const insert = db.prepare('REPLACE INTO message_words (rowid, tokens) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM message_words WHERE rowid = ?')
  const merge = db.prepare(`INSERT INTO message_words (message_words, rank) VALUES ('merge', ${MERGED_PAGES})`)
  const changes = db.prepare('SELECT total_changes()').pluck()
  const terms = prepareTerms(db)
  const seen = createSeenTerms({ longest: PIECE_CHARS, memory })
  const ready = (texts: readonly string[]): Ready => {
    const fresh: string[] = []
    const made = new Map<string, string>()
    for (const text of texts) {
      // The tokenizer of the table makes the very tokens of it that we would.
      if (seen.ofPlain(text, fresh) === 'plain') continue
      const tokens = tokensOf(text)
      for (const token of tokens) seen.add(token, fresh)
      made.set(text, tokens.join(' '))
    }
    return { made, fresh }
  }
  return {
    inOne: db.transaction((read: () => Candidate[]) => read()),
    terms,
    forget: seen.forget,
    ready,
    merge: () => {
      const before = changes.get() as number
      merge.run()
      // One is of the order itself.
      return (changes.get() as number) - before > 1 ? ('more' as const) : ('done' as const)
    },
    put: (texts: readonly MessageText[], { made, fresh } = ready(texts.map(({ text }) => text))) => {
      // All of them, also those of a text that is not put after all: they count as seen. And before the words: whatever is
      // asked in between would make SQLite put those down by themselves.
      terms.add(fresh)
      for (const { id, text } of texts) {
        if (text === '') remove.run(id)
        // To look a long text up in a map takes a walk through all of it.
        else insert.run(id, made.size === 0 ? text : (made.get(text) ?? text))
      }
    },
    matching: inOrder(
      db.prepare(`
        SELECT ${COLUMNS}, bm25(message_words)
        FROM message_words CROSS JOIN messages m ON m.id = message_words.rowid ${FILTER}
          AND message_words MATCH @match AND message_words.rowid < @before
        ORDER BY message_words.rowid DESC ${LIMIT}`),
    ),
    all: inOrder(db.prepare(`SELECT ${COLUMNS}, 0 FROM messages m ${FILTER} ORDER BY m.id DESC ${LIMIT}`)),
  }
}

/** The driver names the columns of each row anew: by their order it takes half of the time. */
function inOrder(statement: ReturnType<Db['prepare']>): (bound: object) => Candidate[] {
  const rows = statement.raw()
  return (bound) => (rows.all(bound) as Row[]).map(toCandidate)
}

type Row = [number, string, string, string, string, number | null, string, number, number, number]

function toCandidate([id, harness, session, uid, saidBy, at, path, offset, length, score]: Row): Candidate {
  return { id, harness, session, uid, saidBy, at, path, offset, length, score }
}

type Question = { match: string } | 'anything' | 'nothing'

function wordsExpression(words: readonly Demand[], match: Asked['match']): string[] {
  const asked = words.filter(({ phrase }) => phrase.length > 0).map(phraseOf)
  return asked.length === 0 ? [] : [asked.join(match === 'all' ? ' AND ' : ' OR ')]
}

function expression(asWords: readonly string[], literals: readonly Demand[], termsWith: TermsWith): Question {
  const conditions = [...asWords]
  for (const literal of literals) {
    if (literal.phrase.length > 0) conditions.push(phraseOf(literal))
    if (literal.within === undefined) continue
    // A part of one or two characters takes a look at every term: only when there is nothing else to go by.
    if (conditions.length > 0 && [...literal.within].length < SHORTEST_PART) continue
    const terms = termsWith(literal.within, MOST_TERMS + 1)
    if (terms.length === 0) return 'nothing'
    if (terms.length <= MOST_TERMS) conditions.push(terms.map(quoted).join(' OR '))
  }
  if (conditions.length === 0) return 'anything'
  return { match: conditions.map((condition) => `(${condition})`).join(' AND ') }
}

function withoutShortEnd({ phrase, lastIs, ...rest }: Demand): Demand {
  const isShort = lastIs === 'beginning' && [...(phrase.at(-1) ?? '')].length < SHORTEST_PART
  return isShort ? { ...rest, phrase: phrase.slice(0, -1), lastIs: 'whole' } : { ...rest, phrase, lastIs }
}

function phraseOf({ phrase, lastIs }: Demand): string {
  return `${quoted(phrase.join(' '))}${lastIs === 'beginning' ? ' *' : ''}`
}

/** Tokens are letters and digits: nothing in them could end the quotes. */
function quoted(tokens: string): string {
  return `"${tokens}"`
}
