/** What the main thread and the one that reads say to each other. Types only. */

import type { Source } from './formats/formats.ts'
import type { Progress } from './ingest.ts'
import type { Due } from './lanes.ts'
import type { Turn } from './live-chain.ts'
import type { PushedTurn } from './pushed-lines.ts'

export type ThreadData = {
  indexFile: string
  backlogDays: number
}

/** `turn` grows with everything that is asked: the answer `idle` names the last one that is done. */
export type ToThread =
  | { kind: 'read'; turn: number; due: Due[]; privatePaths: readonly string[] }
  | { kind: 'turns'; turn: number; ask: number; sources: Source[] }
  | { kind: 'lines'; turn: number; ask: number; pushed: PushedTurn }
  | { kind: 'end' }

export type Failed = { message: string; code?: string }

export type FromThread =
  | { kind: 'progress'; source: Source; progress: Progress }
  | { kind: 'failed'; source: Source; error: Failed }
  /** However far it was read, it has to be read from its beginning. */
  | { kind: 'again'; source: Source }
  | { kind: 'turns'; ask: number; answer: Turn[] | Failed }
  | { kind: 'lines'; ask: number; answer: string[] | Failed }
  | { kind: 'idle'; turn: number }
  /** It cannot begin, and ends. Said in words of its own: an error of SQLite does not cross threads, all that arrives is `{}`. */
  | { kind: 'broken'; error: Failed }
