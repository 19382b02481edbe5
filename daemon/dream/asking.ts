/** The question that a dream puts to a model, made of what there is. Reads the directory's manifest, asks nobody itself. */
import { loadIndex } from '../memory/index-file.ts'
import { manifest, scanMemories } from '../memory/scan.ts'
import { dreamDirective } from './directive.ts'
import type { Asking } from './dream.ts'
import { INDEX } from './state.ts'

type Question = { directive: string; shown: { file: string; hash: string }[] }

export function askForDream(asking: Asking, nowMs: number): Question {
  const { dir, root, seen, sessions, lastMs, drift, logs, maxDeletions } = asking
  const { items, older } = scanMemories(dir)
  const { content, truncated } = loadIndex(seen.index?.text ?? '')
  const directive = dreamDirective({
    ...{ dir, root, sessions, lastMs, drift, logs, maxDeletions, older },
    today: new Date(nowMs).toISOString().slice(0, 10),
    index: content,
    indexIsWhole: !truncated,
    manifest: manifest(items.filter(({ file }) => !file.startsWith('team/'))),
  })
  // Who has seen all of it need not read it again before it is changed.
  return { directive, shown: seen.index && !truncated ? [{ file: INDEX, hash: seen.index.hash }] : [] }
}
