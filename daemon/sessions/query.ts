/** The language of transcript search: words, "literals", session:, role:, since:. Pure. */

export type SearchRole = 'person' | 'agent' | 'tool'

export type Query = {
  words: string[]
  /** Every one of them must stand in a text exactly as it is. */
  literals: string[]
  session?: string
  role?: SearchRole
  sinceMs?: number
}

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
    // What is no plain word may be a credential that slipped in: it is not said again.
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

/** A date without a time is its beginning in UTC. */
function sinceOf(value: string, nowMs: number): number | undefined {
  const [, count, unit] = /^(\d{1,5})([mhdw])$/.exec(value) ?? []
  if (count && unit) return nowMs - Number(count) * (UNIT_MS[unit] ?? 0)
  const at = DATE.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}
