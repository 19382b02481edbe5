/** Search over what was said: candidates from the index, their texts from the transcripts. Keeps nothing of what was asked. */
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Found, FoundList } from '../../schema/session.ts'
import type { Core } from '../core.ts'
import type { Projects } from '../projects/projects.ts'
import { mayTouchMark } from '../secrets/credential.ts'
import { redact } from '../secrets/redact.ts'
import { textAt } from '../transcripts/digest.ts'
import {
  type Asked,
  type Candidate,
  createMessageSearch,
  type Demand,
  demandOfLiteral,
  demandOfWord,
  tokensOf,
} from '../transcripts/message-index.ts'
import { readBack } from '../transcripts/read-back.ts'

/** Candidates are ranked page by page, the newest page first: a word that stands everywhere costs no more than this. */
const PAGE = 2_000
/** Texts that are looked at before other work gets its turn: about two milliseconds. */
const AT_ONCE = 32

export function createSearch({ db, clock }: Core, projects: Projects) {
  const candidatesOf = createMessageSearch(db.index)
  const textOf = async (raw: string | undefined, query: Query, wanted: Asked): Promise<string | undefined> => {
    // Redaction is slow: most texts that do not match are told without it.
    if (!raw || !query.literals.every((one) => raw.includes(one) || mayTouchMark(one))) return undefined
    const { text } = await redact(raw)
    return query.literals.every((one) => text.includes(one)) && hasWords(text, wanted) ? text : undefined
  }

  function* candidates(wanted: Asked): Generator<Candidate> {
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const page = candidatesOf(wanted, { before, most: PAGE })
      yield* ranked(page, clock.now())
      const oldest = page.at(-1)
      if (!oldest || page.length < PAGE) return
      before = oldest.id
    }
  }

  const find = async (query: Query, wanted: Asked, limit: number, signal: () => AbortSignal): Promise<Found[]> => {
    const snippetOf = snippetsOf(query)
    const found: Found[] = []
    const turns = { linesAtOnce: Math.min(limit, AT_ONCE), onTurn: () => signal().throwIfAborted() }
    for await (const [candidate, raw] of readBack(candidates(wanted), textAt, turns)) {
      const text = await textOf(raw, query, wanted)
      if (text !== undefined) found.push(toFound(candidate, snippetOf(text)))
      if (found.length >= limit) break
    }
    return found
  }

  /** The signal is made when it is asked for: most searches are over before a caller could hang up. */
  return async (q: string, { cwd, caller, limit, signal }: At): Promise<FoundList> => {
    const { root, off } = projects.find(cwd, caller)
    const query = parseQuery(q, clock.now())
    if ('refused' in query) throw new MemoryError('BAD_REQUEST', query.refused, { hint: query.hint })
    if (off !== undefined) return { items: [], skipped: 'off' }
    const wanted = askedOf(query, root)
    const items = await find(query, wanted, limit, signal)
    if (items.length > 0 || wanted.words.length < 2) return { items }
    // No message has all of the words: those with some of them may be meant.
    return { items: await find(query, { ...wanted, match: 'any' }, limit, signal) }
  }
}

type At = { cwd: string; caller: Caller; limit: number; signal: () => AbortSignal }

function askedOf({ words, literals, session, role, sinceMs }: Query, project: string): Asked {
  const asked = words.map(demandOfWord).filter(({ phrase }) => phrase.length > 0)
  const demanded = literals.map(demandOfLiteral)
  return { words: asked, match: 'all', literals: demanded, project, session, saidBy: role, sinceMs }
}

/** A transcript that was written anew may have something else where the message stood. */
function hasWords(text: string, { words, match }: Asked): boolean {
  if (words.length === 0) return true
  const tokens = tokensOf(text)
  const meets = ({ phrase, lastIs }: Demand) =>
    phrase.every((asked, at) =>
      lastIs === 'beginning' && at === phrase.length - 1
        ? tokens.some((token) => token.startsWith(asked))
        : tokens.includes(asked),
    )
  return match === 'all' ? words.every(meets) : words.some(meets)
}

function toFound({ session, uid, saidBy, at, ...place }: Candidate, found: Snippet): Found {
  const { harness, path, offset, length } = place
  const message = { sessionId: session, harness, messageId: uid, role: saidBy as SearchRole }
  return { ...message, at: at === null ? null : new Date(at).toISOString(), ...found, path, offset, length }
}

type SearchRole = 'person' | 'agent' | 'tool'

export type Query = { words: string[]; literals: string[]; session?: string; role?: SearchRole; sinceMs?: number }

/** The words of a refusal never repeat what was asked: it may hold anything. */
export type Refused = { refused: string; hint: string }

/** A quote within quotes is doubled, so that a backslash is never more than a backslash; the end closes what is open. */
const PART = /(?:(session|role|since):)?"((?:[^"]|"")*)(?:"|$)|(session|role|since):([^\s"]*)|[^\s"]+/g
const ROLES: readonly string[] = ['person', 'agent', 'tool'] satisfies SearchRole[]
const UNIT_MS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const DATE = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]{4,12}(?:Z|[+-]\d{2}:\d{2})?)?$/

