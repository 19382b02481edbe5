/** The words of messages in `index.db`, and which messages may match a search. Holds no text: that stays in the transcripts. */
import { type Db, preparedIn } from '../db/database.ts'
import { copied, pairsOf, UNSPACED_SCRIPT } from '../platform/text.ts'

export type MessageWords = ReturnType<typeof createMessageWords>

type MessageText = { id: number; text: string }

/** `made`: tokens of the texts that the table's own tokenizer would split otherwise. `fresh`: terms that may be new. */
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
  score: number
}

/** A part that more terms have in common does not narrow the search. */
const MOST_TERMS = 2_000
/** So few messages are read faster than all terms that begin with one or two letters are collected. */
const FEW = 200
const MERGED_PAGES = 64
const SHORTEST_PART = 3
const TERM_END = '\n'
/** The last block grows up to this: each addition writes all of it again. */
const BLOCK_CHARS = 32_000
/** Terms are remembered in two generations of so many, and those of the last blocks after a start. */
const MOST_RECENT = 32_000
const BLOCKS_AT_START = 8
/** A sum: for a bare parameter SQLite plans by its value and prepares the statement anew each time. */
const LIMIT = 'LIMIT @most + 0'
const COLUMNS = `m.id, s.harness, s.session, m.uid, m.said_by AS saidBy, m.at, f.path, m.offset, m.length`
// Of a message that stands in several sessions: the origin, as long as it is there, else the first of its copies.
const FIRST = `NOT EXISTS (
  SELECT 1 FROM messages o JOIN files of ON of.id = o.file JOIN sessions os ON os.id = o.session
  WHERE o.uid = m.uid AND o.sub_agent = m.sub_agent AND o.session <> m.session AND (o.copied = 0 OR o.id < m.id)
    AND o.gone = 0 AND of.gone = 0 AND os.harness = s.harness
    AND (o.at = m.at OR os.session = s.fork_of OR os.fork_of = s.fork_of))`
// A copy in a forked session is the same message: it counts only in a search of that session, or if the origin is gone.
const FILTER = `
  JOIN sessions s ON s.id = m.session JOIN files f ON f.id = m.file
  WHERE s.project = @project AND m.id < @before AND f.gone = 0 AND m.gone = 0
    AND (@session IS NULL AND (m.copied = 0 OR ${FIRST}) OR s.session = @session)
    AND (@saidBy IS NULL OR m.said_by = @saidBy) AND (@sinceMs IS NULL OR m.at >= @sinceMs)`

/** Remembers which terms it has written: one for each connection that writes. */
export function createMessageWords(db: Db) {
  const insert = db.prepare('REPLACE INTO message_words (rowid, tokens) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM message_words WHERE rowid = ?')
  const merge = db.prepare(`INSERT INTO message_words (message_words, rank) VALUES ('merge', ${MERGED_PAGES})`)
  const changes = db.prepare('SELECT total_changes()').pluck()
  const terms = createTerms(db)
  /** What takes time and needs no lock: best before the transaction in which some or all of the texts are put. */
  const ready = (texts: readonly string[]): Ready => {
    const fresh: string[] = []
    const made = new Map<string, string>()
    for (const text of texts) {
      const plain = plainTokens(text)
      const tokens = plain ?? tokensOf(text)
      for (const token of tokens) if (terms.isNew(token)) fresh.push(token)
      if (!plain) made.set(text, tokens.join(' '))
    }
    return { made, fresh }
  }
  return {
    ready,
    /** An empty text removes an entry. Last in its transaction: a later statement makes SQLite write five times as long. */
    put: (texts: readonly MessageText[], { made, fresh } = ready(texts.map(({ text }) => text))) => {
      // Before the words, for the same reason. All of them: they count as seen even if their text is not put.
      terms.add(fresh)
      for (const { id, text } of texts) {
        if (text === '') remove.run(id)
        // A lookup in the map hashes the whole text.
        else insert.run(id, made.size === 0 ? text : (made.get(text) ?? text))
      }
    },
    /** After a transaction that failed: its terms are not there. */
    forget: terms.forget,
    /** Each transaction leaves a segment, and a search reads all of them: merges a few in a short transaction. */
    merge: (): 'more' | 'done' => {
      const before = changes.get() as number
      merge.run()
      return (changes.get() as number) - before > 1 ? 'more' : 'done'
    },
  }
}

