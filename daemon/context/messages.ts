/** Makes of whatever a harness keeps a list that the Messages API takes. What stays keeps its order and bytes. */

export type Block = { type: string } & Record<string, unknown>

/** `system`: instructions of the harness between messages; they count as the user's side. */
export type Role = 'user' | 'assistant' | 'system'

/** `id`: as the harness names it; never sent to a model. */
export type Message = { id?: string; role: Role; content: string | Block[] }

export type ToolUse = { id: string; name: string; input: Record<string, unknown> }

export function blocksOf(content: Message['content']): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

export function blocksIn(messages: readonly Message[]): Block[] {
  return messages.flatMap(({ content }) => blocksOf(content))
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

export function toolUsesOf(messages: readonly Message[]): Map<string, ToolUse> {
  const calls = blocksIn(messages).filter(({ type }) => type === 'tool_use')
  const uses = calls.map(({ id, name, input }) => ({ id: String(id), name: String(name), input: recordOf(input) }))
  return new Map(uses.map((use) => [use.id, use]))
}

export function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

export const NO_RESULT = '[No result: the call was interrupted]'
export const NO_BEGINNING = '[The beginning of this conversation is not there any more]'

const roles: readonly string[] = ['user', 'assistant', 'system']
/** Entries of a harness's own list that are shown and never sent. */
const shownOnly = ['displayOnly', 'isVisibleInTranscriptOnly', 'isVirtual']

/** The fields of each block that the API knows; `undefined` where whatever is in it is the server's own. */
const fieldsOf: Record<string, readonly string[] | undefined> = {
  text: ['text', 'citations', 'cache_control'],
  image: ['source', 'cache_control'],
  document: ['source', 'title', 'context', 'citations', 'cache_control'],
  search_result: ['source', 'title', 'content', 'citations', 'cache_control'],
  tool_use: ['id', 'name', 'input', 'caller', 'cache_control'],
  tool_result: ['tool_use_id', 'content', 'is_error', 'cache_control'],
  thinking: ['thinking', 'signature'],
  redacted_thinking: ['data'],
  compaction: undefined,
  container_upload: undefined,
}

const neededBy: Record<string, Record<string, 'string' | 'object'>> = {
  image: { source: 'object' },
  document: { source: 'object' },
  thinking: { thinking: 'string', signature: 'string' },
  redacted_thinking: { data: 'string' },
}

export function flatten(given: readonly unknown[]): Message[] {
  const known = given.flatMap((entry) => messageOf(entry) ?? [])
  return merged(beginning(paired(withoutHalves(known))))
}

function messageOf(entry: unknown): Message | undefined {
  const outer = recordOf(entry)
  if (outer.type === 'progress' || shownOnly.some((flag) => outer[flag] === true)) return undefined
  // A line of a transcript has the message within.
  const inner = outer.role === undefined && outer.message !== undefined ? recordOf(outer.message) : outer
  const { role } = inner
  if (typeof role !== 'string' || !roles.includes(role)) return undefined
  const content = contentOf(inner.content, role as Role)
  if (content.length === 0) return undefined
  const id = [outer.id, outer.uuid].find((name) => typeof name === 'string' && name !== '') as string | undefined
  return { ...(id !== undefined && { id }), role: role as Role, content }
}

function contentOf(content: unknown, role: Role): Message['content'] {
  if (typeof content === 'string') return /\S/.test(content) ? content : ''
  if (!Array.isArray(content)) return ''
  return content.flatMap((block) => blockOf(block, role) ?? [])
}

function blockOf(value: unknown, role: Role): Block | undefined {
  const block = recordOf(value) as Block
  if (typeof block.type !== 'string') return undefined
  const isKnown = Object.hasOwn(fieldsOf, block.type) || isOfServer(block)
  if (!isKnown || !fits(block, role) || !isWhole(block)) return undefined
  const known = fieldsOf[block.type]
  const whole = known ? only(block, known) : block
  if (block.type === 'text') return isText(block) && /\S/.test(block.text) ? whole : undefined
  if (block.type === 'tool_use')
    return isName(block.id) && isName(block.name) ? { ...whole, input: recordOf(block.input) } : undefined
  if (block.type === 'tool_result') return resultOf(whole)
  return whole
}

function fits(block: Block, role: Role): boolean {
  const { type } = block
  if (role === 'system') return type === 'text'
  if (role === 'user') return type !== 'tool_use' && !/thinking$/.test(type) && !isOfServer(block)
  return type !== 'tool_result'
}

function isWhole(block: Block): boolean {
  return Object.entries(neededBy[block.type] ?? {}).every(
    ([field, type]) => typeof block[field] === type && block[field] !== null,
  )
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function only(block: Block, known: readonly string[]): Block {
  return Object.fromEntries(Object.entries(block).filter(([name]) => name === 'type' || known.includes(name))) as Block
}

const IN_RESULTS = ['text', 'image', 'document', 'search_result', 'tool_reference']

function resultOf(block: Block): Block | undefined {
  if (!isName(block.tool_use_id)) return undefined
  const { content } = block
  if (content === undefined || typeof content === 'string') return block
  if (!Array.isArray(content)) return { ...block, content: '' }
  const parts = content.filter((part) => IN_RESULTS.includes(String(recordOf(part).type)))
  const blocks = parts.flatMap((part) => (part.type === 'tool_reference' ? part : (blockOf(part, 'user') ?? [])))
  return { ...block, content: blocks }
}

function withBlocks(messages: readonly Message[], stays: (block: Block) => boolean): Message[] {
  return messages.flatMap((message) => {
    if (typeof message.content === 'string') return [message]
    const content = message.content.filter(stays)
    if (content.length === message.content.length) return [message]
    return content.length === 0 ? [] : [{ ...message, content }]
  })
}

/** Halves of a server's own calls go, but not calls that go on: in the last answer, or waiting for a tool of ours. */
function withoutHalves(messages: readonly Message[]): Message[] {
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const called = new Set<string>()
  const whole = new Set<string>()
  for (const [at, { content }] of messages.entries())
    for (const block of typeof content === 'string' ? [] : content) {
      const call = serverCallOf(block)
      if (call !== undefined) called.add(call)
      const behind = at > last && call !== undefined ? call : serverCallBehind(block)
      if (behind !== undefined && called.has(behind)) whole.add(behind)
    }
  const isWhole = (block: Block) => whole.has(serverCallOf(block) ?? serverCallBehind(block) ?? '')
  return withBlocks(messages, (block) => !isOfServer(block) || isWhole(block))
}

/** Answers of a model and what follows each, as the API sees them: neighbours of one side are one turn. */
type Turn = { isAnswer: boolean; messages: Message[] }

function turnsOf(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    const isAnswer = message.role === 'assistant'
    const last = turns.at(-1)
    if (last?.isAnswer === isAnswer) last.messages.push(message)
    else turns.push({ isAnswer, messages: [message] })
  }
  return turns
}

function paired(messages: readonly Message[]): Message[] {
  const turns = turnsOf(withoutRepeatedCalls(messages))
  // The conversation may end within a call: no result will come.
  if (turns.at(-1)?.isAnswer) turns.push({ isAnswer: false, messages: [] })
  return turns.flatMap(({ isAnswer, messages: own }, n) =>
    isAnswer ? own : answered(own, [...toolUsesOf(turns[n - 1]?.messages ?? []).keys()]),
  )
}

/** An id that was used before is no call: a server would not know which of them a result is for. */
function withoutRepeatedCalls(messages: readonly Message[]): Message[] {
  const asked = new Set<unknown>()
  return withBlocks(messages, ({ type, id }) => type !== 'tool_use' || (!asked.has(id) && asked.add(id) !== undefined))
}

/** Results first and each once; those without a call go, those that are missing are made up. */
function answered(messages: readonly Message[], ids: readonly string[]): Message[] {
  const isResult = ({ type }: Block) => type === 'tool_result'
  const blocks = blocksIn(messages)
  const given = blocks.filter(isResult)
  const wanted = new Set(ids)
  const found = new Map<string, Block>()
  for (const block of given) {
    const id = String(block.tool_use_id)
    if (wanted.has(id) && !found.has(id)) found.set(id, block)
  }
  const missing = ids.filter((id) => !found.has(id))
  const isOrdered = blocks.findLastIndex(isResult) === given.length - 1
  if (isOrdered && missing.length === 0 && found.size === given.length) return [...messages]
  const others = withBlocks(messages, (block) => !isResult(block))
  const results = [...found.values(), ...missing.map(noResult)]
  if (results.length === 0) return others
  const first = messages.find(({ content }) => blocksOf(content).some(isResult))
  const isWhole = first && !others.some(({ id }) => id !== undefined && id === first.id)
  return [{ ...(isWhole && first.id !== undefined && { id: first.id }), role: 'user', content: results }, ...others]
}

function noResult(id: string): Block {
  return { type: 'tool_result', tool_use_id: id, content: NO_RESULT, is_error: true }
}

function beginning(messages: readonly Message[]): Message[] {
  const isThere = messages.length === 0 || messages[0]?.role === 'user'
  return isThere ? [...messages] : [{ role: 'user', content: NO_BEGINNING }, ...messages]
}

/** Messages with different ids stay apart: the API takes them so, and the harness must find them again. */
export function merged(messages: readonly Message[]): Message[] {
  const runs: { id: string | undefined; all: Message[] }[] = []
  for (const message of messages) {
    const run = runs.at(-1)
    const isSame =
      run?.all[0]?.role === message.role && (run.id === undefined || message.id === undefined || run.id === message.id)
    if (!run || !isSame) {
      runs.push({ id: message.id, all: [message] })
      continue
    }
    run.id ??= message.id
    run.all.push(message)
  }
  // Joined once for each run: a harness may send ten thousand in a row.
  return runs.map(({ id, all }) => {
    const [first] = all as [Message]
    if (all.length === 1) return first
    return { ...(id !== undefined && { id }), role: first.role, content: blocksIn(all) }
  })
}
