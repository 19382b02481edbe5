/** The context of a session: measures how full it is, keeps long results of tools, clears old ones, and compacts it. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Caller } from '../../schema/caller.ts'
import type {
  Compacted,
  CompactRequest,
  Measured,
  MeasureRequest,
  Microcompacted,
  MicrocompactRequest,
  ToolResultsKept,
  ToolResultsRequest,
} from '../../schema/context.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Agent } from '../agent/agent.ts'
import type { Core } from '../core.ts'
import type { Memory } from '../memory/memory.ts'
import type { Models } from '../models/models.ts'
import { factsOf } from '../models/prices.ts'
import type { Notes } from '../notes/notes.ts'
import { isDeeperThan } from '../platform/json.ts'
import { mergeVariables } from '../projects/memory-dir.ts'
import type { Recall } from '../recall/recall.ts'
import type { MessageTable, SessionKey } from '../sessions/message-table.ts'
import { createCompaction, createCompactionGuards } from './compact.ts'
import { flatten, type Message, recordOf, resultText } from './messages.ts'
import { clearBySize, clearByTime, editsAtApi, planCached } from './microcompact.ts'
import { createSummariser } from './summariser.ts'
import {
  breakdownOf,
  compactionOff,
  createCounter,
  modelName,
  percentLeft,
  type Room,
  roomOf,
  statesAt,
  tokensInContext,
  type WireUsage,
  windowOf,
} from './token-count.ts'
import { createToolResults } from './tool-results.ts'

const CAP_LEVELS = 200
const SLICE_MS = 15
const MOST_TOKENS = 1_000_000_000

export function createContext(
  core: Core,
  models: Models,
  sessions: MessageTable,
  memory: Memory,
  agent: Agent,
  notes: Notes,
  recall: Recall,
) {
  const { clock, env, logged } = core
  const settings = () => core.settings.current().context
  const variables = (caller: Caller) => mergeVariables(env, caller.env)
  const counter = createCounter()
  const toolResults = createToolResults(core)
  const guards = createCompactionGuards(core)
  const summariser = createSummariser(core, models, sessions, agent, notes)
  const compaction = createCompaction(core, counter, guards, summariser)

  const roomFor = ({ model, betas = [] }: { model: string; betas?: string[] | undefined }, caller: Caller): Room => {
    const own = variables(caller)
    const known = factsOf(modelName(model), core.settings.current().models).windowTokens
    return roomOf(windowOf({ model, known, betas, variables: own }), own)
  }

  const forgetShown = (key: SessionKey) => {
    try {
      memory.prompting.renew(key)
      recall.reset(key)
      agent.announceBreak(key, 'the session was compacted')
    } catch (error) {
      // The compaction is done: its caller gets it, though the disk may be too full for the rest.
      logged('a session could not be renewed after its compaction')(error)
    }
  }

  /** Long conversations are counted a little at a time: other requests are answered in between. */
  const countedMessages = async (given: readonly unknown[]): Promise<Message[]> => {
    // Parsing the body has held the thread already.
    await turn()
    if (isDeeperThan(given, CAP_LEVELS)) throw new MemoryError('BAD_REQUEST', 'body.messages: nested too deeply')
    await turn()
    const messages = flatten(given)
    await turn()
    let sliceMs = clock.elapsed()
    for (const message of messages) {
      counter.message(message)
      if (clock.elapsed() - sliceMs < SLICE_MS) continue
      await turn()
      sliceMs = clock.elapsed()
    }
    await turn()
    return messages
  }

  const byForm = (messages: Message[], request: MicrocompactRequest, tokens: number, room: Room) => {
    const gapMs = gapOf(request, clock.now())
    const byTime = request.form === 'time' || (request.form === 'auto' && settings().microcompactByTime)
    const timed = byTime ? clearByTime(counter, messages, { gapMs }) : undefined
    if (timed && (request.form === 'time' || timed.results.length > 0)) return { form: 'time' as const, ...timed }
    return { form: 'size' as const, ...clearBySize(counter, messages, { tokens, warning: room.thresholds.warning }) }
  }

  return {
    measure: async ({ model, messages: given, usage, betas }: MeasureRequest, caller: Caller): Promise<Measured> => {
      const messages = await countedMessages(given)
      const room = roomFor({ model, betas }, caller)
      const tokens = tokensInContext(counter, messages, usage ?? usageIn(given))
      return {
        tokens,
        breakdown: breakdownOf(counter, messages),
        ...room,
        percentLeft: percentLeft(tokens, room),
        states: statesAt(tokens, room),
        resultLimits: toolResults.lowestLimits(),
      }
    },
    microcompact: async (request: MicrocompactRequest, caller: Caller): Promise<Microcompacted> => {
      const messages = await countedMessages(request.messages)
      const usage = request.usage ?? usageIn(request.messages)
      const tokensBefore = tokensInContext(counter, messages, usage)
      const unchanged = { tokensBefore, tokensAfter: tokensBefore }
      if (request.form === 'api')
        return { form: 'api', contextManagement: editsAtApi(messages, request), cleared: [], ...unchanged }
      if (request.form === 'cached') {
        const plan = request.fork ? { cleared: [] } : planCached(counter, messages)
        return { form: 'cached', ...plan, ...unchanged }
      }
      if (!settings().enabled) return { form: request.form, cleared: [], ...unchanged }
      const { form, ...cleared } = byForm(messages, request, tokensBefore, roomFor(request, caller))
      if (cleared.results.length === 0) return { form, cleared: [], ...unchanged }
      const key = keyOf(request)
      const originals = cleared.results.map(({ toolUseId, block }) => ({ toolUseId, text: resultText(block) }))
      // What the server counted is exact; only our own estimate is padded by a third.
      const count = usage ? counter.all : counter.messages
      await toolResults.save(key, originals)
      agent.announceBreak(key, 'old results were cleared')
      if (cleared.memories) recall.reset(key)
      return {
        form,
        messages: cleared.messages,
        cleared: cleared.results.map(({ toolUseId }) => toolUseId),
        tokensBefore,
        tokensAfter: Math.max(0, tokensBefore - (count(messages) - count(cleared.messages))),
      }
    },
    compact: async (request: CompactRequest, caller: Caller, signal: AbortSignal): Promise<Compacted> => {
      const off = compactionOff(request.trigger, variables(caller), settings())
      if (off && !request.preview) throw new MemoryError('CONFLICT', `nothing is compacted: ${off}`, { reason: 'off' })
      const key = keyOf(request)
      const given = request.messages ?? (await summariser.transcript(key, signal))
      if (!given)
        throw new MemoryError('NOT_FOUND', `no session ${request.sessionId} is known`, {
          hint: 'send its messages along',
        })
      const messages = await countedMessages(given)
      const source = request.messages ? 'given' : 'transcript'
      const room = roomFor(request, caller)
      const compacted = await compaction({ key, cwd: request.cwd, source }, messages, { ...request, room, signal })
      if (!request.preview) forgetShown(key)
      return compacted
    },
    keepResults: async (request: ToolResultsRequest): Promise<ToolResultsKept> => ({
      results: await toolResults.keep(keyOf(request), request.messageId, request.results),
    }),
    result: toolResults.read,
    expire: (beforeMs: number): void => {
      toolResults.expire(beforeMs)
      guards.expire(beforeMs)
    },
  }
}
export type Context = ReturnType<typeof createContext>

