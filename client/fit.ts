/** Messages go in, messages that fit the window come out. Asks the daemon for the cheapest step that is enough; the daemon decides. */
import type { Contract } from '../schema/contract.ts'
import { MemoryError } from '../schema/errors.ts'
import type { Answers, CallOptions } from './client.ts'

/** In the form of the Messages API; `id` is the harness's own, and stays. */
type AnyMessage = { role: string; content: unknown }

export type FitInput<M extends AnyMessage> = {
  sessionId: string
  harness?: string
  model: string
  messages: readonly M[]
  /** Of the last response, as it came: then nothing up to it has to be estimated. */
  usage?: Contract['measureContext']['input']['usage']
  betas?: string[]
  /** Where the work goes on; the folder of this process by default. */
  cwd?: string
  restore?: Contract['compact']['input']['restore']
}

export type FitStep =
  | { step: 'tool-results'; stored: string[] }
  | { step: 'microcompact'; cleared: string[]; tokensBefore: number; tokensAfter: number }
  | { step: 'compact'; strategy: 'notes' | 'full' | 'extractive'; tokensBefore: number; tokensAfter: number }
  /** It had to be compacted, and could not. */
  | { step: 'refused'; reason: string; message: string }

export type Fitted<M extends AnyMessage> = {
  messages: M[]
  /** In order; empty where everything fits, or the daemon is away. */
  did: FitStep[]
  /** How full the context is now; absent when the daemon is away. */
  tokens?: number
  boundary?: Contract['compact']['answer']['boundary']
  summary?: string
}

/** A model may have to write a summary. */
const COMPACT_MS = 300_000
const LOOK_MS = 30_000
const CAP_SESSIONS = 1_000

export function createFit(calls: Answers<undefined>) {
  // Until the daemon has sent its own.
  let limits: ResultLimits = { chars: 50_000, charsPerMessage: 200_000 }
  // The usage that a session was shortened for: a harness that repeats a failed request must not be shortened twice.
  const spent = new Map<string, string>()
  return async <M extends AnyMessage>(input: FitInput<M>, options: CallOptions = {}): Promise<Fitted<M>> => {
    const { sessionId, harness, model, betas, cwd = process.cwd(), restore } = input
    const session = { sessionId, harness }
    const name = JSON.stringify(session)
    const usage = spent.get(name) === JSON.stringify(input.usage) ? undefined : input.usage
    const spend = () => {
      if (!usage) return
      spent.delete(name)
      spent.set(name, JSON.stringify(usage))
      if (spent.size > CAP_SESSIONS) spent.delete(spent.keys().next().value as string)
    }
    const within = (ms: number): CallOptions => ({ ...options, deadlineMs: options.deadlineMs ?? ms })
    const did: FitStep[] = []
    let messages = input.messages as unknown as Wire
    const told = (more: Partial<Fitted<M>> = {}): Fitted<M> => ({ messages: messages as unknown as M[], did, ...more })
    const look = async () => {
      const short = await withoutLongResults(messages, limits, (results) =>
        // Results too large for one request stay as they are: a later step may still make the list fit.
        calls.keepToolResults({ ...session, results }, within(LOOK_MS)).catch((error) => void refusalOf(error)),
      )
      messages = short.messages
      if (short.stored.length > 0) did.push({ step: 'tool-results', stored: short.stored })
      return calls.measureContext({ model, betas, messages, usage }, within(LOOK_MS)).catch(refusalOf)
    }

    let measured = await look()
    if (measured && 'resultLimits' in measured) {
      const before = limits
      limits = measured.resultLimits
      if (limits.chars < before.chars || limits.charsPerMessage < before.charsPerMessage) measured = await look()
    }
    if (!measured) return told()
    if ('step' in measured) {
      did.push(measured)
      return told()
    }
    const { autoCompact } = measured.thresholds
    let { tokens } = measured
    if (!measured.states.warning && tokens < autoCompact) return told({ tokens })

    const cleared = await calls.microcompact({ ...session, model, betas, messages, usage }, within(LOOK_MS))
    if (cleared?.messages) {
      messages = cleared.messages
      tokens = cleared.tokensAfter
      spend()
      const { tokensBefore, tokensAfter } = cleared
      did.push({ step: 'microcompact', cleared: cleared.cleared, tokensBefore, tokensAfter })
    }
    if (tokens < autoCompact) return told({ tokens })

    const asked = { ...session, model, betas, cwd, messages, trigger: 'auto' as const, restore }
    const compacted = await calls.compact(asked, within(COMPACT_MS)).catch(refusalOf)
    if (!compacted) return told({ tokens })
    if ('step' in compacted) {
      did.push(compacted)
      return told({ tokens })
    }
    const { strategy, tokensAfter, boundary, summary } = compacted
    messages = compacted.messages
    spend()
    did.push({ step: 'compact', strategy, tokensBefore: tokens, tokensAfter })
    return told({ tokens: tokensAfter, boundary, summary })
  }
}

/** A refusal, or a list that is too large for the daemon, is an answer; every other error is the caller's. */
function refusalOf(error: unknown): FitStep & { step: 'refused' } {
  if (!(error instanceof MemoryError) || !['CONFLICT', 'TOO_LARGE'].includes(error.code)) throw error
  return { step: 'refused', reason: error.reason ?? error.code, message: error.message }
}

type Wire = Record<string, unknown>[]
type GivenResult = Contract['keepToolResults']['input']['results'][number]
type Kept = Contract['keepToolResults']['answer']
/** Above these the daemon keeps a result in a file; shorter ones are not even asked about. */
type ResultLimits = Contract['measureContext']['answer']['resultLimits']

const MOST_RESULTS = 1_000
const ID_CHARS = 512
const NAME_CHARS = 256

type Block = { type?: unknown; id?: unknown; name?: unknown; tool_use_id?: unknown; content?: unknown }

async function withoutLongResults(
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

function givenOf(block: Block, tools: ReadonlyMap<unknown, string>): GivenResult | undefined {
  const { type, tool_use_id: id, content } = block
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
