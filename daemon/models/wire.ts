/** A request of ours in the form of the Messages API, credentials taken out. Sends nothing. */
import type Anthropic from '@anthropic-ai/sdk'
import type { APIError } from '@anthropic-ai/sdk'
import { z } from 'zod'
import { createTurns } from '../platform/queue.ts'
import { redact } from '../secrets/redact.ts'

export type Params = Anthropic.MessageCreateParamsStreaming
type Json = Record<string, unknown>
type Turns = ReturnType<typeof createTurns>

/** Tools as they were sent before: they are the same for most that is asked. */
export type SentTools = WeakMap<readonly ToolSpec[], Json[]>

/** What is sent, and what is to be made of the answer. */
export type Prepared = { params: Params; outputSchema?: z.ZodType | undefined }

export async function prepare(request: ModelRequest, sentTools: SentTools): Promise<Prepared> {
  const turns = createTurns()
  const { outputSchema } = request
  const schema = outputSchema && (z.toJSONSchema(outputSchema, { unrepresentable: 'any' }) as Json)
  const said = schema ? withSchema(request.messages, schema) : request.messages
  const messages = await clean(said.map(wireMessage), turns)
  if (request.raw) return { params: appended(request, messages), outputSchema }
  const params = {
    model: request.model,
    max_tokens: request.maxTokens,
    ...(request.system.length > 0 && { system: await clean(request.system.map(wireBlock), turns) }),
    ...(request.tools.length > 0 && { tools: await toolsOnWire(request.tools, sentTools, turns) }),
    ...(request.thinking !== undefined && { thinking: request.thinking }),
    ...(schema && { output_config: { format: { type: 'json_schema', schema: await supportedSchema(schema) } } }),
    messages,
    stream: true,
  }
  return { params: params as unknown as Params, outputSchema }
}

async function toolsOnWire(tools: readonly ToolSpec[], sentTools: SentTools, turns: Turns): Promise<Json[]> {
  const known = sentTools.get(tools)
  if (known) return known
  const made = await clean(tools.map(wireTool), turns)
  sentTools.set(tools, made)
  return made
}

/**
 * What the harness sent itself stays as it is, to the byte and in its order: another byte and its cache is of no use.
 * It went to the same place with the same key before, so nothing new is told by it.
 */
function appended({ raw = {}, maxTokens }: ModelRequest, messages: Json[]): Params {
  const before = Array.isArray(raw.messages) ? raw.messages : []
  const room = raw.max_tokens === undefined ? { max_tokens: maxTokens } : {}
  const whole = { ...raw, ...room, messages: [...before, ...messages], stream: true }
  return whole as unknown as Params
}

/** At the very end, so that everything before it may be shared with requests of another form. */
function withSchema(messages: Message[], schema: Json): Message[] {
  const text = `Answer with nothing but one JSON value of this form, without a code fence:\n${JSON.stringify(schema)}`
  const last = messages.at(-1)
  if (last?.role !== 'user') return [...messages, { role: 'user', content: [{ type: 'text', text }] }]
  return [...messages.slice(0, -1), { ...last, content: [...last.content, { type: 'text', text }] }]
}

function mark(cacheControl: CacheControl | undefined): Json {
  if (!cacheControl) return {}
  return { cache_control: cacheControl === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' } }
}

function wireMessage({ role, content }: Message): Json {
  return { role, content: content.map(wireBlock) }
}

function wireTool({ name, description, inputSchema, cacheControl }: ToolSpec): Json {
  return { name, description, input_schema: inputSchema, ...mark(cacheControl) }
}

function wireBlock(block: Block): Json {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text, ...mark(block.cacheControl) }
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: block.input, ...mark(block.cacheControl) }
    case 'tool_result':
      return {
        type: 'tool_result',
        tool_use_id: block.toolUseId,
        content: typeof block.content === 'string' ? block.content : block.content.map(wireBlock),
        ...(block.isError && { is_error: true }),
        ...mark(block.cacheControl),
      }
    case 'opaque':
      return { [AS_IT_IS]: block.wire } as Json
  }
}

const AS_IT_IS = Symbol('as it is')

/** Every text in it, however deep, one after the other. The names of fields are ours or a schema's. */
async function clean<T>(value: T, turns: Turns): Promise<T> {
  if (typeof value === 'string') {
    await turns(value.length)
    return (await redact(value)).text as T
  }
  if (Array.isArray(value)) {
    const parts: unknown[] = []
    for (const part of value) parts.push(await clean(part, turns))
    return parts as T
  }
  if (typeof value !== 'object' || value === null) return value
  // Thoughts are signed by the server: another letter in them and it refuses them.
  if (AS_IT_IS in value) return value[AS_IT_IS] as T
  const fields: [string, unknown][] = []
  for (const [name, part] of Object.entries(value)) fields.push([name, await clean(part, turns)])
  return Object.fromEntries(fields) as T
}

/** Whether an answer that arrived whole is one: not refused, and of the form that was asked for. Pure. */

