/** Asks a model over the Messages API and gives every failure as a value. Never tries again: the job runner does. */
import { z } from 'zod'
import type { Clock } from '../platform/clock.ts'
import { parseJson } from '../platform/json.ts'
import type { Access } from './models.ts'
import {
  type Block,
  failure,
  kindOfErrorType,
  type ModelAnswer,
  type ModelFailure,
  networkFailure,
  type Params,
  statusFailure,
  type Usage,
} from './wire.ts'

const LARGEST_BYTES = 32_000_000
const LONGEST_LINE_BYTES = 2_000_000
const LONGEST_MS = 15 * 60_000

const ENDINGS = { aborted: 'broken off', idle: 'the answer stood still', cut: 'the answer ended before its end' }
type Ending = keyof typeof ENDINGS

/** Loading the SDK takes as long as a hundred answers on the socket. */
const loadSdk = async () => {
  const [{ Anthropic, APIError }, { Stream }] = await Promise.all([
    import('@anthropic-ai/sdk'),
    import('@anthropic-ai/sdk/streaming'),
  ])
  return { Anthropic, APIError, rawEvents: Stream.rawEvents }
}
type Sdk = Awaited<ReturnType<typeof loadSdk>>

/** `idleMs`: how long a stream may stand still, the wait for its beginning included. */
type At = { access: Access; idleMs: number; signal: AbortSignal }

export function createSender(clock: Clock) {
  return async (params: Params, { access, idleMs, signal }: At): Promise<ModelAnswer | ModelFailure> => {
    if (signal.aborted) return failure('aborted', 'broken off before it was sent', { spent: 'nothing' })
    const sdk = await loadSdk()
    const watch = createWatch(clock, idleMs, signal)
    const gathering = createGathering()
    let response: Response | undefined
    const requestId = () => response?.headers.get('request-id') ?? undefined
    const known = () => ({ usage: gathering.usage(), requestId: requestId() })
    const unfinished = (why: Ending) => failure(why, ENDINGS[why], known())
    try {
      response = await clientOf(sdk, access).messages.create(params, { signal: watch.controller.signal }).asResponse()
      const type = response.headers.get('content-type') ?? 'nothing'
      if (!/^text\/event-stream\b/.test(type)) {
        await response.body?.cancel()
        return failure('garbage', `answered with ${type.slice(0, 100)} instead of a stream`, known())
      }
      const wrong = await readAll(sdk, response, gathering, watch)
      const why = watch.why()
      if (why) return unfinished(why)
      const whole = wrong ?? gathering.whole()
      if (!whole) return unfinished('cut')
      if ('garbage' in whole) return failure('garbage', `the answer makes no sense: ${whole.garbage}`, known())
      if ('content' in whole) return { ...whole, requestId: requestId() }
      const { type: errorType, message } = whole.error
      return failure(kindOfErrorType(errorType), `${errorType} in mid-answer: ${message}`.slice(0, 500), known())
    } catch (error) {
      const why = watch.why()
      if (why) return unfinished(why)
      if (error instanceof sdk.APIError && error.status) return statusFailure(error, clock.now())
      return response ? unfinished('cut') : networkFailure(error)
    } finally {
      watch.stop()
    }
  }
}

function clientOf({ Anthropic }: Sdk, { key, baseUrl }: Access) {
  return new Anthropic({
    ...(key.kind === 'api-key' ? { apiKey: key.value } : { authToken: key.value }),
    baseURL: baseUrl,
    maxRetries: 0,
    timeout: LONGEST_MS,
    // Requests and answers belong in no log and no trace.
    logLevel: 'off',
    openTelemetry: false,
    // A key is for one server.
    fetchOptions: { redirect: 'error' },
  })
}

async function readAll({ rawEvents }: Sdk, response: Response, gathering: Gathering, watch: Watch) {
  const flow = boundedFlow(response.body)
  for await (const event of rawEvents({ body: flow.chunks } as never, watch.controller)) {
    watch.alive()
    const wrong = event.data === '' ? undefined : gathering.take(event)
    if (wrong) return wrong
  }
  return flow.isEndless() ? garbage('it has no end') : undefined
}

/** The SDK searches a line again with each piece of it: a line of 32 MB takes it most of a minute. */
function boundedFlow(body: ReadableStream<Uint8Array> | null) {
  let bytes = 0
  let inLine = 0
  const isEndless = () => bytes > LARGEST_BYTES || inLine > LONGEST_LINE_BYTES
  async function* chunks() {
    for await (const chunk of body ?? []) {
      const lineEnd = chunk.lastIndexOf(10)
      bytes += chunk.length
      inLine = lineEnd < 0 ? inLine + chunk.length : chunk.length - lineEnd - 1
      if (isEndless()) return
      yield chunk
    }
  }
  return { chunks: chunks(), isEndless }
}

type Watch = ReturnType<typeof createWatch>