/** All terms of messages, in blocks of one term a line. A term that was not met lately may be stored twice. */
function createTerms(db: Db) {
  const last = db.prepare('SELECT id, terms FROM term_blocks ORDER BY id DESC LIMIT 1')
  const begin = db.prepare('INSERT INTO term_blocks (terms) VALUES (?)')
  const grow = db.prepare('UPDATE term_blocks SET terms = ? WHERE id = ?')
  const newest = db.prepare(`SELECT terms FROM term_blocks ORDER BY id DESC LIMIT ${BLOCKS_AT_START}`).pluck()
  let recent: Set<string> | undefined
  let before = new Set<string>()
  return {
    isNew: (term: string): boolean => {
      recent ??= new Set((newest.all() as string[]).flatMap((terms) => terms.split(TERM_END)))
      if (recent.has(term)) return false
      if (recent.size >= MOST_RECENT) {
        before = recent
        recent = new Set()
      }
      // V8 keeps the whole text alive for a longer part of it.
      recent.add(term.length > 12 ? copied(term) : term)
      return !before.has(term)
    },
    forget: () => {
      recent = undefined
      before.clear()
    },
    add: (terms: readonly string[]) => {
      if (terms.length === 0) return
      const block = terms.join(TERM_END)
      const open = last.get() as { id: number; terms: string } | undefined
      if (!open || open.terms.length + block.length > BLOCK_CHARS) begin.run(block)
      else grow.run(`${open.terms}${TERM_END}${block}`, open.id)
    },
  }
}

/** Newest first. No message that matches is missing, but only the text tells whether one does. A short page is the last. */
export function createMessageSearch(current: () => Db) {
  const search = preparedIn(current, prepareSearch)
  return (asked: Asked, page: { before: number; most: number }): Candidate[] => search()(asked, page)
}

function prepareSearch(db: Db) {
  const blocks = db.prepare('SELECT terms FROM term_blocks').pluck()
  const matching = db.prepare(
    `SELECT ${COLUMNS}, bm25(message_words) AS score
     FROM message_words CROSS JOIN messages m ON m.id = message_words.rowid ${FILTER}
       AND message_words MATCH @match AND message_words.rowid < @before
     ORDER BY message_words.rowid DESC ${LIMIT}`,
  )
  const all = db.prepare(`SELECT ${COLUMNS}, 0 AS score FROM messages m ${FILTER} ORDER BY m.id DESC ${LIMIT}`)
  const termsWith = (part: string) => termsIn(blocks.iterate() as Iterable<string>, part, MOST_TERMS + 1)
  // In one transaction: terms and messages of the same moment.
  return db.transaction(({ words, match, literals, ...filter }: Asked, page: { before: number; most: number }) => {
    const { project, session = null, saidBy = null, sinceMs = null } = filter
    const bound = { ...page, project, session, saidBy, sinceMs }
    const asWords = words.length === 0 ? [] : [words.map(phraseOf).join(match === 'all' ? ' AND ' : ' OR ')]
    const rough = expression(asWords, literals.map(withoutShortEnd), termsWith)
    if (rough === 'nothing') return []
    if (rough !== 'anything') {
      const few = matching.all({ ...bound, ...rough, most: Math.min(page.most, FEW) }) as Candidate[]
      if (few.length < FEW) return few
    }
    const exact = expression(asWords, literals, termsWith)
    if (exact === 'nothing') return []
    return (exact === 'anything' ? all.all(bound) : matching.all({ ...bound, ...exact })) as Candidate[]
  })
}

function termsIn(blocks: Iterable<string>, part: string, most: number): string[] {
  const found = new Set<string>()
  for (const terms of blocks) {
    for (let at = terms.indexOf(part); at !== -1 && found.size < most; ) {
      const end = terms.indexOf(TERM_END, at)
      const to = end === -1 ? terms.length : end
      found.add(terms.slice(terms.lastIndexOf(TERM_END, at) + 1, to))
      at = terms.indexOf(part, to)
    }
    if (found.size >= most) break
  }
  return [...found]
}

type Question = { match: string } | 'anything' | 'nothing'

