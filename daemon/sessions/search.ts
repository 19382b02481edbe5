/** Search over what was said: candidates from the index, their texts from the transcripts. Keeps nothing of what was asked. */
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Found, FoundList } from '../../schema/search.ts'
import type { Clock } from '../platform/clock.ts'
import { createLineRoom, handfuls, openReadBack } from '../platform/read-back.ts'
import { counted, withJson } from '../platform/ready-json.ts'
import { type Demand, demandOfLiteral, demandOfWord, tokenLook } from '../transcripts/message-tokens.ts'
import type { Asked, Candidate, MessageWords } from '../transcripts/message-words.ts'
import { parseQuery, type Query, type SearchRole } from './query.ts'
import { ranked } from './ranking.ts'
import { type Snippet, snippetsOf } from './snippet.ts'

export type Search = {
  /** The signal is made when it is asked for: most searches are over before anybody could hang up. */
  search(q: string, at: { cwd: string; caller: Caller; limit: number; signal: () => AbortSignal }): Promise<FoundList>
}

type Deps = {
  words: Pick<MessageWords, 'candidates'>
  /** The text of the message in a line; empty where there is nothing to find in it. */
  textAt: (harness: string, line: string) => string
  /** At once where that can be: to wait for each of many short texts takes longer than to look through them. */
  redact: (text: string) => { text: string } | Promise<{ text: string }>
  /** Whether a literal may be there only since credentials were taken out. */
  mayTouchMark: (literal: string) => boolean
  projectOf: (cwd: string, caller: Caller) => Promise<{ root: string; off: string | undefined }>
  clock: Pick<Clock, 'now'>
}

/** Candidates are ranked page by page, the newest page first: a word that stands everywhere costs no more than this. */
const PAGE = 2_000
/** Texts that are looked at before others get their turn: two milliseconds, and mostly all there are. */
const AT_ONCE = 32

export function createSearch({ words, textAt, redact, mayTouchMark, projectOf, clock }: Deps): Search {
  const room = createLineRoom()
  /** The text without credentials, if it is still there and has what was asked for. */
  const textOf = (raw: string | undefined, query: Query, wanted: Asked) => {
    // To take credentials out is slow, and most of what is not it can be told without.
    if (raw === undefined || !query.literals.every((one) => raw.includes(one) || mayTouchMark(one))) return undefined
    const ifAsked = ({ text }: { text: string }) =>
      query.literals.every((one) => text.includes(one)) && hasWords(text, wanted) ? text : undefined
    const redacted = redact(raw)
    return redacted instanceof Promise ? redacted.then(ifAsked) : ifAsked(redacted)
  }

  const find = async (query: Query, wanted: Asked, limit: number, signal: () => AbortSignal): Promise<Found[]> => {
    const readBack = openReadBack((harness, line) => textAt(harness, line) || undefined, room)
    const snippetOf = snippetsOf(query)
    const found: Found[] = []
    let looked = 0
    try {
      for (let before = Number.MAX_SAFE_INTEGER; ; ) {
        const page = words.candidates(wanted, { before, most: PAGE })
        for (const handful of handfuls(ranked(page, clock.now()), Math.min(limit, AT_ONCE))) {
          // The first are looked at in any case: that takes hardly longer than to find out whether anybody waits.
          if (looked++ > 0) signal().throwIfAborted()
          for (const [n, raw] of (await readBack.read(handful)).entries()) {
            const soon = textOf(raw, query, wanted)
            const text = soon instanceof Promise ? await soon : soon
            if (text !== undefined) found.push(toFound(handful[n] as Candidate, snippetOf(text)))
            if (found.length >= limit) return found
          }
        }
        const oldest = page.at(-1)
        if (!oldest || page.length < PAGE) return found
        before = oldest.id
      }
    } finally {
      readBack.close()
    }
  }

  return {
    search: async (q, { cwd, caller, limit, signal }) => {
      const { root, off } = await projectOf(cwd, caller)
      const query = parseQuery(q, clock.now())
      if ('refused' in query) throw new MemoryError('BAD_REQUEST', query.refused, { hint: query.hint })
      if (off !== undefined) return { items: [], skipped: 'off' }
      const wanted = askedOf(query, root)
      const items = await find(query, wanted, limit, signal)
      if (items.length > 0 || wanted.words.length < 2) return printed({ items })
      // Nobody said all of it: whoever said some of it may be meant.
      return printed({ items: await find(query, { ...wanted, match: 'any' }, limit, signal) })
    },
  }
}

/** Made here field by field as its schema has them, so that nothing is left to take away from it. */
function printed(list: FoundList): FoundList {
  return withJson(list, () => counted(JSON.stringify(list)))
}

function askedOf({ words, literals, session, role, sinceMs }: Query, project: string): Asked {
  const demands = words.map(demandOfWord).filter(({ phrase }) => phrase.length > 0)
  return {
    words: demands,
    match: 'all',
    literals: literals.map(demandOfLiteral),
    project,
    session,
    saidBy: role,
    sinceMs,
  }
}

/** A transcript that was written anew may have something else where the message stood. */
function hasWords(text: string, { words, match }: Asked): boolean {
  if (words.length === 0) return true
  const has = tokenLook(text)
  const meets = ({ phrase, lastIs }: Demand) =>
    phrase.every((token, at) => has(token, lastIs === 'beginning' && at === phrase.length - 1 ? 'beginning' : 'whole'))
  return match === 'all' ? words.every(meets) : words.some(meets)
}

function toFound(candidate: Candidate, { snippet, hits }: Snippet): Found {
  const { session, harness, uid, saidBy, at, path, offset, length } = candidate
  return {
    sessionId: session,
    harness,
    messageId: uid,
    role: saidBy as SearchRole,
    at: at === null ? null : new Date(at).toISOString(),
    snippet,
    hits,
    path,
    offset,
    length,
  }
}
