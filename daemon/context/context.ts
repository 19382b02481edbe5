/** The context service as harnesses ask for it: measured, kept, cleared, compacted. Puts the parts together. */
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
import type { Clock } from '../platform/clock.ts'
import { isDeeperThan } from '../platform/json.ts'
import { type CompactDeps, createCompaction } from './compact.ts'
import { createGuards, type GuardRecords } from './compaction-guards.ts'
import { flatten, type Message, recordOf, resultText } from './messages.ts'
import { type Cleared, clearBySize, clearByTime, editsAtApi, planCached } from './microcompact.ts'
import {
  breakdownOf,
  type ContextVariables,
  type Counter,
  compactionOff,
  createCounter,
  percentLeft,
  type Room,
  roomOf,
  statesAt,
  tokensInContext,
  type WireUsage,
  windowOf,
} from './token-count.ts'
import type { ResultStore, SessionKey } from './tool-results.ts'

type Deps = Omit<CompactDeps, 'counter' | 'guards'> & {
  settings: () => { enabled: boolean; autoCompact: boolean; microcompactByTime: boolean }
  variables: (caller: Caller) => ContextVariables
  /** What is known of a model. */
  windowTokens: (model: string) => number | undefined
  results: ResultStore
  guarded: GuardRecords
  /** The messages of a session as its transcript has them; nothing where nobody knows it. */
  transcript: (key: SessionKey, signal: AbortSignal) => Promise<unknown[] | undefined>
  /** Says beforehand that the session will not begin as it did. */
  announce: (key: SessionKey, because: string) => Promise<void>
  /** Memories that the session was shown are not before it any more. */
  onMemoriesCleared: (key: SessionKey) => void
  clock: Clock
}

const CAP_LEVELS = 200
const SLICE_MS = 15
const MOST_TOKENS = 1_000_000_000

export function createContext(deps: Deps) {
  const { settings, variables, windowTokens, results, guarded, transcript, announce, onMemoriesCleared, clock } = deps
  const counter = createCounter()
  const compaction = createCompaction({ ...deps, counter, guards: createGuards(guarded) })

  const roomFor = ({ model, betas = [] }: { model: string; betas?: string[] | undefined }, caller: Caller): Room => {
    const own = variables(caller)
    return roomOf(windowOf({ model, known: windowTokens(model), betas, variables: own }), own)
  }

  /** Long conversations are counted a little at a time, so that nobody else waits for it. */
  const taken = async (given: readonly unknown[]): Promise<Message[]> => {
    if (isDeeperThan(given, CAP_LEVELS)) throw new MemoryError('BAD_REQUEST', 'body.messages: nested too deeply')
    const messages = flatten(given)
    let sliceMs = clock.elapsed()
    for (const message of messages) {
      counter.message(message)
      if (clock.elapsed() - sliceMs < SLICE_MS) continue
      await turn()
      sliceMs = clock.elapsed()
    }
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
      const messages = await taken(given)
      const room = roomFor({ model, betas }, caller)
      const tokens = tokensInContext(counter, messages, usage ?? usageIn(given))
      return {
        tokens,
        breakdown: breakdownOf(counter, messages),
        ...room,
        percentLeft: percentLeft(tokens, room),
        states: statesAt(tokens, room),
        resultLimits: results.limits(),
      }
    },
    microcompact: async (request: MicrocompactRequest, caller: Caller): Promise<Microcompacted> => {
      const messages = await taken(request.messages)
      const usage = request.usage ?? usageIn(request.messages)
      const tokensBefore = tokensInContext(counter, messages, usage)
      const unchanged = { tokensBefore, tokensAfter: tokensBefore }
      if (request.form === 'api')
        return { form: 'api', contextManagement: editsAtApi(messages, request), cleared: [], ...unchanged }
      if (request.form === 'cached') {
        const { contextManagement, cleared } = request.fork
          ? { contextManagement: undefined, cleared: [] }
          : planCached(counter, messages)
        return { form: 'cached', ...(contextManagement && { contextManagement }), cleared, ...unchanged }
      }
      if (!settings().enabled) return { form: request.form, cleared: [], ...unchanged }
      const { form, ...cleared } = byForm(messages, request, tokensBefore, roomFor(request, caller))
      if (cleared.results.length === 0) return { form, cleared: [], ...unchanged }
      const key = { harness: request.harness, session: request.sessionId }
      await results.save(key, originals(cleared))
      await announce(key, 'old results were cleared')
      if (cleared.memories) onMemoriesCleared(key)
      return {
        form,
        messages: cleared.messages,
        cleared: cleared.results.map(({ toolUseId }) => toolUseId),
        tokensBefore,
        tokensAfter: Math.max(0, tokensBefore - freedBy(counter, messages, cleared, usage)),
      }
    },
    compact: async (request: CompactRequest, caller: Caller, signal: AbortSignal): Promise<Compacted> => {
      const off = compactionOff(request.trigger, variables(caller), settings())
      if (off && !request.preview) throw new MemoryError('CONFLICT', `nothing is compacted: ${off}`, { reason: 'off' })
      const key = { harness: request.harness, session: request.sessionId }
      const given = request.messages ?? (await transcript(key, signal))
      if (!given)
        throw new MemoryError('NOT_FOUND', `no session ${request.sessionId} is known`, {
          hint: 'send its messages along',
        })
      const messages = await taken(given)
      const conversation = {
        key,
        cwd: request.cwd,
        source: request.messages ? ('given' as const) : ('transcript' as const),
      }
      return compaction(conversation, messages, { ...request, room: roomFor(request, caller), signal })
    },
    keepResults: async ({
      harness,
      sessionId,
      messageId,
      results: given,
    }: ToolResultsRequest): Promise<ToolResultsKept> => ({
      results: await results.keep({ harness, session: sessionId }, messageId, given),
    }),
    result: (key: SessionKey, toolUseId: string, range: { from?: number | undefined; to?: number | undefined }) =>
      results.read(key, toolUseId, range),
  }
}

