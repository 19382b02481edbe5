/** Finds credentials in a text: secretlint's rules and our own, over the text and its unescaped views. */
import { setImmediate as othersTurn } from 'node:timers/promises'
import { findInHeaders, findInUrls } from './addresses.ts'
import { findAssignments } from './assignments.ts'
import { findInCommands, findInPasswordFiles } from './commands.ts'
import { type Kind, MARK, markOf, type Starts } from './credential.ts'
import { type Detector, type Needs, needsOf } from './prefilter.ts'
import { findPrivateKeys } from './private-keys.ts'
import { loadPreset } from './secretlint.ts'
import { findNearby, findTokens } from './tokens.ts'

/** From the surest to the vaguest: where two overlap, the earlier one names the finding. */
const detectors: readonly (readonly [Detector, (text: string, starts: Starts) => Secret[]])[] = [
  ['private-keys', findPrivateKeys],
  ['tokens', findTokens],
  ['nearby', findNearby],
  ['urls', findInUrls],
  ['headers', findInHeaders],
  ['commands', findInCommands],
  ['password-files', findInPasswordFiles],
  ['assignments', findAssignments],
]

/** Above this a text is scanned in turns with whatever else the process has to do. */
const LONG_TEXT = 50_000

/** Sorted, without overlaps, in UTF-16 indexes. */
export function findSecrets(text: string): Promise<Secret[]> {
  return findWith(text, needsOf)
}

/** `later` for long texts and for those in which a rule of the preset, which are asynchronous, may find something. */
function findNow(text: string): Secret[] | 'later' {
  if (text.length > LONG_TEXT) return 'later'
  const given = needsOf(text)
  if (given.ofPreset) return 'later'
  return beyondMarks(text, merge([...ownRules(text, given, needsOf)].flat()))
}

export async function findWith(text: string, needs: (text: string) => Needs): Promise<Secret[]> {
  const found: Secret[] = []
  const turn = async () => text.length > LONG_TEXT && othersTurn()
  const given = needs(text)
  for (const secrets of ownRules(text, given, needs)) {
    for (const secret of secrets) found.push(secret)
    await turn()
  }
  for (const { name, find } of given.ofPreset ? await loadPreset() : []) {
    if (!given.preset(name)) continue
    for (const secret of await find(text)) found.push(secret)
    await turn()
  }
  return beyondMarks(text, merge(found))
}

function* ownRules(text: string, given: Needs, needs: (text: string) => Needs): Generator<Secret[]> {
  const views = given.detector('escapes') ? viewsOf(text) : [asItIs(text)]
  for (const { text: seen, originAt } of views) {
    const wanted = seen === text ? given : needs(seen)
    for (const [name, detect] of detectors)
      if (wanted.detector(name))
        yield detect(seen, wanted.starts(name)).map(({ kind, start, end }) => ({
          kind,
          start: originAt(start),
          end: originAt(end),
        }))
  }
}

export type Redacted = { text: string; kinds: Kind[] }

/** A credential may show only once its neighbour is gone; a text that needs more rounds was built to need them. */
const MAX_ROUNDS = 12

export function redactText(text: string): Redacted | Promise<Redacted> {
  const secrets = findNow(text)
  if (secrets === 'later') return findSecrets(text).then((found) => redactFound(text, found))
  return secrets.length === 0 ? { text, kinds: [] } : redactFound(text, secrets)
}

async function redactFound(text: string, found: Secret[]): Promise<Redacted> {
  const kinds = new Set<Kind>()
  let clean = text
  let secrets = found
  for (let round = 1; secrets.length > 0; round++) {
    for (const { kind } of secrets) kinds.add(kind)
    clean = replace(clean, secrets)
    secrets = round < MAX_ROUNDS ? await findSecrets(clean) : []
  }
  return { text: clean, kinds: [...kinds].sort() }
}

function replace(text: string, secrets: Secret[]): string {
  let from = 0
  const parts = secrets.flatMap(({ kind, start, end }) => {
    const before = text.slice(from, start)
    from = end
    return [before, markOf(kind)]
  })
  return [...parts, text.slice(from)].join('')
}

export type Secret = { kind: Kind; start: number; end: number }

