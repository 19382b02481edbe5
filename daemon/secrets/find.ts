/** Finds credentials in a text: secretlint's rules and our own, over the text and its unescaped views. */
import { setImmediate as othersTurn } from 'node:timers/promises'
import { findAssignments } from './assignments.ts'
import { findInCommands, findInPasswordFiles } from './commands.ts'
import type { Starts } from './from-starts.ts'
import { findInHeaders } from './headers.ts'
import { findNearby } from './nearby.ts'
import { type Detector, type Needs, needsOf } from './needs.ts'
import { loadedPreset, loadPreset } from './preset.ts'
import { findPrivateKeys } from './private-keys.ts'
import { beyondMarks, merge, type Secret } from './ranges.ts'
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
