/** What is to be changed, by whom, and what was seen before it: the words the gate and its parts share. Types only. */

import type { Present } from './folder.ts'
import type { Evidence, Op } from './journal.ts'
import type { Judged } from './judge.ts'

export type Write = {
  file: string
  /** `null` deletes. */
  content: string | null
  /** What the writer believes to be there: a hash, nothing (`null`), or whatever is there (`undefined`). */
  expect?: string | null | undefined
  form?: 'checked' | 'as-it-was'
  /** What a deletion leaves in the journal. With `nothing` there need not even be a file. */
  leaves?: 'history' | 'nothing'
  /** Why this one, and what it rests on, where the writes of a run differ in that. */
  because?: { reason: string; evidence: readonly Evidence[] }
}

/** Who changes, why, and what it rests on. */
export type By = {
  actor: string
  reason: string
  runId?: string | undefined
  evidence?: readonly Evidence[]
  op?: Op
}

/** Looked at, checked and cleaned. */
export type Prepared = { write: Write; before: Present | undefined; beforeText: string; judged: Judged | undefined }
