/**
 * What a run has changed so far, in memory only: nothing is on disk before the run has ended well, and nothing has to be
 * taken back when it has not. Decides nothing.
 */
import type { Evidence } from '../memory/journal.ts'

/**
 * `file`: from the memory directory on. `content`: `null` takes it away. `expect`: the hash of what was there when the run
 * first saw it, `null` for nothing. In the form in which the gate takes it.
 */
export type Draft = {
  file: string
  content: string | null
  expect: string | null
  because: { reason: string; evidence: readonly Evidence[] }
}

export type Overlay = {
  get(file: string): Draft | undefined
  put(draft: Draft): void
  /** In the order of their last change; a file that was made and taken away again is none. */
  drafts(): Draft[]
}

export function createOverlay(): Overlay {
  const drafts = new Map<string, Draft>()
  return {
    get: (file) => drafts.get(file),
    put: (draft) => {
      const earlier = drafts.get(draft.file)
      drafts.delete(draft.file)
      const evidence = merged(earlier?.because.evidence ?? [], draft.because.evidence)
      drafts.set(draft.file, { ...draft, because: { reason: draft.because.reason, evidence } })
    },
    drafts: () => [...drafts.values()].filter(({ content, expect }) => content !== null || expect !== null),
  }
}

function merged(earlier: readonly Evidence[], later: readonly Evidence[]): Evidence[] {
  const known = new Set(earlier.map((each) => JSON.stringify(each)))
  return [...earlier, ...later.filter((each) => !known.has(JSON.stringify(each)))]
}
