/** The words in which every transcript is told, whatever harness wrote it. Types only. */

/** `injected`: put there by a harness, a hook or this program, and said by nobody. `system`: a record of the harness. */
export type By = 'person' | 'agent' | 'tool' | 'injected' | 'system'

/** Input without what came from or went into a cache, so that the four add up to what was processed. */
export type Usage = { input: number; output: number; cacheRead: number; cacheWrite: number }

/** The input is the command of a shell, and else compact JSON. */
export type ToolCall = { id: string; name: string; input: string }
export type ToolResult = { callId: string; text: string }

/** `settling`: the harness marks no end; it is one if nothing follows for a while. */
export type End = 'final' | 'aborted' | 'settling'

export type Message = {
  kind: 'message'
  by: By
  /** What a person or an agent said, without private spans and without anything injected; empty for everything else. */
  text: string
  toolCalls: ToolCall[]
  toolResults: ToolResult[]
  /** Absent where the line has none: whoever knows its place can name it by that. */
  id?: string
  /** `null` begins a chain; absent means that it follows the message before it. */
  parentId?: string | null
  /** Milliseconds since 1970. */
  at?: number
  /** Where it was said, in minutes east of Greenwich, if the line tells. */
  minutesEast?: number
  /** Lines that share it are parts of one answer, and each repeats the usage of the whole. */
  answerId?: string
  usage?: Usage
  /** A count over the session so far, and how much of it is new. */
  total?: { usage: Usage; last: Usage }
  model?: string
  cwd?: string
  branch?: string
  /** Whose conversation it is when it is not that of the session itself. */
  subAgent?: string
  /** A turn may begin here. */
  startsTurn?: true
  /** The turn as the harness names it: what is said within one it already runs begins no other. */
  turnId?: string
  ends?: End
}

/** What a line tells about the session, true from there on. */
export type SessionFact = {
  kind: 'session'
  sessionId?: string
  /** The transcript is that of a sub-agent of the session. */
  subAgent?: string
  forkOf?: string
  cwd?: string
  branch?: string
  model?: string
  startedAt?: number
  /** Whether a person sits at it, where the harness says so. */
  interactive?: boolean
}

export type Compacted = { kind: 'compacted'; trigger?: 'manual' | 'auto'; at?: number }

/** Dropped: a message and all that came after it, or the last turns. */
export type Rewound = { kind: 'rewound'; from: string } | { kind: 'rewound'; turns: number }

export type Fact =
  | Message
  | SessionFact
  | Compacted
  | Rewound
  | { kind: 'bookkeeping' }
  | { kind: 'unknown'; type: string }
  | { kind: 'broken' }
