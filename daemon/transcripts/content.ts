/** The content of a message, a string or a list of typed blocks, taken apart. Knows no harness; throws nothing. */
import { fields, id, list, text } from './fields.ts'
import type { ToolCall, ToolResult } from './message.ts'
import { toolInput } from './tool-input.ts'

export type Content = {
  text: string
  toolCalls: ToolCall[]
  toolResults: ToolResult[]
  /** It holds thoughts, which nobody said, and nothing else. */
  onlyThoughts: boolean
}

const CALLS = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use', 'toolCall'])
const RESULTS = new Set(['tool_result', 'mcp_tool_result'])
const THOUGHTS = new Set(['thinking', 'redacted_thinking'])

/** One plain loop: every line of every transcript comes through here. */
export function readContent(content: unknown): Content {
  const toolCalls: ToolCall[] = []
  const toolResults: ToolResult[] = []
  const blocks = list(content)
  let onlyThoughts = blocks.length > 0
  for (const item of blocks) {
    const block = fields(item)
    const type = text(block.type)
    if (!THOUGHTS.has(type)) onlyThoughts = false
    if (CALLS.has(type)) toolCalls.push(toolCall(block.id, block.name, block.input ?? block.arguments))
    if (RESULTS.has(type)) toolResults.push({ callId: id(block.tool_use_id) ?? '', text: plainText(block.content) })
  }
  return { text: plainText(content), toolCalls, toolResults, onlyThoughts }
}

/** The string itself, or its blocks of text one under the other. */
export function plainText(content: unknown): string {
  if (typeof content === 'string') return content
  const texts: string[] = []
  for (const item of list(content)) {
    const block = fields(item)
    if (typeof block.text === 'string' && block.thought !== true) texts.push(block.text)
  }
  return texts.join('\n')
}

export function toolCall(callId: unknown, name: unknown, input: unknown): ToolCall {
  const called = id(name) ?? ''
  return { id: id(callId) ?? '', name: called, input: toolInput(called, input) }
}
