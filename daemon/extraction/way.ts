/** What both ways of keeping something of a session are given and give back, by rules and by a model. Types only. */
import type { SaidMessage } from '../store/said.ts'

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
  stillOurs: () => boolean
}

/** How many were saved, wait for review, were known already, and were refused. */
export type Counts = { saved: number; waiting: number; known: number; refused: number }

export type NotDone =
  | { retry: string; afterMs?: number | undefined }
  | { wait: string; untilMs?: number | undefined }
  | { refuse: string }

/** `skip`: nothing was saved, and it has been looked at for good. */
export type Kept = { runId: string; counts: Counts; truncated?: true } | { skip: string } | { notDone: NotDone }
