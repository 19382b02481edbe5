/** A conversation with a model. Answers are hostile: they can end the conversation, never bend it. Applies nothing. */
import type { Block, Message, ModelFailure, ModelRequest, Provider, ToolUseBlock, Usage } from '../models/wire.ts'
import type { Clock } from '../platform/clock.ts'
import { isDeeperThan } from '../platform/json.ts'
import type { Limits, Task, Turn } from './agent.ts'
import type { Prefix } from './prefix.ts'
import { isChange, type ToolRunner } from './tool-runner.ts'

type Limit = 'turns' | 'output' | 'time' | 'cost'

type LoopEnd =
  | { ended: 'done' }
  | { ended: 'limit'; limit: Limit; why: string; failure?: undefined; answer?: 'useless' }
  | { ended: 'aborted'; why: string }
  | { ended: 'failed'; why: string; failure?: ModelFailure; answer?: 'useless' }

/** `text`: of the last answer. `calls`: what each call used, a failed one too. */
export type LoopReport = LoopEnd & { text: string; turns: number; calls: Usage[] }

type Conversation = {
  call: Provider['call']
  request: ModelRequest
  tools: ToolRunner
  limits: Limits
  clock: Clock
  signal: AbortSignal
  priceOf: (usage: Usage) => number | undefined
  marks: Prefix['marks']
  until: NonNullable<Task['until']>
  onTurn: (turn: Turn) => void
}

const CAP_ANSWER_CHARS = 4_000_000
const CAP_CALLS = 50
/** It is sent back with the next request, and JSON is written by recursion. */
const CAP_LEVELS = 200
const ID = /^[a-zA-Z0-9_-]{1,200}$/

export async function runLoop(conversation: Conversation): Promise<LoopReport> {
  const { limits, clock, signal } = conversation
  const late = new AbortController()
  const timer = clock.after(limits.wallMs, () => late.abort())
  const state: State = { calls: [], messages: [], ids: new Set(), text: '', turns: 0 }
  try {
    const end = await converse(conversation, AbortSignal.any([signal, late.signal]), state)
    const { text, turns, calls } = state
    const isLate = end.ended === 'aborted' && late.signal.aborted
    return { ...(isLate ? reached('time', limits.wallMs) : end), text, turns, calls }
  } finally {
    timer.stop()
  }
}

type State = { calls: Usage[]; messages: Message[]; ids: Set<string>; text: string; turns: number }

async function converse(conversation: Conversation, signal: AbortSignal, state: State): Promise<LoopEnd> {
  const { call, request, limits, priceOf, marks, onTurn } = conversation
  for (;;) {
    if (signal.aborted) return { ended: 'aborted', why: 'it was stopped' }
    const messages = [...request.messages, ...(marks === 'tail' ? marked(state.messages) : state.messages)]
    const answer = await orAborted(call({ ...request, messages }, { signal }), signal)
    if (answer === 'aborted') return { ended: 'aborted', why: 'it was stopped' }
    if (answer.usage) state.calls.push(answer.usage)
    if ('failed' in answer) {
      if (answer.failed === 'aborted') return { ended: 'aborted', why: answer.message }
      return { ended: 'failed', why: answer.message, failure: answer }
    }
    state.turns++
    state.text = textIn(answer.content)
    const asked = answer.content.filter((block) => block.type === 'tool_use')
    onTurn({ turn: state.turns, text: state.text, tools: asked.map(({ name }) => name), usage: answer.usage })
    const garbled = problemWith(answer.content, asked, state.ids)
    if (garbled) return { ended: 'failed', why: garbled, answer: 'useless' }
    const stopped = whyStopped(answer.stop, asked.length)
    if (stopped) return stopped
    if (asked.length === 0) return { ended: 'done' }
    const results = await orAborted(runTools(conversation.tools, asked, signal), signal)
    if (results === 'aborted') return { ended: 'aborted', why: 'it was stopped' }
    conversation.tools.delivered()
    // A model may send an empty text, and a server does not take it back.
    const content = answer.content.filter((block) => block.type !== 'text' || block.text !== '')
    state.messages.push({ role: 'assistant', content }, { role: 'user', content: results })
    if (conversation.until === 'changed' && isAccepted(asked, results)) return { ended: 'done' }
    if (state.turns >= limits.turns) return reached('turns', limits.turns)
    const output = state.calls.reduce((sum, usage) => sum + usage.output, 0)
    if (output >= limits.outputTokens) return reached('output', limits.outputTokens)
    const usd = state.calls.reduce((sum, usage) => sum + (priceOf(usage) ?? 0), 0)
    if (limits.usd !== undefined && usd >= limits.usd) return reached('cost', limits.usd)
  }
}

