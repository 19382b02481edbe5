/** Requests and answers of a model, and their form in the Messages API, without credentials. Sends nothing. */
import type Anthropic from '@anthropic-ai/sdk'
import type { APIError } from '@anthropic-ai/sdk'
import { z } from 'zod'
import { parseJson } from '../platform/json.ts'
import { createTurns } from '../platform/queue.ts'
import { redact } from '../secrets/redact.ts'

export type Params = Anthropic.MessageCreateParamsStreaming
type Json = Record<string, unknown>
type Turns = ReturnType<typeof createTurns>

export async function prepare(request: ModelRequest): Promise<Params> {
  const turns = createTurns()
  const { outputSchema } = request
  const schema = outputSchema && (z.toJSONSchema(outputSchema, { unrepresentable: 'any' }) as Json)
  const said = schema ? withSchema(request.messages, schema) : request.messages
  const messages = await clean(said.map(wireMessage), turns)
  if (request.raw) return appended(request, messages)
  const params = {
    model: request.model,
    max_tokens: request.maxTokens,
    ...(request.system.length > 0 && { system: await clean(request.system.map(wireBlock), turns) }),
    ...(request.tools.length > 0 && { tools: await clean(request.tools.map(wireTool), turns) }),
    ...(schema && { output_config: { format: { type: 'json_schema', schema: await supportedSchema(schema) } } }),
    messages,
    stream: true,
  }
  return params as unknown as Params
}

/** What the harness sent itself stays to the byte, for its cache; the same server has had it before, with the same key. */
function appended({ raw = {}, maxTokens }: ModelRequest, messages: Json[]): Params {
  const before = Array.isArray(raw.messages) ? raw.messages : []
  const room = raw.max_tokens === undefined ? { max_tokens: maxTokens } : {}
  const whole = { ...raw, ...room, messages: [...before, ...messages], stream: true }
  return whole as unknown as Params
}

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
  // Thoughts are signed by the server, which refuses changed ones.
  if (AS_IT_IS in value) return value[AS_IT_IS] as T
  const fields: [string, unknown][] = []
  for (const [name, part] of Object.entries(value)) fields.push([name, await clean(part, turns)])
  return Object.fromEntries(fields) as T
}

/** Fails an answer that was refused or has another form than was asked for. Its usage counts in any case. */
export function checkAnswer(
  answer: ModelAnswer | ModelFailure,
  schema: z.ZodType | undefined,
): ModelAnswer | ModelFailure {
  if ('failed' in answer) return answer
  const { usage, requestId, stop, content } = answer
  const failed = (kind: Kind, why: string) => failure(kind, why, { usage, requestId, spent: 'final' })
  if (stop === 'refusal') return failed('refused', 'the model would not answer')
  if (!schema) return answer
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  const value = parseJson(withoutFence(text))
  if (value === undefined)
    return failed('garbage', `the answer is not JSON${stop === 'max_tokens' ? ': cut at max_tokens' : ''}`)
  const checked = schema.safeParse(value)
  if (checked.success) return { ...answer, output: checked.data }
  const { path, message } = checked.error.issues[0] as z.core.$ZodIssue
  return failed('garbage', `the answer has another form: ${path.map(String).join('.') || 'as a whole'}: ${message}`)
}

/** Small models put their JSON into a fence. */
function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text
}

export type CacheControl = '5m' | '1h'

type Marked = { cacheControl?: CacheControl }

export type TextBlock = { type: 'text'; text: string } & Marked
export type ToolUseBlock = { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> } & Marked
type ToolResultBlock = {
  type: 'tool_result'
  toolUseId: string
  content: string | TextBlock[]
  isError?: boolean
} & Marked
/** Sent back as it came, such as thoughts: `wire` is in the form of the API. */
type OpaqueBlock = { type: 'opaque'; wire: Record<string, unknown> }

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
  /** A harness's own parameters, to which `messages` are appended. Of the above only `maxTokens` counts, if they name none. */
  raw?: Record<string, unknown>
  /** The answer must be JSON of this form. It stands in the prompt too, for local servers. */
  outputSchema?: z.ZodType
}

/** Tokens. `input` is what no cache had a part in; the four never overlap. */
export type Usage = { input: number; cacheRead: number; cacheWrite: number; output: number; cacheWrite1h?: number }

export type ModelAnswer = {
  content: Block[]
  stop: string
  usage: Usage
  requestId: string | undefined
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
    | 'offline'
    | 'budget'
  message: string
  status?: number
  retryAfterMs?: number | undefined
  /** When the budget allows for more. */
  untilMs?: number
  usage?: Usage | undefined
  /** Absent, the cost of the call is unknown. */
  spent?: 'nothing' | 'final'
  /** The same request will fail the same way until the user changes something. */
  permanent: boolean
  requestId?: string | undefined
}

export type Provider = { call(request: ModelRequest, at: { signal: AbortSignal }): Promise<ModelAnswer | ModelFailure> }

type Kind = ModelFailure['failed']

const LONGEST_RETRY_AFTER_MS = 86_400_000
const permanent: readonly Kind[] = ['auth', 'bad-request', 'refused']

export function failure(failed: Kind, message: string, more: Partial<ModelFailure> = {}): ModelFailure {
  return { failed, message, permanent: permanent.includes(failed), ...more }
}

export function statusFailure(error: APIError, nowMs: number): ModelFailure {
  const status = error.status as number
  const failed = kindOfStatus(status)
  const retryAfterMs = retryAfter(error.headers ?? new Headers(), nowMs)
  const requestId = error.requestID || undefined
  const message = `${status} ${error.apiMessage ?? 'without a message'}`.slice(0, 500)
  return failure(failed, message, { spent: 'nothing', status, retryAfterMs, requestId })
}

const kindsOfErrors = new Map<string, Kind>([
  ['overloaded_error', 'overloaded'],
  ['rate_limit_error', 'rate-limit'],
  ['authentication_error', 'auth'],
  ['permission_error', 'auth'],
  ['billing_error', 'auth'],
  ['invalid_request_error', 'bad-request'],
])

export function kindOfErrorType(type: string): Kind {
  return kindsOfErrors.get(type) ?? 'server'
}

function kindOfStatus(status: number): Kind {
  if (status === 429) return 'rate-limit'
  if (status === 529) return 'overloaded'
  // 402 asks for payment: until the user has paid, the answer stays the same.
  if (status === 401 || status === 402 || status === 403) return 'auth'
  if (status >= 500 || status === 408 || status === 409) return 'server'
  return 'bad-request'
}

/** No answer at all. What never left this machine cost nothing; what was sent may be charged. */
export function networkFailure(error: unknown): ModelFailure {
  const codes = causesOf(error).flatMap(({ code }) => (typeof code === 'string' ? [code] : []))
  const unsent = codes.some((code) =>
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_INVALID_URL)$/.test(code),
  )
  const words = causesOf(error).at(-1)?.message ?? String(error)
  return failure('network', `no answer: ${words}`.slice(0, 500), unsent ? { spent: 'nothing' } : {})
}

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

/** Keeps of a JSON schema what the API understands. Loaded with the first schema: most requests have none. */
async function supportedSchema(schema: Json): Promise<Json> {
  const { transformJSONSchema } = await import('@anthropic-ai/sdk/lib/transform-json-schema')
  return transformJSONSchema(schema as never) as never
}
