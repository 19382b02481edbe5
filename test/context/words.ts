/** What a reader of a conversation would find in it. */
import { blocksOf, isText, type Message, recordOf } from '../../daemon/context/messages.ts'

/** What was said in messages and asked of tools, commands and paths included. */
export function wordsOf(messages: readonly Message[]): string {
  return messages
    .flatMap(({ content }) =>
      blocksOf(content).flatMap((block) => {
        if (isText(block)) return [block.text]
        return block.type === 'tool_use' ? strings(recordOf(block.input)) : []
      }),
    )
    .join('\n')
}

function strings(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || depth > 8) return []
  return Object.values(value).flatMap((each) => strings(each, depth + 1))
}