/** One after the other: fifty files at once would be in memory fifty times. */
async function runTools(tools: ToolRunner, asked: readonly ToolUseBlock[], signal: AbortSignal): Promise<Block[]> {
  const results: Block[] = []
  for (const [n, { id, name, input }] of asked.entries()) {
    const { content, isError } =
      n >= CAP_CALLS
        ? await tools.deny(name, `more than ${CAP_CALLS} calls in one answer`)
        : await tools.run({ name, input }, signal)
    results.push({ type: 'tool_result', toolUseId: id, content, ...(isError && { isError }) })
  }
  return results
}

function isAccepted(asked: readonly ToolUseBlock[], results: readonly Block[]): boolean {
  const isFine = (block: Block) => block.type === 'tool_result' && !block.isError
  return asked.some(({ name }) => isChange(name)) && results.every(isFine)
}

/** A result must name its call: with ids that are missing or used twice, no honest answer can be sent back. */
function problemWith(content: readonly Block[], asked: readonly ToolUseBlock[], ids: Set<string>): string | undefined {
  if (isDeeperThan(content, CAP_LEVELS)) return 'the model sent something nested too deeply'
  if (JSON.stringify(content).length > CAP_ANSWER_CHARS) return 'the model sent more than can be used'
  for (const { id } of asked) {
    if (typeof id !== 'string' || !ID.test(id)) return 'the model sent a tool call without a usable id'
    if (ids.has(id)) return 'the model sent two tool calls with one id'
    ids.add(id)
  }
  return undefined
}

function whyStopped(stop: string, asked: number): LoopEnd | undefined {
  if (stop === 'max_tokens' || stop === 'model_context_window_exceeded')
    return { ended: 'limit', limit: 'output', why: 'the answer was cut at its longest', answer: 'useless' }
  const useless = { ended: 'failed', answer: 'useless' } as const
  if (stop === 'refusal') return { ...useless, why: 'the model refused' }
  if (stop === 'tool_use' && asked === 0) return { ...useless, why: 'the model asked for a tool and named none' }
  if (stop === 'pause_turn') return { ...useless, why: 'the model paused its answer, which memoryd does not continue' }
  return undefined
}

const LIMIT_WORDS: Record<Limit, string> = { turns: 'turns', output: 'output tokens', time: 'ms', cost: 'dollars' }

function reached(limit: Limit, most: number): Extract<LoopEnd, { ended: 'limit' }> {
  return { ended: 'limit', limit, why: `the limit of ${most} ${LIMIT_WORDS[limit]} was reached` }
}

function textIn(content: readonly Block[]): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')
}

/** The cache mark moves to the last result, so that each turn reads what the one before it wrote. */
function marked(messages: readonly Message[]): Message[] {
  const last = messages.at(-1)
  const end = last?.content.at(-1)
  if (!last || end?.type !== 'tool_result') return [...messages]
  return [
    ...messages.slice(0, -1),
    { ...last, content: [...last.content.slice(0, -1), { ...end, cacheControl: '5m' }] },
  ]
}

/** Does not wait for work that ignores its signal. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | 'aborted'> {
  return new Promise((resolve, reject) => {
    const stop = () => resolve('aborted')
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