function expression(
  asWords: readonly string[],
  literals: readonly Demand[],
  termsWith: (part: string) => string[],
): Question {
  const conditions = [...asWords]
  for (const literal of literals) {
    if (literal.phrase.length > 0) conditions.push(phraseOf(literal))
    if (literal.within === undefined) continue
    // One or two characters match too many terms: only when there is no other condition.
    if (conditions.length > 0 && [...literal.within].length < SHORTEST_PART) continue
    const terms = termsWith(literal.within)
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

/** Runs of scripts without spaces, which become overlapping pairs, and runs of all others. */
const RUNS = new RegExp(`([${UNSPACED_SCRIPT}]+)|[[a-z0-9\\u{80}-\\u{10ffff}]--[${UNSPACED_SCRIPT}]]+`, 'gv')
/** All but ASCII and the plain characters of Chinese and Japanese, which folding does not change. */
const FOLDABLE = /[\u{80}-\u{3040}\u{3095}-\u{30a0}\u{30fb}-\u{4dff}\u{a000}-\u{10ffff}]/gu
/** Longer runs (keys, encoded pictures) become overlapping pieces: any part of up to half a piece is in one of them. */
const PIECE_CHARS = 64
const PART_CHARS = PIECE_CHARS / 2

type Run = { kind: 'word' | 'pairs'; text: string; from: number; to: number }

/** What a text must have: the tokens of `phrase` in a row, the last perhaps only begun, and a token with `within` in it. */
export type Demand = { phrase: string[]; lastIs: 'whole' | 'beginning'; within?: string }

export function tokensOf(text: string): string[] {
  return plainTokens(text) ?? runsOf(fold(text)).flatMap(tokensOfRun)
}

function plainTokens(text: string): string[] | undefined {
  if (/[\0\u0080-\uffff]/.test(text)) return undefined
  const words: string[] = text.toLowerCase().match(/[a-z0-9]+/g) ?? []
  return words.some((word) => word.length > PIECE_CHARS) ? undefined : words
}

/** A word as the user types it. One character of an unspaced script is the beginning of a pair more often than alone. */
export function demandOfWord(word: string): Demand {
  const runs = runsOf(fold(word))
  const last = runs.at(-1)
  const phrase = runs.flatMap(tokensOfRun)
  return { phrase, lastIs: last?.kind === 'pairs' && isSingle(last.text) ? 'beginning' : 'whole' }
}

export function demandOfLiteral(literal: string): Demand {
  if (/\p{Cs}/u.test(literal)) return { phrase: [], lastIs: 'whole' }
  const folded = fold(literal)
  const runs = runsOf(folded)
  const [first] = runs
  const open = first !== undefined && first.from === 0 && (first.kind === 'word' || isSingle(first.text))
  // The text may go on to the left of it, so it is the end of a token, not a token.
  if (!first || !open) return demandOfRuns(runs, folded.length)
  const within = runs.length === 1 ? head(first.text) : tail(first.text)
  return { ...demandOfRuns(runs.slice(1), folded.length), within }
}

function demandOfRuns(runs: Run[], end: number): Demand {
  const last = runs.at(-1)
  const open = last !== undefined && last.to === end && (last.kind === 'word' || isSingle(last.text))
  if (!last || !open) return { phrase: runs.flatMap(tokensOfRun), lastIs: 'whole' }
  return { phrase: [...runs.slice(0, -1).flatMap(tokensOfRun), head(last.text)], lastIs: 'beginning' }
}

/** Without case, width and accents. Character by character: a part of a text must give the same tokens as in the whole. */
function fold(text: string): string {
  return text.replace(FOLDABLE, foldCharacter).toLowerCase()
}

function foldCharacter(character: string): string {
  return character
    .normalize('NFKD')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]+/g, '')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ')
    .normalize('NFC')
}

function runsOf(folded: string): Run[] {
  return Array.from(folded.matchAll(RUNS), ({ 0: text, 1: unspaced, index }) => {
    return { kind: unspaced === undefined ? 'word' : 'pairs', text, from: index, to: index + text.length }
  })
}

function tokensOfRun({ kind, text }: Run): string[] {
  if (kind === 'pairs') return pairsOf(text)
  return text.length <= PIECE_CHARS ? [text] : pieces([...text])
}

function pieces(characters: string[]): string[] {
  const count = Math.max(1, Math.ceil((characters.length - PIECE_CHARS) / PART_CHARS) + 1)
  return Array.from({ length: count }, (_, n) =>
    characters.slice(n * PART_CHARS, n * PART_CHARS + PIECE_CHARS).join(''),
  )
}

function head(text: string): string {
  return text.length <= PART_CHARS ? text : [...text].slice(0, PART_CHARS).join('')
}

function tail(text: string): string {
  return text.length <= PART_CHARS ? text : [...text].slice(-PART_CHARS).join('')
}

function isSingle(text: string): boolean {
  return [...text].length === 1
}