/** Of what a server has counted itself no more than that is gone: a third more would be taken from it twice. */
function freedBy(counter: Counter, before: readonly Message[], after: Cleared, usage: WireUsage | undefined): number {
  if (!usage) return counter.messages(before) - counter.messages(after.messages)
  return before.reduce(
    (sum, each, at) => sum + counter.message(each) - counter.message(after.messages[at] as Message),
    0,
  )
}

function originals({ results }: Cleared): { toolUseId: string; text: string }[] {
  return results.map(({ toolUseId, block }) => ({ toolUseId, text: resultText(block) }))
}

/** Answers of a harness may carry what they used; the last one counts, if it is the last answer. */
function usageIn(given: readonly unknown[]) {
  const last = given.findLast((entry) => roleOf(entry) === 'assistant')
  const outer = recordOf(last)
  const usage = recordOf(outer.usage ?? recordOf(outer.message).usage)
  // Nobody has looked at these numbers before.
  const count = (name: string) => {
    const value = usage[name]
    return typeof value === 'number' && value > 0 ? Math.round(Math.min(value, MOST_TOKENS)) : 0
  }
  if (typeof usage.input_tokens !== 'number') return undefined
  return {
    input_tokens: count('input_tokens'),
    cache_read_input_tokens: count('cache_read_input_tokens'),
    cache_creation_input_tokens: count('cache_creation_input_tokens'),
    output_tokens: count('output_tokens'),
  }
}

function roleOf(entry: unknown): unknown {
  const outer = recordOf(entry)
  return outer.role ?? recordOf(outer.message).role
}

/** How long ago the last answer came. */
function gapOf({ lastAssistantAt, messages }: MicrocompactRequest, nowMs: number): number | undefined {
  const last = recordOf(messages.findLast((entry) => roleOf(entry) === 'assistant'))
  const at = lastAssistantAt ?? last.timestamp ?? last.at
  const ms = typeof at === 'number' ? at : Date.parse(String(at ?? ''))
  return Number.isFinite(ms) ? nowMs - ms : undefined
}
