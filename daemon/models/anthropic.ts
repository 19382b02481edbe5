/**
 * Asks a model over the Messages API: streams, ends a stream that stands still, hangs up when told to, and gives every
 * failure as a value. Never tries again: the job runner does.
 */
import type { Clock } from '../platform/clock.ts'
import { createGathering, type Gathering, type Wrong } from './answer-stream.ts'
import type { Access } from './keys.ts'
import {
  failure,
  kindOfErrorType,
  type ModelAnswer,
  type ModelFailure,
  networkFailure,
  type Params,
  statusFailure,
} from './wire.ts'

/** More than any answer, and any event of one, has. */
const LARGEST_BYTES = 32_000_000
const LONGEST_LINE_BYTES = 2_000_000

/** `idleMs`: how long a stream may stand still, the wait for its beginning included. */
export type Sender = (
  params: Params,
  at: { access: Access; idleMs: number; signal: AbortSignal },
) => Promise<ModelAnswer | ModelFailure>

/** The SDK is loaded with the first request: that takes as long as a hundred answers on the socket. */
const loadSdk = async () => {
  const [{ Anthropic, APIError }, { Stream }] = await Promise.all([
    import('@anthropic-ai/sdk'),
    import('@anthropic-ai/sdk/streaming'),
  ])
  return { Anthropic, APIError, rawEvents: Stream.rawEvents }
}
type Sdk = Awaited<ReturnType<typeof loadSdk>>

export function createSender(clock: Clock): Sender {
  return async (params, { access, idleMs, signal }) => {
    if (signal.aborted) return failure('aborted', 'broken off before it was sent', { spent: 'nothing' })
    const sdk = await loadSdk()
    const watch = createWatch(clock, idleMs, signal)
    const gathering = createGathering()
    const begunMs = clock.elapsed()
    let requestId: string | undefined
    let begun = false
    try {
      const response = await clientOf(sdk, access).messages.create(params, { signal: watch.signal }).asResponse()
      begun = true
      requestId = response.headers.get('request-id') ?? undefined
      const type = response.headers.get('content-type') ?? 'nothing'
      if (!/^text\/event-stream\b/.test(type)) {
        await response.body?.cancel()
        return failure('garbage', `answered with ${type.slice(0, 100)} instead of a stream`, named(requestId))
      }
      const wrong = await readAll(sdk, response, gathering, watch)
      if (watch.why()) return unfinished(watch.why() as Ending, gathering, requestId)
      if (wrong) return spoilt(wrong, gathering, requestId)
      const whole = gathering.whole()
      if (!whole) return unfinished('cut', gathering, requestId)
      if (!('content' in whole)) return spoilt(whole, gathering, requestId)
      return { ...whole, requestId, latencyMs: clock.elapsed() - begunMs }
    } catch (error) {
      const why = watch.why()
      if (why) return unfinished(why, gathering, requestId)
      if (error instanceof sdk.APIError && error.status) return statusFailure(error, clock.now())
      if (begun) return unfinished('cut', gathering, requestId)
      return networkFailure(error)
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
    // What is asked and answered belongs in no log and no trace.
    logLevel: 'off',
    openTelemetry: false,
    // A key is for one place. Another that the server points to may be anyone's.
    fetchOptions: { redirect: 'error' },
  })
}

async function readAll(
  { rawEvents }: Sdk,
  response: Response,
  gathering: Gathering,
  watch: Watch,
): Promise<Wrong | undefined> {
  const flow = boundedFlow(response.body)
  for await (const event of rawEvents({ body: flow.chunks } as never, watch.controller)) {
    watch.alive()
    const wrong = event.data === '' ? undefined : gathering.take(event)
    // To leave the loop is to hang up.
    if (wrong) return wrong
  }
  return flow.endless() ? { garbage: 'it has no end' } : undefined
}

/** The SDK keeps a line until it ends and looks through all of it with each piece: one of 32 MB takes it most of a minute. */
function boundedFlow(body: ReadableStream<Uint8Array> | null) {
  let bytes = 0
  let inLine = 0
  const endless = () => bytes > LARGEST_BYTES || inLine > LONGEST_LINE_BYTES
  async function* chunks() {
    for await (const chunk of body ?? []) {
      const lineEnd = chunk.lastIndexOf(10)
      bytes += chunk.length
      inLine = lineEnd < 0 ? inLine + chunk.length : chunk.length - lineEnd - 1
      if (endless()) return
      yield chunk
    }
  }
  return { chunks: chunks(), endless }
}

const words: Record<Ending, string> = {
  aborted: 'broken off',
  idle: 'the answer stood still',
  cut: 'the answer ended before its end',
}

function unfinished(why: Ending, gathering: Gathering, requestId: string | undefined): ModelFailure {
  return failure(why, words[why], { ...usageOf(gathering), ...named(requestId) })
}

function spoilt(wrong: Wrong, gathering: Gathering, requestId: string | undefined): ModelFailure {
  const more = { ...usageOf(gathering), ...named(requestId) }
  if ('garbage' in wrong) return failure('garbage', `the answer makes no sense: ${wrong.garbage}`, more)
  const { type, message } = wrong.error
  return failure(kindOfErrorType(type), `${type} in mid-answer: ${message}`.slice(0, 500), more)
}

function usageOf(gathering: Gathering): Partial<ModelFailure> {
  const usage = gathering.usage()
  return usage ? { usage } : {}
}

function named(requestId: string | undefined): Partial<ModelFailure> {
  return requestId === undefined ? {} : { requestId }
}

/** Watches over one call: hangs up when nothing moves any more, when it takes too long, and when told to. */

/** However alive a stream looks, no answer takes longer. */
export const LONGEST_MS = 15 * 60_000

export type Ending = 'aborted' | 'idle' | 'cut'

export type Watch = {
  controller: AbortController
  signal: AbortSignal
  alive(): void
  /** Why we hung up; undefined when we did not. */
  why(): Ending | undefined
  stop(): void
}

export function createWatch(clock: Clock, idleMs: number, signal: AbortSignal): Watch {
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
    signal: controller.signal,
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
