/** A request of ours in the form of the Messages API, credentials taken out. Sends nothing. */
import type Anthropic from '@anthropic-ai/sdk'
import { z } from 'zod'
import type { Block, CacheControl, Message, ModelRequest, ToolSpec } from './provider.ts'

export type Params = Anthropic.MessageCreateParamsStreaming
type Json = Record<string, unknown>

/** Takes credentials out of a text. */
export type Redact = (text: string) => Promise<{ text: string }>

/** Tools as they were sent before: they are the same for most that is asked. */
export type SentTools = WeakMap<readonly ToolSpec[], Json[]>

type Deps = {
  redact: Redact
  /** Leaves of a JSON schema what the API understands. */
  supportedSchema(schema: Json): Promise<Json>
  sentTools: SentTools
}

/** What is sent, and what is to be made of the answer. */
export type Prepared = { params: Params; outputSchema?: z.ZodType | undefined }

export async function prepare(request: ModelRequest, deps: Deps): Promise<Prepared> {
  const { redact, supportedSchema } = deps
  const { outputSchema } = request
  const schema = outputSchema && (z.toJSONSchema(outputSchema, { unrepresentable: 'any' }) as Json)
  const said = schema ? withSchema(request.messages, schema) : request.messages
  const messages = await clean(said.map(wireMessage), redact)
  if (request.raw) return { params: appended(request, messages), outputSchema }
  const params = {
    model: request.model,
    max_tokens: request.maxTokens,
    ...(request.system.length > 0 && { system: await clean(request.system.map(wireBlock), redact) }),
    ...(request.tools.length > 0 && { tools: await toolsOnWire(request.tools, deps) }),
    ...(request.thinking !== undefined && { thinking: request.thinking }),
    ...(schema && { output_config: { format: { type: 'json_schema', schema: await supportedSchema(schema) } } }),
    messages,
    stream: true,
  }
  return { params: params as unknown as Params, outputSchema }
}

async function toolsOnWire(tools: readonly ToolSpec[], { redact, sentTools }: Deps): Promise<Json[]> {
  const known = sentTools.get(tools)
  if (known) return known
  const made = await clean(tools.map(wireTool), redact)
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
async function clean<T>(value: T, redact: Redact): Promise<T> {
  if (typeof value === 'string') return (await redact(value)).text as T
  if (Array.isArray(value)) {
    const parts: unknown[] = []
    for (const part of value) parts.push(await clean(part, redact))
    return parts as T
  }
  if (typeof value !== 'object' || value === null) return value
  // Thoughts are signed by whoever had them: another letter in them and they are refused.
  if (AS_IT_IS in value) return value[AS_IT_IS] as T
  const fields: [string, unknown][] = []
  for (const [name, part] of Object.entries(value)) fields.push([name, await clean(part, redact)])
  return Object.fromEntries(fields) as T
}
