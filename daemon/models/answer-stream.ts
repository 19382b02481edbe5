/** Puts an answer together from the events of a stream. What does not fit is garbage, said so, never guessed. Pure. */
import { z } from 'zod'
import { type Block, parseJson, type Usage } from './wire.ts'

export type Gathering = {
  /** Gives what is wrong with the event, if something is. */
  take(event: { event: string | null; data: string }): Wrong | undefined
  /** What is known to be used up by now; undefined when the answer did not even begin. */
  usage(): Usage | undefined
  /** Once the last event was there. */
  whole(): { content: Block[]; stop: string; usage: Usage } | Wrong | undefined
}

export type Wrong = { garbage: string } | { error: { type: string; message: string } }

const count = z.number().int().min(0).max(1_000_000_000).nullish()
const WireUsage = z.object({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  cache_creation: z.object({ ephemeral_1h_input_tokens: count }).nullish(),
})
type WireUsage = z.infer<typeof WireUsage>

const Index = z.int().min(0).max(10_000)
const Known = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message_start'), message: z.object({ usage: WireUsage.nullish() }) }),
  z.object({
    type: z.literal('content_block_start'),
    index: Index,
    content_block: z.looseObject({ type: z.string() }),
  }),
  z.object({ type: z.literal('content_block_delta'), index: Index, delta: z.looseObject({ type: z.string() }) }),
  z.object({ type: z.literal('content_block_stop'), index: Index }),
  z.object({
    type: z.literal('message_delta'),
    delta: z.object({ stop_reason: z.string().nullish() }),
    usage: WireUsage.nullish(),
  }),
  z.object({ type: z.literal('message_stop') }),
  z.object({ type: z.literal('error'), error: z.object({ type: z.string(), message: z.string() }) }),
])
const names: readonly string[] = Known.options.map((option) => option.shape.type.value)

type Open = { type: string; fields: Record<string, unknown>; json: string }

/** Which field of its block a piece adds to. */
const additions: Record<string, string> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
}

export function createGathering(): Gathering {
  const blocks = new Map<number, Open>()
  let usage: WireUsage | undefined
  let stop: string | undefined
  let state: 'before' | 'within' | 'over' = 'before'

  const learn = (more: WireUsage | null | undefined) => {
    if (!more) return
    const told = Object.entries(more).filter(([, value]) => value !== null && value !== undefined)
    usage = { ...usage, ...Object.fromEntries(told) }
  }

  const add = (index: number, delta: Record<string, unknown> & { type: string }): Wrong | undefined => {
    const block = blocks.get(index)
    if (!block) return garbage('a piece of a block that never began')
    const piece = delta[additions[delta.type] ?? 'partial_json']
    // Kinds of pieces that come with a later API are not for us.
    if (typeof piece !== 'string') return undefined
    const field = additions[delta.type]
    if (field) block.fields[field] = String(block.fields[field] ?? '') + piece
    else block.json += piece
    return undefined
  }

  return {
    take: ({ event, data }) => {
      const value = parseJson(data)
      if (value === undefined) return garbage(`an event (${event ?? 'without a name'}) that is not JSON`)
      const { type } = (value ?? {}) as { type?: unknown }
      if (typeof type === 'string' && !names.includes(type)) return undefined
      const parsed = Known.safeParse(value)
      if (!parsed.success) return garbage(`an event ${String(type ?? event)} of another form`)
      const told = parsed.data
      if (told.type === 'error') return { error: told.error }
      if (told.type === 'message_start') {
        if (state !== 'before') return garbage('a second beginning')
        state = 'within'
        learn(told.message.usage)
        return undefined
      }
      if (state !== 'within') return garbage(`${told.type} outside of a message`)
      if (told.type === 'content_block_start') {
        if (blocks.has(told.index)) return garbage('a block that began twice')
        const { type, ...fields } = told.content_block
        blocks.set(told.index, { type, fields, json: '' })
      } else if (told.type === 'content_block_delta') return add(told.index, told.delta)
      else if (told.type === 'message_delta') {
        learn(told.usage)
        stop = told.delta.stop_reason ?? stop
      } else if (told.type === 'message_stop') state = 'over'
      return undefined
    },
    usage: () => (state === 'before' ? undefined : usage && ours(usage)),
    whole: () => {
      if (state !== 'over') return undefined
      if (stop === undefined) return garbage('an answer that does not say why it ended')
      const content: Block[] = []
      for (const [, block] of [...blocks].sort(([a], [b]) => a - b)) {
        const made = finished(block)
        if (!made)
          return garbage(
            `a call of a tool whose input is not JSON${stop === 'max_tokens' ? ', cut at max_tokens' : ''}`,
          )
        content.push(made)
      }
      return { content, stop, usage: ours(usage ?? {}) }
    },
  }
}

function finished({ type, fields, json }: Open): Block | undefined {
  if (type === 'text') return { type, text: String(fields.text ?? '') }
  if (type !== 'tool_use') return { type: 'opaque', wire: { type, ...fields } }
  const input = json === '' ? (fields.input ?? {}) : parseJson(json)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined
  return { type, id: String(fields.id ?? ''), name: String(fields.name ?? ''), input: input as Record<string, unknown> }
}

function ours(told: WireUsage): Usage {
  const long = told.cache_creation?.ephemeral_1h_input_tokens
  return {
    input: told.input_tokens ?? 0,
    cacheRead: told.cache_read_input_tokens ?? 0,
    cacheWrite: told.cache_creation_input_tokens ?? 0,
    output: told.output_tokens ?? 0,
    ...(long && { cacheWrite1h: long }),
  }
}

function garbage(what: string): Wrong {
  return { garbage: what }
}
