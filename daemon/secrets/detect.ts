/** Finds credentials in a text: secretlint's rules and our own, over the text and its unescaped views. */
import { setImmediate as othersTurn } from 'node:timers/promises'
import { findAssignments } from './assignments.ts'
import { findInCommands, findInPasswordFiles } from './commands.ts'
import type { Starts } from './from-starts.ts'
import { findInHeaders } from './headers.ts'
import { type Kind, MARK, markOf } from './kinds.ts'
import { findNearby } from './nearby.ts'
import { type Detector, type Needs, needsOf } from './needs.ts'
import { loadedPreset, loadPreset } from './preset.ts'
import { findPrivateKeys } from './private-keys.ts'
import { findTokens } from './tokens.ts'
import { findInUrls } from './urls.ts'
import { asItIs, viewsOf } from './views.ts'

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

/** Sorted, free of overlaps, in UTF-16 indexes of the text as it was given. */
export function findSecrets(text: string): Promise<Secret[]> {
  return findWith(text, needsOf)
}

/** The same at once, but for long texts and for those in which a rule of the preset may find something. */
export function findNow(text: string): Secret[] | 'later' {
  // Where each of its rules is known, one look at the text tells of all of them.
  if (loadedPreset() !== 'known' || text.length > LONG_TEXT) return 'later'
  const given = needsOf(text)
  if (given.ofPreset) return 'later'
  if (given.none) return []
  const found: Secret[] = []
  for (const secrets of ownRules(text, given, needsOf)) for (const secret of secrets) found.push(secret)
  return tidied(text, found)
}

/** `needs`: which rules can find anything in a text at all. */
export async function findWith(text: string, needs: (text: string) => Needs): Promise<Secret[]> {
  const found: Secret[] = []
  const turn = async () => text.length > LONG_TEXT && othersTurn()
  const given = needs(text)
  for (const secrets of ownRules(text, given, needs)) {
    for (const secret of secrets) found.push(secret)
    await turn()
  }
  for (const { name, find } of await loadPreset()) {
    if (!given.preset(name)) continue
    for (const secret of await find(text)) found.push(secret)
    await turn()
  }
  return tidied(text, found)
}

/** Rule by rule, over the text and its views. */
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

function tidied(text: string, found: readonly Secret[]): Secret[] {
  return found.length === 0 ? [] : beyondMarks(text, merge(found))
}

/** Takes credentials out of a text, leaving a mark that says what was there. */

export type Redacted = { text: string; kinds: Kind[] }

/** What was hidden by its neighbour shows once that is gone; a text that needs more rounds was built to need them. */
const MAX_ROUNDS = 12

/** Without a promise for short texts in which no rule of secretlint can find anything. */
export function redactText(text: string): Redacted | Promise<Redacted> {
  const secrets = findNow(text)
  if (secrets === 'later') return findSecrets(text).then((found) => redactFound(text, found))
  return secrets.length === 0 ? { text, kinds: [] } : redactFound(text, secrets)
}

/** `found`: what the first round found. */
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

/** Where credentials sit in a text, in UTF-16 indexes. Pure arithmetic on ranges; knows nothing of what a credential is. */

export type Secret = { kind: Kind; start: number; end: number }

/** Sorted and free of overlaps. Where findings overlap, the range covers all of them and the first in the list names it. */
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

/**
 * Takes the marks of an earlier redaction into account: what covers nothing but marks is no finding, and what touches
 * one takes the whole of it along, so that no half mark is left behind.
 */
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