function createWatch(clock: Clock, idleMs: number, signal: AbortSignal) {
  const controller = new AbortController()
  let why: Ending | undefined
  const hangUp = (reason: Ending) => {
    why ??= reason
    controller.abort()
  }
  const onAbort = () => hangUp('aborted')
  signal.addEventListener('abort', onAbort, { once: true })
  const longest = clock.after(LONGEST_MS, () => hangUp('idle'))
  let idle = clock.after(idleMs, () => hangUp('idle'))
  return {
    controller,
    alive: () => {
      idle.stop()
      idle = clock.after(idleMs, () => hangUp('idle'))
    },
    why: () => why,
    stop: () => {
      signal.removeEventListener('abort', onAbort)
      longest.stop()
      idle.stop()
    },
  }
}

type Wrong = { garbage: string } | { error: { type: string; message: string } }

const count = z.number().int().min(0).max(1_000_000_000).nullish()
const WireUsage = z.object({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  cache_creation: z.object({ ephemeral_1h_input_tokens: count }).nullish(),
})
type WireUsage = z.infer<typeof WireUsage>

const index = z.int().min(0).max(10_000)
const typed = z.looseObject({ type: z.string() })
const Known = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message_start'), message: z.object({ usage: WireUsage.nullish() }) }),
  z.object({ type: z.literal('content_block_start'), index, content_block: typed }),
  z.object({ type: z.literal('content_block_delta'), index, delta: typed }),
  z.object({ type: z.literal('content_block_stop'), index }),
  z.object({
    type: z.literal('message_delta'),
    delta: z.object({ stop_reason: z.string().nullish() }),
    usage: WireUsage.nullish(),
  }),
  z.object({ type: z.literal('message_stop') }),
  z.object({ type: z.literal('error'), error: z.object({ type: z.string(), message: z.string() }) }),
])
const names: readonly string[] = Known.options.map((option) => option.shape.type.value)

type Open = { fields: Record<string, unknown> & { type: string }; json: string }

const additions: Record<string, string> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
}

type Gathering = ReturnType<typeof createGathering>

/** Puts an answer together from the events of a stream. What does not fit is garbage, never guessed. */
function createGathering() {
  const blocks = new Map<number, Open>()
  let usage: WireUsage | undefined
  let stop: string | undefined
  let state: 'before' | 'within' | 'over' = 'before'

  const learn = (more: WireUsage | null | undefined) => {
    const told = Object.entries(more ?? {}).filter(([, value]) => value !== null && value !== undefined)
    if (more) usage = { ...usage, ...Object.fromEntries(told) }
  }

  const add = (index: number, delta: Record<string, unknown> & { type: string }) => {
    const block = blocks.get(index)
    if (!block) return garbage('a piece of a block that never began')
    const field = additions[delta.type]
    const piece = delta[field ?? 'partial_json']
    // A later API may have other kinds of pieces.
    if (typeof piece !== 'string') return undefined
    if (field) block.fields[field] = String(block.fields[field] ?? '') + piece
    else block.json += piece
    return undefined
  }

  return {
    take: ({ event, data }: { event: string | null; data: string }): Wrong | undefined => {
      const value = parseJson(data)
      if (value === undefined) return garbage(`an event (${event ?? 'without a name'}) that is not JSON`)
      const { type } = (value ?? {}) as { type?: unknown }
      if (typeof type === 'string' && !names.includes(type)) return undefined
      const { data: told } = Known.safeParse(value)
      if (!told) return garbage(`an event ${String(type ?? event)} of another form`)
      if (told.type === 'error') return { error: told.error }
      if (told.type === 'message_start') {
        if (state !== 'before') return garbage('a second beginning')
        state = 'within'
        learn(told.message.usage)
        return undefined
      }
      if (state !== 'within') return garbage(`${told.type} outside of a message`)
      if (told.type === 'content_block_delta') return add(told.index, told.delta)
      if (told.type === 'content_block_start') {
        if (blocks.has(told.index)) return garbage('a block that began twice')
        blocks.set(told.index, { fields: told.content_block, json: '' })
      } else if (told.type === 'message_delta') {
        learn(told.usage)
        stop = told.delta.stop_reason ?? stop
      } else if (told.type === 'message_stop') state = 'over'
      return undefined
    },
    usage: () => (state === 'before' ? undefined : usage && ours(usage)),
    whole: (): { content: Block[]; stop: string; usage: Usage } | Wrong | undefined => {
      if (state !== 'over') return undefined
      if (stop === undefined) return garbage('an answer that does not say why it ended')
      const content: Block[] = []
      for (const [, block] of [...blocks].sort(([a], [b]) => a - b)) {
        const made = finished(block)
        const cut = stop === 'max_tokens' ? ', cut at max_tokens' : ''
        if (!made) return garbage(`a call of a tool whose input is not JSON${cut}`)
        content.push(made)
      }
      return { content, stop, usage: ours(usage ?? {}) }
    },
  }
}

function finished({ fields, json }: Open): Block | undefined {
  const { type, text, id, name, input: given = {} } = fields
  if (type === 'text') return { type, text: String(text ?? '') }
  if (type !== 'tool_use') return { type: 'opaque', wire: fields }
  const input = json === '' ? given : parseJson(json)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined
  return { type, id: String(id ?? ''), name: String(name ?? ''), input: input as Record<string, unknown> }
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

function garbage(what: string): { garbage: string } {
  return { garbage: what }
}
