/** One typed method per route. A daemon that is away is not an error unless the caller says so. */
import { spawn } from 'node:child_process'
import type { Contract } from '../schema/contract.ts'
import { type ErrorBody, isHttpCode, MemoryError } from '../schema/errors.ts'
import { BODY_LIMIT_BYTES, PATIENT_MS, type RouteName, type RouteShape, routeTable } from '../schema/route-table.ts'
import { createFit } from './fit.ts'
import { readEvents, readWhole, type Transport } from './transport.ts'

export type CallOptions = { signal?: AbortSignal | undefined; deadlineMs?: number }

type Streaming<Form> = {
  [K in RouteName]: (typeof routeTable)[K] extends { stream: Form } ? K : never
}[RouteName]
export type Answers<Away> = {
  [K in Exclude<RouteName, Streaming<string>>]: (
    input?: Contract[K]['input'],
    options?: CallOptions,
  ) => Promise<Contract[K]['answer'] | Away>
}
/** The bytes as they arrive: nothing when the daemon is away, and an error, strict or not, when it goes half way. */
type Files = {
  [K in Streaming<'lines'>]: (input?: Contract[K]['input'], options?: CallOptions) => AsyncIterable<Uint8Array>
}
type Common = {
  /** Whether the last call reached a daemon. */
  readonly available: boolean
  /** Why not, when it did not. */
  readonly lastError: MemoryError | undefined
  /** Ends when the daemon stops, the signal aborts, or the loop is left. */
  events(input?: Contract['events']['input'], options?: CallOptions): AsyncIterable<Contract['events']['answer']>
  /** Messages that fit the window, by the cheapest way that is enough. */
  fit: ReturnType<typeof createFit>
  close(): void
}

/** Methods answer `undefined` when the daemon is away, slow or broken. */
export type Client = Answers<undefined> & Files & Common
/** Methods throw when the daemon is away, slow or broken. */
export type StrictClient = Answers<never> & Files & Common

const FAULTS_OF_THE_DAEMON: readonly string[] = ['UNREACHABLE', 'SETUP', 'PROTOCOL', 'INTERNAL', 'DEGRADED']
/** A call that waits this long gets its own connection. */
const LONG_MS = 1_000

