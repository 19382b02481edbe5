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

export function readContent(content: unknown): Content {
  const toolCalls: ToolCall[] = []
  const toolResults: ToolResult[] = []
  const blocks = list(content).map(fields)
  for (const block of blocks) {
    const type = text(block.type)
    if (CALLS.has(type)) toolCalls.push(toolCall(block.id, block.name, block.input ?? block.arguments))
    if (RESULTS.has(type)) toolResults.push({ callId: id(block.tool_use_id) ?? '', text: plainText(block.content) })
  }
  return {
    text: plainText(content),
    toolCalls,
    toolResults,
    onlyThoughts: blocks.length > 0 && blocks.every((block) => THOUGHTS.has(text(block.type))),
  }
}

/** The string itself, or its blocks of text one under the other. */
export function plainText(content: unknown): string {
  if (typeof content === 'string') return content
  return list(content)
    .map(fields)
    .filter((block) => typeof block.text === 'string' && block.thought !== true)
    .map((block) => text(block.text))
    .join('\n')
}

export function toolCall(callId: unknown, name: unknown, input: unknown): ToolCall {
  const called = id(name) ?? ''
  return { id: id(callId) ?? '', name: called, input: toolInput(called, input) }
}
