/** What the Messages API refuses in a request whose form is right: turns, tools and their results, cache marks. Pure. */
import { createHash } from 'node:crypto'
import { type Block, type Body, blocksOf } from './wire.ts'

export type Turn = { role: 'user' | 'assistant'; blocks: Block[] }

/** The first rule that is broken, in the API's manner. */
export function ruleProblem(body: Body): string | undefined {
  return (
    characterProblem(body) ??
    contentProblem(body) ??
    turnProblem(body) ??
    pairingProblem(turnsOf(body)) ??
    toolProblem(body) ??
    markProblem(body) ??
    thinkingProblem(body) ??
    outputProblem(body)
  )
}

/** Half a character becomes an escape when it is written as JSON, and nothing else becomes this one. */
function characterProblem(body: Body): string | undefined {
  return /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/.test(JSON.stringify(body))
    ? 'The request body is not valid JSON: no low surrogate in string'
    : undefined
}

/** Messages of one role that follow each other are one turn; what the system says in between belongs to the user's. */
export function turnsOf({ messages }: Body): Turn[] {
  const turns: Turn[] = []
  for (const { role, content } of messages) {
    const side = role === 'assistant' ? 'assistant' : 'user'
    const last = turns.at(-1)
    if (last?.role === side) last.blocks.push(...blocksOf(content))
    else turns.push({ role: side, blocks: [...blocksOf(content)] })
  }
  return turns
}

function contentProblem({ messages, system }: Body): string | undefined {
  for (const [n, { role, content }] of messages.entries()) {
    if (content.length === 0) return `messages.${n}: all messages must have non-empty content`
    for (const [k, block] of blocksOf(content).entries()) {
      const problem = textProblem(block)
      if (problem) return `messages.${n}.content.${k}: ${problem}`
      if (block.type === 'tool_use' && role !== 'assistant')
        return `messages.${n}: \`tool_use\` blocks can only be in \`assistant\` messages`
      if (block.type === 'tool_result' && role !== 'user')
        return `messages.${n}: \`tool_result\` blocks can only be in \`user\` messages`
      if (/thinking$/.test(block.type) && role !== 'assistant')
        return `messages.${n}: \`${block.type}\` blocks can only be in \`assistant\` messages`
      if (role === 'system' && block.type !== 'text') return `messages.${n}: system messages hold text only`
      const signed = block.type === 'thinking' ? block.signature === signatureOf(block.thinking) : true
      if (!signed) return `messages.${n}.content.${k}: Invalid \`signature\` in \`thinking\` block`
    }
  }
  if (Array.isArray(system))
    for (const [n, block] of system.entries()) if (textProblem(block)) return `system.${n}: ${textProblem(block)}`
  return undefined
}

function textProblem(block: Block): string | undefined {
  if (block.type !== 'text') return undefined
  if (block.text === '')
    return block.cache_control
      ? 'cache_control cannot be set for empty text blocks'
      : 'text content blocks must be non-empty'
  return /\S/.test(block.text) ? undefined : 'text content blocks must contain non-whitespace text'
}

/** Only the server can have made it. */
export function signatureOf(thinking: string): string {
  return createHash('sha256').update(`signed by the scripted server: ${thinking}`).digest('base64')
}

function turnProblem({ messages }: Body): string | undefined {
  if (messages[0]?.role !== 'user') return 'messages: first message must use the "user" role'
  if (messages.at(-1)?.role === 'assistant')
    return 'This model does not support assistant message prefill. The conversation must end with a user message.'
  return undefined
}

function pairingProblem(turns: Turn[]): string | undefined {
  const seen = new Set<string>()
  for (const [n, { role, blocks }] of turns.entries()) {
    if (role === 'assistant') {
      const ids = blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
      for (const id of ids) {
        if (seen.has(id)) return `messages.${n}: \`tool_use\` ids must be unique; found ${id} again`
        seen.add(id)
      }
      // Results stand before everything else in the next turn.
      const next = turns[n + 1]?.blocks ?? []
      const leading = next.slice(0, next.findIndex(({ type }) => type !== 'tool_result') >>> 0)
      const answered = new Set(leading.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : [])))
      const missing = ids.filter((id) => !answered.has(id))
      if (missing.length > 0)
        return `messages.${n}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}`
    } else {
      const asked = (turns[n - 1]?.blocks ?? []).flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
      const results = blocks.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []))
      const stray = results.find((id) => !asked.includes(id))
      if (stray) return `messages.${n}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}`
      if (new Set(results).size < results.length)
        return `messages.${n}: each \`tool_use\` must have a single result, found several with one id`
    }
  }
  return undefined
}

function toolProblem({ tools = [], tool_choice, messages }: Body): string | undefined {
  const names = tools.map(({ name }) => name)
  if (new Set(names).size < names.length) return 'tools: Tool names must be unique.'
  if (tool_choice && tools.length === 0) return 'tool_choice: may only be specified while providing tools'
  if (tool_choice?.type === 'tool' && !names.includes(tool_choice.name))
    return `tool_choice: Tool '${tool_choice.name}' not found in provided tools`
  const uses = messages.some(({ content }) => blocksOf(content).some(({ type }) => /^tool_/.test(type)))
  return uses && tools.length === 0
    ? 'Requests which include `tool_use` or `tool_result` blocks must define tools'
    : undefined
}

type Mark = { ttl?: '5m' | '1h' | undefined } | null | undefined

/** In the order in which the cache sees them: tools, system, messages. */
export function marksOf({ tools = [], system, messages, cache_control }: Body): NonNullable<Mark>[] {
  const ofBlock = (block: Block): Mark[] => {
    const within = block.type === 'tool_result' && Array.isArray(block.content) ? block.content : []
    return [...within.map((part) => part.cache_control), 'cache_control' in block ? block.cache_control : undefined]
  }
  const marks = [
    ...tools.map((tool) => tool.cache_control),
    ...(Array.isArray(system) ? system.map((block) => block.cache_control) : []),
    ...messages.flatMap(({ content }) => blocksOf(content).flatMap(ofBlock)),
    cache_control,
  ]
  return marks.filter((mark) => mark !== null && mark !== undefined)
}

function markProblem(body: Body): string | undefined {
  const marks = marksOf(body)
  if (marks.length > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}.`
  const short = marks.findIndex(({ ttl }) => ttl !== '1h')
  return short >= 0 && marks.slice(short).some(({ ttl }) => ttl === '1h')
    ? "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
    : undefined
}

function thinkingProblem({ thinking, max_tokens, tool_choice }: Body): string | undefined {
  if (thinking?.type !== 'enabled') return undefined
  if (thinking.budget_tokens >= max_tokens) return '`max_tokens` must be greater than `thinking.budget_tokens`'
  return tool_choice?.type === 'any' || tool_choice?.type === 'tool'
    ? 'Thinking may not be enabled when tool_choice forces tool use.'
    : undefined
}

function outputProblem({ output_config }: Body): string | undefined {
  const open = output_config?.format && openObject(output_config.format.schema)
  return open
    ? "output_config.format.schema: For 'object' type, 'additionalProperties' must be set to false"
    : undefined
}

function openObject(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  const { type, additionalProperties } = schema as Record<string, unknown>
  return (type === 'object' && additionalProperties !== false) || Object.values(schema).some(openObject)
}
