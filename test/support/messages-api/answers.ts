/** What a script may let the server answer: a message, an error, or one of the ways in which a connection goes wrong. */
import type { Block } from './wire.ts'

export type SaidBlock = Extract<Block, { type: 'text' | 'tool_use' | 'thinking' }>

export type Said = {
  content: SaidBlock[]
  stop?: 'end_turn' | 'tool_use' | 'max_tokens' | 'refusal' | 'pause_turn' | 'model_context_window_exceeded'
  /** Instead of what the content amounts to. */
  outputTokens?: number
}

/** An error before the stream begins. */
export type Failed = { status: number; type: string; message: string; headers?: Record<string, string> }

export type Fault =
  /** The connection breaks in the middle of the message. */
  | { fault: 'cut'; of: Said }
  /** The stream ends in order, but too early. */
  | { fault: 'unfinished'; of: Said }
  /** Headers and a beginning, then nothing more. */
  | { fault: 'stall'; of: Said }
  /** Half of it, then so many pings, then the rest: slow, and alive all the time. `first` goes before everything. */
  | { fault: 'slow'; of: Said; everyMs: number; pings: number; first?: string }
  /** Accepts the request and never answers. */
  | { fault: 'silent' }
  /** An error event in the middle of the stream. */
  | { fault: 'error-event'; of: Said; type: string; message: string }
  /** Bytes that are no events, or no JSON in them, or events that do not fit each other. */
  | { fault: 'raw'; status?: number; contentType: string; body: string }
  /** The connection is closed without an answer. */
  | { fault: 'reset' }

export type Answer = Said | Failed | Fault

export const says = (text: string, more: Omit<Said, 'content'> = {}): Said => ({
  content: [{ type: 'text', text }],
  ...more,
})

/** Calls of tools, with ids that the caller chooses: real ones are random. */
export const calls = (...uses: { id: string; name: string; input: Record<string, unknown> }[]): Said => ({
  content: uses.map((use) => ({ type: 'tool_use', ...use })),
  stop: 'tool_use',
})

export const rateLimited = (retryAfterSeconds: number): Failed => ({
  status: 429,
  type: 'rate_limit_error',
  message: 'This request would exceed the rate limit of your organization',
  headers: { 'retry-after': String(retryAfterSeconds) },
})

export const overloaded: Failed = { status: 529, type: 'overloaded_error', message: 'Overloaded' }
export const broken: Failed = { status: 500, type: 'api_error', message: 'Internal server error' }
