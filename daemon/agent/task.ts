/** What a caller asks of a run: its task, what it may do and how long, and what it may change. */
import type { Evidence } from '../memory/journal.ts'
import type { Usage } from '../models/wire.ts'
import type { Prefix } from './prefix.ts'

/**
 * `memory`: reads what is in reach and changes memories (extraction, dream). `notes`: edits that one file, the only one of
 * its folder. `nothing`: a summary is text.
 */
export type Policy = { may: 'memory' } | { may: 'notes'; file: string } | { may: 'nothing' }

export type Reach = {
  /** Where relative paths begin. */
  memoryDir: string
  /** Folders besides it that may be read: the project, transcripts. */
  readable: readonly string[]
  /** Single files that may be read, and nothing beside them. */
  files?: readonly string[]
  /** Never, though they may be inside: what the daemon keeps for itself. */
  closed: readonly string[]
}

/** `turns`: answers of the model. `usd`: left out where the price of the model is unknown. */
export type Limits = { turns: number; outputTokens: number; wallMs: number; usd?: number }

/** `usage`: of this one alone. */
export type Turn = { turn: number; text: string; tools: string[]; usage: Usage }

/**
 * `file`: from the memory directory on. `content`: `null` takes it away. `expect`: the hash of what was there when the run
 * first saw it, `null` for nothing.
 */
export type Draft = {
  file: string
  content: string | null
  expect: string | null
  because: { reason: string; evidence: readonly Evidence[] }
}

export type Task = {
  /** What for: extraction, notes, dream, compaction. The reason of a change where the model gives none. */
  job: string
  /** The project for which its cost is counted. */
  project?: string
  prefix: Prefix
  directive: string
  policy: Policy
  reach: Reach
  limits: Limits
  maxTokens: number
  /** Extraction keeps what was accepted until then; for everything else it is a failure. */
  atTurnLimit: 'apply' | 'fail'
  /** `changed`: one answer whose changes were all accepted is enough; to be told so costs another call. */
  until?: 'done' | 'changed'
  /** Files that the directive itself has shown, from the memory directory on, and the SHA-256 of what it has shown. */
  shown?: readonly { file: string; hash: string }[]
  /** Everything that would refuse the change when it is applied; `undefined` when nothing would. */
  check: (draft: Draft) => Promise<string | undefined>
  /** What the named messages say, or those that the content itself names; a change that rests on none that counts is refused. */
  cite: (ids: readonly string[], content: string | null) => { evidence: Evidence[] } | { refused: string }
  /** All of it or nothing. Not called where nothing was changed. */
  apply: (drafts: readonly Draft[]) => Promise<unknown>
  /** Whether the job may still write. */
  ownsLease: () => boolean
  signal: AbortSignal
  onTurn?: (turn: Turn & { files: string[] }) => void
  /** What its tools have shown the model. */
  onShown?: (text: string) => void
}