/** Its usage counts, whatever it says. */
export function checkAnswer(
  answer: ModelAnswer | ModelFailure,
  schema: z.ZodType | undefined,
): ModelAnswer | ModelFailure {
  if ('failed' in answer) return answer
  const known = {
    usage: answer.usage,
    spent: 'final' as const,
    ...(answer.requestId !== undefined && { requestId: answer.requestId }),
  }
  if (answer.stop === 'refusal') return failure('refused', 'the model would not answer', known)
  if (!schema) return answer
  const text = answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  const value = parseJson(withoutFence(text))
  if (value === undefined)
    return failure(
      'garbage',
      `the answer is not JSON${answer.stop === 'max_tokens' ? ': cut at max_tokens' : ''}`,
      known,
    )
  const checked = schema.safeParse(value)
  if (checked.success) return { ...answer, output: checked.data }
  const { path, message } = checked.error.issues[0] as z.core.$ZodIssue
  return failure(
    'garbage',
    `the answer has another form: ${path.map(String).join('.') || 'as a whole'}: ${message}`,
    known,
  )
}

/** Small models put their JSON into a fence, whatever they are told. */
function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text
}

/** What it is to ask a model: the request, the answer, and every way it can fail as a value. */

/** How long a prompt up to here stays in the cache of the server. */
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
  /** Whether `usage` is the last word. Absent, the cost of the call is unknown. */
  spent?: 'nothing' | 'final'
  /** The same request will fail the same way until the user changes something. */
  permanent: boolean
  requestId?: string
}

/** Streams; never retries: the job runner does, in one place. */
export type Provider = { call(request: ModelRequest, at: { signal: AbortSignal }): Promise<ModelAnswer | ModelFailure> }

/** Every way in which a call can fail, from what the SDK throws or the stream tells to one value. Pure. */

type Kind = ModelFailure['failed']

const LONGEST_RETRY_AFTER_MS = 86_400_000
const permanent: readonly Kind[] = ['auth', 'bad-request', 'refused']

export function failure(failed: Kind, message: string, more: Partial<ModelFailure> = {}): ModelFailure {
  return { failed, message, permanent: permanent.includes(failed), ...more }
}

/** An answer with an error status: nothing was said, so nothing is charged. */
export function statusFailure(error: APIError, nowMs: number): ModelFailure {
  const status = error.status as number
  const failed = kindOfStatus(status)
  const retryAfterMs = retryAfter(error.headers ?? new Headers(), nowMs)
  return failure(failed, `${status} ${error.apiMessage ?? 'without a message'}`.slice(0, 500), {
    spent: 'nothing',
    status,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(error.requestID && { requestId: error.requestID }),
  })
}

/** An error in the middle of a stream: what was said by then may be charged. */
export function kindOfErrorType(type: string): Kind {
  const kinds: Record<string, Kind> = {
    overloaded_error: 'overloaded',
    rate_limit_error: 'rate-limit',
    authentication_error: 'auth',
    permission_error: 'auth',
    billing_error: 'auth',
    invalid_request_error: 'bad-request',
  }
  return Object.hasOwn(kinds, type) ? (kinds[type] as Kind) : 'server'
}

function kindOfStatus(status: number): Kind {
  if (status === 429) return 'rate-limit'
  if (status === 529) return 'overloaded'
  // 402 asks for payment: until the user has paid, the answer stays the same.
  if (status === 401 || status === 402 || status === 403) return 'auth'
  // A conflict or a request that took too long to arrive may go better next time.
  if (status >= 500 || status === 408 || status === 409) return 'server'
  return 'bad-request'
}

/** Nothing was heard at all. What never left this machine cost nothing; what was sent may have been worked on. */
export function networkFailure(error: unknown): ModelFailure {
  const codes = causesOf(error).flatMap(({ code }) => (typeof code === 'string' ? [code] : []))
  const unsent = codes.some((code) =>
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_INVALID_URL)$/.test(code),
  )
  const words = causesOf(error).at(-1)?.message ?? String(error)
  return failure('network', `no answer: ${words}`.slice(0, 500), unsent ? { spent: 'nothing' } : {})
}

/** The error itself, what it was caused by, and so on: the innermost says what happened. */
function causesOf(error: unknown): { message?: string; code?: unknown }[] {
  const causes: { message?: string; code?: unknown }[] = []
  let next = error as { message?: string; code?: unknown; cause?: unknown; errors?: unknown[] } | undefined
  while (next && causes.length < 5) {
    causes.push(next)
    next = (next.cause ?? next.errors?.[0]) as typeof next
  }
  return causes
}

function retryAfter(headers: Headers, nowMs: number): number | undefined {
  const inMs = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  const text = headers.get('retry-after') ?? ''
  const inSeconds = /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  const ms = Number.isFinite(inMs) ? inMs : inSeconds
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS) : undefined
}

/** JSON from outside: undefined where it is none. */

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Leaves of a JSON schema what the API understands. The SDK that knows is loaded with the first schema: most requests have none. */

async function supportedSchema(schema: Json): Promise<Json> {
  const { transformJSONSchema } = await import('@anthropic-ai/sdk/lib/transform-json-schema')
  return transformJSONSchema(schema as never) as never
}
