/** The hooks of Codex, which come in the form of Claude Code's. Pure. */
import { asContext, sharedEventOf } from './claude-code.ts'
import type { Harness } from './hook.ts'

export const codex: Harness = {
  name: 'codex',
  eventOf: sharedEventOf,
  print: asContext,
  index: 'ours',
  // About 10 KB: with other letters than ours that is fewer units.
  capUnits: 9_000,
}
