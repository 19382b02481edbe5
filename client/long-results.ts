/** Finds the results of tools in a list of messages that are too long for a context, and puts in what the daemon keeps for them. */
import type { Contract } from '../schema/contract.ts'

export type Wire = Record<string, unknown>[]
export type GivenResult = Contract['keepToolResults']['input']['results'][number]
type Kept = Contract['keepToolResults']['answer']
/** Above these the daemon keeps a result in a file; shorter ones are not even asked about. */
export type ResultLimits = Contract['measureContext']['answer']['resultLimits']

/** The most that the daemon takes of these. */
const MOST_RESULTS = 1_000
const ID_CHARS = 512
const NAME_CHARS = 256

type Block = { type?: unknown; id?: unknown; name?: unknown; tool_use_id?: unknown; content?: unknown }

export async function withoutLongResults(
  messages: Wire,
  { chars, charsPerMessage }: ResultLimits,
  keep: (results: GivenResult[]) => Promise<Kept | undefined>,
): Promise<{ messages: Wire; stored: string[] }> {
  const tools = new Map<unknown, string>()
  const stored: string[] = []
  const result: Wire = []
  for (const message of messages) {
    const blocks: Block[] = Array.isArray(message.content) ? message.content : []
    for (const { type, id, name } of blocks) if (type === 'tool_use') tools.set(id, String(name))
    const given = blocks.flatMap((block) => givenOf(block, tools) ?? [])
    const lengths = given.map(({ content }) => lengthOf(content))
    const isLong =
      lengths.some((each) => each > chars) || lengths.reduce((sum, each) => sum + each, 0) > charsPerMessage
    const kept = isLong ? await keep(given.slice(0, MOST_RESULTS)) : undefined
    const shown = new Map(
      kept?.results.filter((each) => each.stored).map(({ toolUseId, content }) => [toolUseId, content]),
    )
    stored.push(...shown.keys())
    const changed = blocks.map((block) => {
      const content = block.type === 'tool_result' ? shown.get(String(block.tool_use_id)) : undefined
      return content === undefined ? block : { ...block, content }
    })
    result.push(shown.size > 0 ? { ...message, content: changed } : message)
  }
  return { messages: stored.length > 0 ? result : messages, stored }
}

/** A result of text that the daemon can keep; what is broken about a list is not for this to find out. */
function givenOf(
  { type, tool_use_id: id, content }: Block,
  tools: ReadonlyMap<unknown, string>,
): GivenResult | undefined {
  if (type !== 'tool_result' || typeof id !== 'string' || id === '' || id.length > ID_CHARS) return undefined
  const isKeepable = typeof content === 'string' || (Array.isArray(content) && content.every(isText))
  if (!isKeepable) return undefined
  return { toolUseId: id, tool: (tools.get(id) || 'unknown').slice(0, NAME_CHARS), content }
}

function isText(part: unknown): part is { type: 'text'; text: string } {
  const { type, text } = (part ?? {}) as { type?: unknown; text?: unknown }
  return type === 'text' && typeof text === 'string'
}

function lengthOf(content: GivenResult['content']): number {
  if (typeof content === 'string') return content.length
  return content.reduce((sum, part) => sum + (isText(part) ? part.text.length : 0), 0)
}
