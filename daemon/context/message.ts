/** Messages in the form of the Messages API, and how to look into one. Types and pure functions; judges nothing. */

export type Block = { type: string } & Record<string, unknown>

/** `system`: what a harness says in between; it counts to the side of the user. */
export type Role = 'user' | 'assistant' | 'system'

/** `id`: as the harness names it; never sent to a model. */
export type Message = { id?: string; role: Role; content: string | Block[] }

export type ToolUse = { id: string; name: string; input: Record<string, unknown> }

export function blocksOf(content: Message['content']): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

export function side({ role }: Message): 'user' | 'assistant' {
  return role === 'assistant' ? 'assistant' : 'user'
}

export function toolUseOf(block: Block): ToolUse | undefined {
  if (block.type !== 'tool_use') return undefined
  return { id: String(block.id), name: String(block.name), input: recordOf(block.input) }
}

/** Calls that a server makes and answers itself, whatever its tools are named: both stand in an answer. */
const OF_SERVER = /^(?:server|mcp)_tool_use$|^[a-z_]{1,64}_tool_result$/

export function isOfServer({ type }: Block): boolean {
  return OF_SERVER.test(type)
}

export function serverCallOf(block: Block): string | undefined {
  return isOfServer(block) && /_use$/.test(block.type) ? String(block.id) : undefined
}

/** The server's own call on which a block hangs: as what came of it, or as a call that its program makes meanwhile. */
export function serverCallBehind(block: Block): string | undefined {
  if (block.type !== 'tool_use')
    return isOfServer(block) && !/_use$/.test(block.type) ? String(block.tool_use_id) : undefined
  const { tool_id } = recordOf(block.caller)
  return typeof tool_id === 'string' ? tool_id : undefined
}

export function resultIdOf(block: Block): string | undefined {
  return block.type === 'tool_result' ? String(block.tool_use_id) : undefined
}

/** What a result says, without its images. */
export function resultText(block: Block): string {
  const { content } = block
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.flatMap((part) => (isText(part) ? [part.text] : [])).join('\n')
}

export function isText(value: unknown): value is { type: 'text'; text: string } {
  const { type, text } = (value ?? {}) as { type?: unknown; text?: unknown }
  return type === 'text' && typeof text === 'string'
}

export function textsOf({ content }: Message): string[] {
  return blocksOf(content).flatMap((block) => (isText(block) ? [block.text] : []))
}

/** Every call of a tool, by its id. */
export function toolUsesOf(messages: readonly Message[]): Map<string, ToolUse> {
  const uses = new Map<string, ToolUse>()
  for (const { content } of messages)
    if (typeof content !== 'string')
      for (const block of content) {
        const use = toolUseOf(block)
        if (use) uses.set(use.id, use)
      }
  return uses
}

export function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}