export function createClient(
  transport: Transport,
  start: (() => Promise<boolean>) | undefined,
  { strict, deadlineMs: defaultMs }: { strict: boolean; deadlineMs: number },
): Client {
  let lastError: MemoryError | undefined
  let reached = false

  async function attempt<T>(act: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await act()
      reached = true
      lastError = undefined
      return answer
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error
      reached = isHttpCode(error.code) && error.code !== 'PROTOCOL'
      lastError = error
      if (strict || !FAULTS_OF_THE_DAEMON.includes(error.code)) throw error
      return undefined
    }
  }

  /** Starting the daemon counts against the deadline of the call that needed it. */
  async function startedIfAway<T>(deadlineMs: number, act: (leftMs: number) => Promise<T>): Promise<T> {
    const begun = performance.now()
    try {
      return await act(deadlineMs)
    } catch (error) {
      // A daemon that is there but slow does not get faster by starting another.
      const absent = error instanceof MemoryError && error.reason === 'absent'
      if (!absent || !start) throw error
      const started = await within(begun + deadlineMs - performance.now(), start())
      const leftMs = begun + deadlineMs - performance.now()
      if (!started || leftMs <= 0) throw error
      return act(leftMs)
    }
  }

  const call =
    (route: RouteShape) =>
    (input: Input = {}, { signal, deadlineMs }: CallOptions = {}) => {
      const waitMs = waitOf(route, input)
      const connection = waitMs >= LONG_MS ? 'own' : 'shared'
      return attempt(() =>
        startedIfAway(deadlineMs ?? defaultMs + waitMs, async (leftMs) =>
          decode(route, await transport.send({ ...encode(route, input), signal, deadlineMs: leftMs, connection })),
        ),
      )
    }

  const stream = (route: RouteShape) =>
    async function* (input: Input = {}, { signal, deadlineMs = defaultMs }: CallOptions = {}) {
      const response = await attempt(() =>
        startedIfAway(deadlineMs, async (leftMs) => {
          const opened = await transport.open({ ...encode(route, input), signal, deadlineMs: leftMs })
          if ((opened.statusCode ?? 0) >= 400) decode(route, await readWhole(opened, 'its socket'))
          return opened
        }),
      )
      if (!response) return
      try {
        yield* response
      } catch (error) {
        if (signal?.aborted || (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error
        // The daemon went away. Events end like that; half a file is an error.
        if (route.stream !== 'events')
          throw new MemoryError('UNREACHABLE', 'the daemon broke off half way', { reason: 'cut', cause: error })
      } finally {
        response.destroy()
      }
    }

  async function* events(input?: Input, options?: CallOptions) {
    for await (const { type, data } of readEvents(stream(routeTable.events)(input, options)))
      yield { type, ...parseJson(data) }
  }

  const routes = Object.entries<RouteShape>(routeTable)
  const methods = Object.fromEntries<unknown>(
    routes.map(([name, route]) => [name, route.stream ? stream(route) : call(route)]),
  ) as Answers<undefined> & Files
  return {
    ...methods,
    events,
    fit: createFit(methods),
    close: transport.close,
    get available() {
      return reached
    },
    get lastError() {
      return lastError
    },
  }
}

type Input = Record<string, unknown>

/** How long the caller lets the daemon wait for an event; its deadline counts from there. */
function waitOf({ waits }: RouteShape, input: Input): number {
  if (waits === 'deadlineMs') return Number(input.deadlineMs ?? (input.mode === 'model' ? PATIENT_MS : 0))
  const seconds = waits === undefined ? 0 : Number(input[waits] ?? 0)
  return seconds > 0 ? seconds * 1_000 : 0
}

/** Path parameters first; the rest is the query of a GET or DELETE, or the body of a POST or PUT but for named fields. */
function encode(route: RouteShape, input: Input) {
  const { method, url, query: named = [], upload, bodyLimitBytes = BODY_LIMIT_BYTES } = route
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const take = (key: string) => {
    const value = String(rest.get(key))
    rest.delete(key)
    return value
  }
  const filled = url
    .replace(/:(\w+)/g, (_, key: string) => inPath(take(key)))
    .replace('*', () => take('file').split('/').map(inPath).join('/'))
  const hasBody = method === 'POST' || method === 'PUT'
  const inQuery = (hasBody ? named : [...rest.keys()]).map((key): [string, string] => [key, take(key)])
  const path = inQuery.length > 0 ? `${filled}?${new URLSearchParams(inQuery)}` : filled
  if (upload) return { method, path, bodyLimitBytes, lines: rest.get('lines') as AsyncIterable<Uint8Array> }
  return { method, path, bodyLimitBytes, body: hasBody ? Object.fromEntries(rest) : undefined }
}

function inPath(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch (cause) {
    throw new MemoryError('BAD_REQUEST', `${JSON.stringify(text)} is not well-formed Unicode`, { cause })
  }
}

function decode({ plain }: RouteShape, { status, text }: { status: number; text: string }) {
  if (plain && status < 400) return status === 204 ? undefined : text
  const body = parseJson(text)
  if (status < 400) return body
  const { code, message, hint, reason, ...details } = (body as Partial<ErrorBody> | null)?.error ?? {}
  if (code && isHttpCode(code)) throw new MemoryError(code, message ?? code, { hint, reason, details })
  throw new MemoryError('INTERNAL', `the daemon answered with status ${status}`)
}

// biome-ignore lint/suspicious/noExplicitAny: the daemon has validated its answer against the same contract
function parseJson(text: string): any {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new MemoryError('INTERNAL', 'the daemon answered something that is not JSON', { cause })
  }
}

/** False when it takes longer. Keeps the process alive meanwhile: a script may be waiting for nothing else. */
function within(ms: number, work: Promise<boolean>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms)
    void work.then(resolve).finally(() => clearTimeout(timer))
  })
}

export type Autostart = { command: readonly [string, ...string[]] }

const PAUSE_AFTER_FAILURE_MS = 30_000

/** Starts a daemon and tells whether it should answer now: one attempt at a time, and none soon after a failed one. */
export function createStarter({ command: [program, ...args] }: Autostart) {
  let attempt: Promise<boolean> | undefined
  let notBefore = 0
  return async () => {
    if (performance.now() < notBefore) return false
    attempt ??= run(program, args).then((started) => {
      attempt = undefined
      if (!started) notBefore = performance.now() + PAUSE_AFTER_FAILURE_MS
      return started
    })
    return attempt
  }
}

function run(program: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
    child.unref()
  })
}