/** Where findings overlap, the range covers all of them and the first in the list names it. */
export function merge(found: readonly Secret[]): Secret[] {
  const ranked = found.map((secret, rank) => ({ ...secret, rank })).sort((a, b) => a.start - b.start || a.rank - b.rank)
  const merged: (Secret & { rank: number })[] = []
  for (const next of ranked) {
    if (next.end <= next.start) continue
    const last = merged.at(-1)
    if (!last || next.start >= last.end) {
      merged.push({ ...next })
      continue
    }
    last.end = Math.max(last.end, next.end)
    if (next.rank < last.rank) {
      last.rank = next.rank
      last.kind = next.kind
    }
  }
  return merged.map(({ kind, start, end }) => ({ kind, start, end }))
}

/** A finding that covers only marks of an earlier redaction is none; one that touches a mark takes the whole of it along. */
export function beyondMarks(text: string, secrets: readonly Secret[]): Secret[] {
  if (secrets.length === 0) return []
  const marks = [...text.matchAll(MARK)].map((match) => ({ start: match.index, end: match.index + match[0].length }))
  let first = 0
  const kept = secrets.flatMap((secret) => {
    while (first < marks.length && (marks[first]?.end ?? 0) <= secret.start) first++
    let { start, end } = secret
    let bare = end - start
    for (let at = first; at < marks.length; at++) {
      const mark = marks[at]
      if (!mark || mark.start >= end) break
      bare -= Math.min(mark.end, secret.end) - Math.max(mark.start, secret.start)
      start = Math.min(start, mark.start)
      end = Math.max(end, mark.end)
    }
    return bare > 0 ? [{ kind: secret.kind, start, end }] : []
  })
  return merge(kept)
}

/** Escapes of JSON, URLs and HTML are undone. `originAt`: where in the original text a character came from. */
type View = { text: string; originAt: (index: number) => number }

/** JSON in JSON in a URL. Deeper nesting is nothing that programs write by accident. */
const MAX_LAYERS = 3

const ESCAPE =
  /%[0-9A-Fa-f]{2}|\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[nrtbf"'\\/])|&(?:quot|amp|apos|lt|gt|#\d{2,5}|#x[0-9A-Fa-f]{2,4});/g

function asItIs(text: string): View {
  return { text, originAt: (index) => index }
}

function viewsOf(text: string): View[] {
  const views: View[] = []
  let next: View | undefined = asItIs(text)
  for (; next && views.length <= MAX_LAYERS; next = unescaped(next)) views.push(next)
  return views
}

function unescaped({ text, originAt }: View): View | undefined {
  const parts: string[] = []
  // Per escape: where it stands in the new text, and how far the old text is ahead from there on.
  const positions: number[] = []
  const leads: number[] = []
  let copied = 0
  let length = 0
  for (const match of text.matchAll(ESCAPE)) {
    const char = characterOf(match[0])
    if (char === undefined) continue
    parts.push(text.slice(copied, match.index), char)
    length += match.index - copied + char.length
    copied = match.index + match[0].length
    positions.push(length)
    leads.push(copied - length)
  }
  if (positions.length === 0) return undefined
  parts.push(text.slice(copied))
  return { text: parts.join(''), originAt: (index) => originAt(index + leadAt(index, positions, leads)) }
}

function leadAt(index: number, positions: number[], leads: number[]): number {
  let low = 0
  let high = positions.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((positions[middle] ?? 0) <= index) low = middle + 1
    else high = middle
  }
  return leads[low - 1] ?? 0
}

const NAMED: Record<string, string> = { quot: '"', amp: '&', apos: "'", lt: '<', gt: '>' }
const LETTERS: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: ' ', f: ' ' }

/** Undefined for bytes of a longer UTF-8 sequence and for control characters: they part no credential. */
function characterOf(written: string): string | undefined {
  const [first, second = ''] = written
  if (first === '%') return printable(Number.parseInt(written.slice(1), 16))
  if (first === '\\') {
    if (second === 'u' || second === 'x') return printable(Number.parseInt(written.slice(2), 16))
    return LETTERS[second] ?? second
  }
  const name = written.slice(1, -1)
  if (name.startsWith('#x')) return printable(Number.parseInt(name.slice(2), 16))
  return NAMED[name] ?? printable(Number.parseInt(name.slice(1), 10))
}

function printable(code: number): string | undefined {
  if (code === 9 || code === 10 || code === 13) return String.fromCharCode(code)
  return code >= 0x20 && code !== 0x7f && (code < 0x7f || code > 0x9f) && code < 0xd800
    ? String.fromCharCode(code)
    : undefined
}
