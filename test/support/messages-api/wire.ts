/** The form of a request to the Messages API: every field it knows, and a refusal in its words for any other. Pure. */
import { z } from 'zod'

export const CacheMark = z.strictObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() })
const mark = { cache_control: CacheMark.nullish() }

const Text = z.strictObject({ type: z.literal('text'), text: z.string(), citations: z.null().optional(), ...mark })
const Source = z.union([
  z.strictObject({
    type: z.literal('base64'),
    media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
    data: z.base64().min(1),
  }),
  z.strictObject({ type: z.literal('url'), url: z.url() }),
])
const Image = z.strictObject({ type: z.literal('image'), source: Source, ...mark })
const ToolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: z.string().regex(/^[a-zA-Z0-9_-]+$/),
  name: z.string().min(1).max(200),
  input: z.record(z.string(), z.unknown()),
  caller: z.unknown().optional(),
  ...mark,
})
const ToolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string().regex(/^[a-zA-Z0-9_-]+$/),
  content: z.union([z.string(), z.array(z.discriminatedUnion('type', [Text, Image]))]).optional(),
  is_error: z.boolean().optional(),
  ...mark,
})
const Thinking = z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() })
const RedactedThinking = z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() })

export const Block = z.discriminatedUnion('type', [Text, Image, ToolUse, ToolResult, Thinking, RedactedThinking])
export type Block = z.infer<typeof Block>

const Message = z.strictObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(Block)]),
})
export type Message = z.infer<typeof Message>

const Tool = z.strictObject({
  type: z.literal('custom').nullish(),
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/),
  description: z.string().optional(),
  input_schema: z.looseObject({ type: z.literal('object') }),
  strict: z.boolean().optional(),
  ...mark,
})

const ToolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('auto'), disable_parallel_tool_use: z.boolean().optional() }),
  z.strictObject({ type: z.literal('any'), disable_parallel_tool_use: z.boolean().optional() }),
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('tool'), name: z.string(), disable_parallel_tool_use: z.boolean().optional() }),
])

const display = z.enum(['summarized', 'omitted']).nullish()
const ThinkingConfig = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1024), display }),
  z.strictObject({ type: z.literal('adaptive'), display }),
  z.strictObject({ type: z.literal('between_tools') }),
  z.strictObject({ type: z.literal('disabled') }),
])

/** No temperature, top_p or top_k: the present API has none. */
export const Body = z.strictObject({
  model: z.string().min(1),
  max_tokens: z.int().min(1),
  messages: z.array(Message).min(1).max(100_000),
  system: z.union([z.string(), z.array(Text)]).optional(),
  tools: z.array(Tool).optional(),
  tool_choice: ToolChoice.optional(),
  thinking: ThinkingConfig.optional(),
  output_config: z
    .strictObject({
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
      format: z.strictObject({ type: z.literal('json_schema'), schema: z.looseObject({}) }).nullish(),
    })
    .optional(),
  metadata: z.strictObject({ user_id: z.string().max(512).nullish() }).optional(),
  stop_sequences: z.array(z.string().regex(/\S/)).optional(),
  service_tier: z.enum(['auto', 'standard_only']).optional(),
  cache_control: CacheMark.nullish(),
  stream: z.boolean().optional(),
})
export type Body = z.infer<typeof Body>

/** The first complaint, with its place as the API writes it. */
export function formProblem(value: unknown): string | undefined {
  const result = Body.safeParse(value)
  return result.success ? undefined : worded(result.error.issues[0] as z.core.$ZodIssue)
}

function worded(issue: z.core.$ZodIssue, before: readonly PropertyKey[] = []): string {
  const path = [...before, ...issue.path]
  // Of several forms, the one that was meant is the one that got furthest.
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const closest = issue.errors.flat().sort((a, b) => b.path.length - a.path.length)[0]
    if (closest) return worded(closest, path)
  }
  if (issue.code === 'unrecognized_keys')
    return `${[...path, issue.keys[0]].map(String).join('.')}: Extra inputs are not permitted`
  return `${path.map(String).join('.') || 'body'}: ${issue.message}`
}

/** A string is shorthand for one block of text. */
export function blocksOf(content: string | readonly Block[]): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}
