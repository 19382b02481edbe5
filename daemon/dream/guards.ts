/**
 * Looks at what a dream would leave, without a model: whether anything is lost that nobody said could go. What it finds turns
 * the run into something that a person decides about. Names no memory: its words stay when a memory is purged. Pure.
 */
import type { Texts } from './state.ts'
import { rareWords, shareOf, topicWords } from './words.ts'

export type Guarded = {
  before: Texts
  after: Texts
  /** The index as it would be without the model, and as it would be with it. */
  index: { before: string; after: string }
  maxDeletions: number
}

/** A memory that keeps less than this of its words was rewritten into another. */
const KEPT_AT_LEAST = 0.2
/** So much of it has to stand in one other memory, or it is gone. */
const FOUND_AT_LEAST = 0.5

export function structuralLoss(guarded: Guarded): string[] {
  const { before, after, index, maxDeletions } = guarded
  const deleted = [...before.keys()].filter((file) => !after.has(file)).length
  const lost = lostAmong(before, after).length
  const bytes = { before: Buffer.byteLength(index.before), after: Buffer.byteLength(index.after) }
  return [
    ...(lost > 0
      ? [`${counted(lost, 'memory', 'memories')} would be gone, and what was said there stands nowhere else`]
      : []),
    ...(deleted > maxDeletions
      ? [`${counted(deleted, 'memory', 'memories')} would be deleted, and at most ${maxDeletions} may be`]
      : []),
    ...(bytes.after * 2 < bytes.before
      ? [`the index would shrink by more than half, from ${bytes.before} to ${bytes.after} bytes`]
      : []),
  ]
}

/** Memories that were there and of whose words too little is left, in their own file and in any other. */
export function lostAmong(before: Texts, after: Texts): string[] {
  const known = new Map([...after].map(([file, text]) => [file, topicWords(text)]))
  const rare = rareWords(before.values())
  return [...before].flatMap(([file, text]) => {
    if (after.get(file) === text) return []
    const words = rare(text)
    if (shareOf(words, known.get(file) ?? new Set()) >= KEPT_AT_LEAST && known.has(file)) return []
    return foundIn(words, known, file) === undefined ? [file] : []
  })
}

/** The memory that says most of it, if one says enough. */
export function foundIn(
  words: ReadonlySet<string>,
  known: ReadonlyMap<string, ReadonlySet<string>>,
  except: string,
): string | undefined {
  let best: { file: string; share: number } | undefined
  for (const [file, others] of known) {
    if (file === except) continue
    const share = shareOf(words, others)
    if (share >= FOUND_AT_LEAST && share > (best?.share ?? 0)) best = { file, share }
  }
  return best?.file
}

function counted(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`
}
