/** Counts tokens: what the last response used, and an estimate for the rest, rather too high; how full a window is. */
import type { Measured, MeasureRequest } from '../../schema/context.ts'
import { BYTES_PER_TOKEN, JSON_BYTES_PER_TOKEN, padded, textTokens } from '../platform/text.ts'
import { flag } from '../projects/memory-dir.ts'
import { type Block, blocksOf, isText, type Message, recordOf, resultIdOf, toolUsesOf } from './messages.ts'

export type WireUsage = NonNullable<MeasureRequest['usage']>

type Breakdown = Measured['breakdown']

const FLAT_TOKENS = 2_000

export function usageTokens(usage: WireUsage): number {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = usage
  return (
    (input_tokens ?? 0) + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0) + (output_tokens ?? 0)
  )
}

export type Counter = ReturnType<typeof createCounter>

/** Counts each message and block once: they are never changed, only replaced. */
export function createCounter() {
  const known = new WeakMap<Message | Block, number>()
  const once = <T extends Message | Block>(of: (each: T) => number) => {
    return (each: T): number => {
      const tokens = known.get(each) ?? of(each)
      known.set(each, tokens)
      return tokens
    }
  }
  const block = once<Block>((each) => (each.type === 'tool_result' ? result(each) : plain(each)))
  const message = once<Message>(({ content }) =>
    typeof content === 'string' ? textTokens(content) : sum(content.map(block)),
  )
  const all = (messages: readonly Message[]) => sum(messages.map(message))
  return { block, message, all, messages: (messages: readonly Message[]) => padded(all(messages)) }
}

function result({ content }: Block): number {
  if (typeof content === 'string') return textTokens(content)
  return Array.isArray(content) ? sum(content.map((part) => plain(recordOf(part) as Block))) : 0
}

function plain(block: Block): number {
  if (isText(block)) return textTokens(block.text)
  switch (block.type) {
    case 'image':
    case 'document':
      return FLAT_TOKENS
    case 'tool_use':
      return Math.ceil(
        Buffer.byteLength(String(block.name)) / BYTES_PER_TOKEN +
          Buffer.byteLength(JSON.stringify(block.input) ?? '') / JSON_BYTES_PER_TOKEN,
      )
    case 'thinking':
      return textTokens(String(block.thinking ?? ''))
    case 'redacted_thinking':
      return textTokens(String(block.data ?? ''))
    default:
      return Math.ceil(Buffer.byteLength(JSON.stringify(block)) / JSON_BYTES_PER_TOKEN)
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

export function tokensInContext(counter: Counter, messages: readonly Message[], usage: WireUsage | undefined): number {
  if (!usage) return counter.messages(messages)
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  return usageTokens(usage) + counter.all(messages.slice(last + 1))
}

const READS = ['Read', 'NotebookRead']
/** What a harness or this program put beside what was said. */
const ATTACHED = /^\s*<(system-reminder|memoryd-context)\b/

export function breakdownOf(counter: Counter, messages: readonly Message[]): Breakdown {
  const parts: Breakdown = { user: 0, assistant: 0, toolRequests: 0, toolResults: 0, attachments: 0, duplicateReads: 0 }
  const uses = toolUsesOf(messages)
  const readLast = new Map<string, number>()
  for (const { role, content } of messages)
    for (const block of blocksOf(content)) {
      const tokens = counter.block(block)
      parts[partOf(block, role)] += tokens
      const use = uses.get(resultIdOf(block) ?? '')
      if (!use || !READS.includes(use.name)) continue
      const what = JSON.stringify(use.input)
      parts.duplicateReads += readLast.get(what) ?? 0
      readLast.set(what, tokens)
    }
  return parts
}

function partOf(block: Block, role: Message['role']): Exclude<keyof Breakdown, 'duplicateReads'> {
  if (block.type === 'tool_use' || block.type === 'server_tool_use') return 'toolRequests'
  if (/tool_result$/.test(block.type)) return 'toolResults'
  if (block.type === 'image' || block.type === 'document') return 'attachments'
  if (role === 'system' || (isText(block) && role === 'user' && ATTACHED.test(block.text))) return 'attachments'
  return role === 'assistant' ? 'assistant' : 'user'
}

export type ContextVariables = {
  MEMORYD_CONTEXT_WINDOW?: string | undefined
  CLAUDE_AUTOCOMPACT_PCT_OVERRIDE?: string | undefined
  DISABLE_COMPACT?: string | undefined
  DISABLE_AUTO_COMPACT?: string | undefined
}

export type Room = Pick<Measured, 'window' | 'effective' | 'thresholds'>

const USUAL_WINDOW = 200_000
const MILLION = 1_000_000
const SUMMARY_TOKENS = 20_000
const BEFORE = { warning: 20_000, error: 20_000, autoCompact: 13_000, blocked: 3_000 }

export function modelName(model: string): string {
  return model.replace(/\[1m\]$/i, '')
}

type Window = { model: string; known: number | undefined; betas: readonly string[]; variables: ContextVariables }

export function windowOf({ model, known, betas, variables }: Window): number {
  if (/\[1m\]$/i.test(model)) return MILLION
  if (known !== undefined) return known
  if (betas.some((beta) => /^context-1m-/.test(beta))) return MILLION
  const own = variables.MEMORYD_CONTEXT_WINDOW ?? ''
  return /^[1-9]\d{0,11}$/.test(own) ? Number(own) : USUAL_WINDOW
}

export function roomOf(window: number, { CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: percent }: ContextVariables): Room {
  const effective = Math.max(0, window - SUMMARY_TOKENS)
  const below = (tokens: number) => Math.max(0, effective - tokens)
  // `toFixed` takes away errors of floating point.
  const share = Math.floor(Number(((effective * percentOf(percent)) / 100).toFixed(6)))
  return {
    window,
    effective,
    thresholds: {
      warning: below(BEFORE.warning),
      error: below(BEFORE.error),
      autoCompact: Math.min(below(BEFORE.autoCompact), share),
      blocked: below(BEFORE.blocked),
    },
  }
}

function percentOf(text = ''): number {
  const value = /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : 100
  return value > 0 && value <= 100 ? value : 100
}

export function statesAt(tokens: number, { thresholds }: Room): Measured['states'] {
  return {
    warning: tokens >= thresholds.warning,
    error: tokens >= thresholds.error,
    autoCompact: tokens >= thresholds.autoCompact,
    blocked: tokens >= thresholds.blocked,
  }
}

export function percentLeft(tokens: number, { effective }: Room): number {
  return effective === 0 ? 0 : Math.max(0, ((effective - tokens) / effective) * 100)
}

export type Trigger = 'auto' | 'manual'

export function compactionOff(
  trigger: Trigger,
  variables: ContextVariables,
  settings: { enabled: boolean; autoCompact: boolean },
): string | undefined {
  if (flag(variables.DISABLE_COMPACT) === 'set') return 'DISABLE_COMPACT is set'
  if (!settings.enabled) return 'context.enabled is false'
  if (trigger === 'manual') return undefined
  if (flag(variables.DISABLE_AUTO_COMPACT) === 'set') return 'DISABLE_AUTO_COMPACT is set'
  return settings.autoCompact ? undefined : 'context.autoCompact is false'
}
