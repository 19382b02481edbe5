/** What both ways of keeping something of a session are given and give back, by rules and by a model. */
import type { SaidMessage } from '../sessions/message-table.ts'

export type SessionKey = { harness: string; sessionId: string }

/** What is in the store with what is saved, and never without it. */
export type Along = { before(): void; takeBack(): void }

export type Slice = {
  key: SessionKey
  row: number
  cwd: string
  /** What is new, in order. */
  part: readonly SaidMessage[]
  signal: AbortSignal
  /** Whether the agent of the session wrote memories in it. */
  wroteItself: () => Promise<boolean>
  along: (files: string[]) => Along
  /** Whether the run is still the one that counts, and nothing was switched off since. */
  mayWrite: () => boolean
}

/** How many were saved, wait for review, were known already, and were refused. */
export type Counts = { saved: number; waiting: number; known: number; refused: number }

/** `of: 'part'`: the model could do nothing with this part; another one may go well. */
export type NotDone = (
  | { retry: string; afterMs?: number | undefined }
  | { wait: string; untilMs?: number | undefined }
  | { refuse: string }
) & { of?: 'part' | undefined }

/** `skip`: nothing was saved, and it has been looked at for good. `by`: where a model was to do it and could not. */
export type Kept =
  | (({ runId: string; counts: Counts; truncated?: true } | { skip: string }) & { by?: 'rules' })
  | { notDone: NotDone }

export function byHand(kept: Kept): Kept {
  return 'notDone' in kept ? kept : { ...kept, by: 'rules' }
}
