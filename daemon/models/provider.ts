/** What it is to ask a model, whoever answers: the request, the answer, and every way it can fail as a value. */
import type { z } from 'zod'

/** How long a prompt up to here stays in the cache of whoever answers. */
export type CacheControl = '5m' | '1h'

type Marked = { cacheControl?: CacheControl }

export type TextBlock = { type: 'text'; text: string } & Marked
export type ToolUseBlock = { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> } & Marked
export type ToolResultBlock = {
  type: 'tool_result'
  toolUseId: string
  content: string | TextBlock[]
  isError?: boolean
} & Marked
/** What is only ever sent back as it came, such as thoughts: `wire` is in the form of the API. */
export type OpaqueBlock = { type: 'opaque'; wire: Record<string, unknown> }

export type Block = TextBlock | ToolUseBlock | ToolResultBlock | OpaqueBlock
export type SystemBlock = TextBlock
export type Message = { role: 'user' | 'assistant'; content: Block[] }
export type ToolSpec = { name: string; description: string; inputSchema: Record<string, unknown> } & Marked

export type ModelRequest = {
  model: string
  system: SystemBlock[]
  tools: ToolSpec[]
  messages: Message[]
  maxTokens: number
  /** Passed through unchanged: part of the prefix of a harness. */
  thinking?: unknown
  /**
   * A harness's own request parameters, byte for byte, to which `messages` are appended. They say everything else too:
   * model, system, tools and thinking above are not looked at, and `maxTokens` only where they name none.
   */
  raw?: Record<string, unknown>
  /** The answer must be JSON of this form. It is written into the prompt too: local servers know no other way. */
  outputSchema?: z.ZodType
}

/** Tokens. `input` is what no cache had a part in; the four never overlap. */
export type Usage = { input: number; cacheRead: number; cacheWrite: number; output: number; cacheWrite1h?: number }

export type ModelAnswer = {
  content: Block[]
  stop: string
  usage: Usage
  requestId: string | undefined
  latencyMs: number
  /** With `outputSchema`: what the answer says, checked. */
  output?: unknown
}

export type ModelFailure = {
  failed:
    | 'rate-limit'
    | 'overloaded'
    | 'server'
    | 'network'
    | 'idle'
    | 'cut'
    | 'aborted'
    | 'auth'
    | 'bad-request'
    | 'refused'
    | 'garbage'
    /** No key, or no model is wanted: nothing was sent. */
    | 'offline'
    /** The day's money is used up: nothing was sent, and nothing will be before `untilMs`. */
    | 'budget'
  message: string
  /** What a server answered with. */
  status?: number
  retryAfterMs?: number
  untilMs?: number
  /** What was used up all the same. */
  usage?: Usage
  /** Whether `usage` is the last word. Absent, nobody can tell what the call cost. */
  spent?: 'nothing' | 'final'
  /** The same request will fail the same way until somebody changes something. */
  permanent: boolean
  requestId?: string
}

/** Streams; never retries: whoever runs the job does, in one place. */
export type Provider = {
  call(request: ModelRequest, at: { signal: AbortSignal }): Promise<ModelAnswer | ModelFailure>
}
