/** Finds credentials in a text: secretlint's rules and our own, over the text and its unescaped views. */
import { setImmediate as letOthersRun } from 'node:timers/promises'
import { findAssignments } from './assignments.ts'
import { findInCommands } from './commands.ts'
import { findInHeaders } from './headers.ts'
import { findNearby } from './nearby.ts'
import { loadPreset } from './preset.ts'
import { findPrivateKeys } from './private-keys.ts'
import { beyondMarks, merge, type Secret } from './ranges.ts'
import { findTokens } from './tokens.ts'
import { findInUrls } from './urls.ts'
import { viewsOf } from './views.ts'

/** From the surest to the vaguest: where two overlap, the earlier one names the finding. */
const detectors = [findPrivateKeys, findTokens, findNearby, findInUrls, findInHeaders, findInCommands, findAssignments]

/** Above this a text is scanned in turns with whatever else the process has to do. */
const LONG_TEXT = 50_000

/** Sorted, free of overlaps, in UTF-16 indexes of the text as it was given. */
export async function findSecrets(text: string): Promise<Secret[]> {
  const found: Secret[] = []
  const turn = async () => text.length > LONG_TEXT && letOthersRun()
  for (const { text: seen, originAt } of viewsOf(text)) {
    for (const detect of detectors) {
      for (const { kind, start, end } of detect(seen)) found.push({ kind, start: originAt(start), end: originAt(end) })
      await turn()
    }
  }
  for (const rule of await loadPreset()) {
    for (const secret of await rule(text)) found.push(secret)
    await turn()
  }
  return beyondMarks(text, merge(found))
}