function keyOf({ harness, sessionId }: SessionKey): SessionKey {
  return { harness, sessionId }
}

/** Answers of a harness may carry what they used; the last one counts, if it is the last answer. */
function usageIn(given: readonly unknown[]) {
  const last = given.findLast((entry) => roleOf(entry) === 'assistant')
  const outer = recordOf(last)
  const usage = recordOf(outer.usage ?? recordOf(outer.message).usage)
  // The request schema does not check these numbers.
  if (typeof usage.input_tokens !== 'number') return undefined
  const counted = Object.entries(usage).map(([name, value]) => {
    return [name, typeof value === 'number' && value > 0 ? Math.round(Math.min(value, MOST_TOKENS)) : 0]
  })
  return Object.fromEntries(counted) as WireUsage
}

function roleOf(entry: unknown): unknown {
  const outer = recordOf(entry)
  return outer.role ?? recordOf(outer.message).role
}

function gapOf({ lastAssistantAt, messages }: MicrocompactRequest, nowMs: number): number | undefined {
  const last = recordOf(messages.findLast((entry) => roleOf(entry) === 'assistant'))
  const at = lastAssistantAt ?? last.timestamp ?? last.at
  const ms = typeof at === 'number' ? at : Date.parse(String(at ?? ''))
  return Number.isFinite(ms) ? nowMs - ms : undefined
}