export function parseQuery(text: string, nowMs: number): Query | Refused {
  const query: Query = { words: [], literals: [] }
  const seen = new Set<string>()
  for (const [part, quotedFilter, quoted, plainFilter, plain] of text.matchAll(PART)) {
    const filter = quotedFilter ?? plainFilter
    const value = quoted === undefined ? plain : quoted.replaceAll('""', '"')
    if (filter === undefined) {
      if (quoted === undefined) query.words.push(part)
      else if (value) query.literals.push(value)
      continue
    }
    if (seen.has(filter)) return { refused: `${filter}: is given twice`, hint: 'give it once' }
    seen.add(filter)
    const refused = narrow(query, filter, value ?? '', nowMs)
    if (refused) return refused
  }
  if (query.literals.length > 0 || query.words.some((word) => /[\p{L}\p{N}]/u.test(word))) return query
  return { refused: 'there is nothing to search for', hint: 'add a word, or put signs into quotes: "=>"' }
}

function narrow(query: Query, filter: string, value: string, nowMs: number): Refused | undefined {
  if (filter === 'session') {
    if (value === '') return { refused: 'session: names no session', hint: 'write session:<id>' }
    query.session = value
    return undefined
  }
  if (filter === 'role') {
    // Anything but a plain word may be a credential: it is not repeated.
    const named = /^[a-z]{1,12}$/i.test(value) ? value : ''
    if (!ROLES.includes(value))
      return { refused: `role:${named} is none there is`, hint: 'write role:person, agent or tool' }
    query.role = value as SearchRole
    return undefined
  }
  const since = sinceOf(value, nowMs)
  if (since === undefined)
    return { refused: 'since: is no time', hint: 'write since:2026-03-01, since:7d or since:12h' }
  query.sinceMs = since
  return undefined
}

function sinceOf(value: string, nowMs: number): number | undefined {
  const [, count, unit] = /^(\d{1,5})([mhdw])$/.exec(value) ?? []
  if (count && unit) return nowMs - Number(count) * (UNIT_MS[unit] ?? 0)
  const at = DATE.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}

/** What was said just now counts twice, what was said this long ago one and a half times. */
const HALF_LIFE_MS = 14 * 86_400_000

export function ranked(candidates: readonly Candidate[], nowMs: number): Candidate[] {
  const worth = new Map(candidates.map((candidate) => [candidate, worthOf(candidate, nowMs)]))
  const by = (candidate: Candidate) => worth.get(candidate) ?? 0
  return [...candidates].sort((a, b) => by(b) - by(a) || (b.at ?? 0) - (a.at ?? 0) || b.id - a.id)
}

function worthOf({ score, at }: Candidate, nowMs: number): number {
  // A clock that was set back must not make yesterday the future.
  const recent = at === null ? 0 : 2 ** (-Math.max(0, nowMs - at) / HALF_LIFE_MS)
  return -score * (1 + recent)
}

type Hit = { from: number; to: number }
type Snippet = { snippet: string; hits: Hit[] }

const BEFORE_CHARS = 60
const SNIPPET_CHARS = 240

type Look = (text: string, from: number) => Hit | undefined

function snippetsOf(asked: Pick<Query, 'words' | 'literals'>): (text: string) => Snippet {
  const looks = [...asked.literals.filter(Boolean).map(forLiteral), ...asked.words.flatMap(forWord)]
  /** In another case a word may be twice as long. */
  const longest = 2 * Math.max(0, ...[...asked.words, ...asked.literals].map(({ length }) => length))
  return (text) => {
    const from = whole(text, Math.max(0, firstIn(text, looks) - BEFORE_CHARS))
    const to = whole(text, Math.min(text.length, from + SNIPPET_CHARS))
    const before = from > 0 ? '…' : ''
    // Character for character, so that hits stay where they are. Most white space is what it is to become.
    const snippet = `${before}${text.slice(from, to).replace(/[^\S ]/g, ' ')}${to < text.length ? '…' : ''}`
    const hits: Hit[] = []
    for (const hit of hitsIn(text.slice(from, to + longest), looks))
      if (hit.from < to - from)
        hits.push({ from: hit.from + before.length, to: Math.min(hit.to, to - from) + before.length })
    return { snippet, hits }
  }
}

function forLiteral(literal: string): Look {
  return (text, from) => {
    const at = text.indexOf(literal, from)
    return at === -1 ? undefined : { from: at, to: at + literal.length }
  }
}

function forWord(typed: string): Look[] {
  return (typed.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).map((word) => {
    const pattern = new RegExp(word, 'giu')
    return (text, from) => {
      pattern.lastIndex = from
      const hit = pattern.exec(text)
      return hit ? { from: hit.index, to: hit.index + hit[0].length } : undefined
    }
  })
}

function firstIn(text: string, looks: readonly Look[]): number {
  let first = text.length
  for (const look of looks) first = Math.min(first, look(text, 0)?.from ?? first)
  return first === text.length ? 0 : first
}

function hitsIn(text: string, looks: readonly Look[]): Hit[] {
  const found: Hit[] = []
  for (const look of looks) for (let hit = look(text, 0); hit; hit = look(text, hit.to)) found.push(hit)
  const kept: Hit[] = []
  for (const hit of found.sort((a, b) => a.from - b.from || b.to - a.to))
    if (hit.from >= (kept.at(-1)?.to ?? 0)) kept.push(hit)
  return kept
}

function whole(text: string, at: number): number {
  return /[\uDC00-\uDFFF]/.test(text[at] ?? '') && at > 0 ? at - 1 : at
}
