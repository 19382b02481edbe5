/** From a raw request to what a handler is given, checked by the route's schema; from an error to the one form in which it is answered. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { ACTOR_HEADER, type Caller, decodeVariables, ENV_HEADER, isActor } from '../../schema/caller.ts'
import type { Handlers, Route, RouteGroup } from '../../schema/contract.ts'
import { type HttpCode, httpStatus, isHttpCode, MemoryError, universalCodes } from '../../schema/errors.ts'
import { PROTOCOL, PROTOCOL_HEADER } from '../../schema/rendezvous.ts'
import { JSON_LINES } from '../../schema/route-table.ts'
import { isCorruption } from '../db/database.ts'
import { diskProblem, isDiskError } from '../platform/disk.ts'
import { folderHasSecret, pathHasSecret } from '../transcripts/ingest.ts'

export type RouteFile = { load: () => Promise<RouteGroup>; handlers: Partial<Handlers> }

/** Handlers with their schemas, which are loaded with the first request: those of all routes would slow every start. */
export const routeFile = <Group extends RouteGroup>(
  load: () => Promise<Group>,
  handlers: Pick<Handlers, keyof Group & keyof Handlers>,
): RouteFile => ({ load, handlers })

/** The signal aborts when the caller has hung up, or `drained` does; most handlers never ask for it. */
export function callOf(route: Route, request: FastifyRequest, response: ServerResponse, drained: AbortSignal) {
  // fastify does not read the body of a GET.
  if (!route.body && request.body === undefined && Number(request.headers['content-length'] ?? 0) > 0)
    throw new MemoryError('BAD_REQUEST', 'body: this route takes none')
  let signal: AbortSignal | undefined
  return {
    params: parseInput(route.params, namedParams(request.params), 'path'),
    query: parseInput(route.query, request.query, 'query'),
    body: route.upload ? undefined : parseInput(route.body, request.body, 'body'),
    lines: route.upload ? uploadedLines(request.body) : undefined,
    caller: callerOf(request.headers),
    get signal(): AbortSignal {
      signal ??= AbortSignal.any([goneSignal(response), drained])
      return signal
    },
  }
}

async function* uploadedLines(body: unknown): AsyncGenerator<Uint8Array> {
  if (!(body instanceof Readable)) throw new MemoryError('BAD_REQUEST', 'body: expected a file of JSON lines')
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) yield chunk
  } catch (cause) {
    throw new MemoryError('BAD_REQUEST', 'the upload broke off', { cause })
  } finally {
    // A caller that is still sending hears no answer: the rest is read and dropped.
    body.resume()
  }
}

function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  const closed = () => {
    if (!response.writableFinished) gone.abort()
  }
  if (response.destroyed) closed()
  else response.once('close', closed)
  return gone.signal
}

function namedParams(params: unknown): unknown {
  const { '*': file, ...named } = params as Record<string, string>
  return file === undefined ? named : { ...named, file }
}

/** Each takes the validators time. */
const MOST_FIELDS = 1_000

/** Before anything is made for them: they would be in names of files and in rows as they are. */
export async function refuseCredentials({ kept = [] }: Route, { params, query, body }: ReturnType<typeof callOf>) {
  const given = Object.assign({}, params, query, body) as Record<string, unknown>
  for (const name of kept)
    if (typeof given[name] === 'string' && (await (name === 'cwd' ? folderHasSecret : pathHasSecret)(given[name])))
      throw new MemoryError('REFUSED', `${name}: it holds what looks like a credential`, {
        reason: 'secret',
        hint: 'give it another name',
      })
}

export function parseInput(schema: z.ZodType | undefined, value: unknown, place: 'path' | 'query' | 'body'): unknown {
  const given = value === undefined ? {} : value
  if (!schema) return refuseAny(given, place)
  if (Object.keys(Object(given)).length > MOST_FIELDS)
    throw new MemoryError('BAD_REQUEST', `${place}: it has more than ${MOST_FIELDS} fields`)
  const result = schema.safeParse(given)
  if (result.success) return result.data
  const complaints = result.error.issues
    .slice(0, 5)
    .map((issue) => `${[place, ...issue.path.map(String)].join('.')}: ${issue.message}`)
  throw new MemoryError('BAD_REQUEST', complaints.join('; '))
}

function refuseAny(value: unknown, place: string): Record<string, never> {
  const [key] = Object.keys(Object(value))
  if (key !== undefined || typeof value !== 'object')
    throw new MemoryError('BAD_REQUEST', `${place}: this route takes none${key === undefined ? '' : `, got ${key}`}`)
  return {}
}

function callerOf(headers: IncomingHttpHeaders): Caller {
  const { [ACTOR_HEADER]: actor = 'agent:api', [ENV_HEADER]: variables = '{}' } = headers
  if (!isActor(String(actor))) throw new MemoryError('BAD_REQUEST', `${ACTOR_HEADER} is user or agent:<name>`)
  const env = decodeVariables(String(variables))
  if (!env) throw new MemoryError('BAD_REQUEST', `${ENV_HEADER} is a JSON object of strings`)
  return { actor: String(actor), env }
}

/** For decisions that an agent must not take in the user's name. */
export function onlyUser({ actor }: Caller): void {
  if (actor !== 'user')
    throw new MemoryError('REFUSED', 'only a person may decide this', {
      reason: 'permission',
      hint: 'use the command line',
    })
}

type Known = { declared: readonly HttpCode[]; takes: 'JSON' | 'JSON lines'; ref: string }

export function toFailure(error: unknown, { declared, takes, ref }: Known) {
  const { code, message, statusCode = 500 } = error as { code?: string; message: string; statusCode?: number }
  // A code that the route does not declare is a mistake of ours, not an answer.
  if (error instanceof MemoryError && isHttpCode(error.code) && [...universalCodes, ...declared].includes(error.code))
    return failure(error.code, message, error)
  // SQLite has written the commit by then: the next start finds it, unless a later commit overwrote it.
  const undecided = code === 'SQLITE_IOERR_FSYNC' ? '; it may still happen' : ''
  if (isDiskError(error))
    return failure('DEGRADED', `cannot write: ${message}${undecided}`, {
      hint: 'free some space or make the state folder writable; memoryd recovers by itself',
    })
  if (isCorruption(error))
    return failure('DEGRADED', `a database cannot be read: ${message}`, { hint: 'run: memoryd doctor' })
  const problem = diskProblem(error)
  if (problem) return failure('DEGRADED', `${problem.what}: ${message}`, problem)
  if (error instanceof RangeError && message.startsWith('Maximum call stack'))
    return failure('BAD_REQUEST', 'the body is nested too deeply')
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return failure('TOO_LARGE', 'the body is larger than this route takes')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return failure('BAD_REQUEST', `the body is not ${takes}`, {
      hint: `send content-type: ${takes === 'JSON' ? 'application/json' : JSON_LINES}`,
    })
  if (statusCode < 500) return failure('BAD_REQUEST', message)
  return { ...failure('INTERNAL', `memoryd failed; its log has the details under ref ${ref}`), unexpected: true }
}

export function failure(
  code: HttpCode,
  message: string,
  { hint, reason, details }: Pick<Partial<MemoryError>, 'hint' | 'reason' | 'details'> = {},
) {
  const body = { error: { ...details, code, message, ...(hint && { hint }), ...(reason && { reason }) } }
  return { status: httpStatus[code], body, unexpected: false }
}

/** A page in a browser, where ssh or docker forward the socket to a port. A caller on the socket need not name a host. */
export function foreignProblem({ host, origin }: IncomingHttpHeaders): MemoryError | undefined {
  if (origin === undefined && /^((memoryd|localhost)(:\d+)?)?$/i.test(host ?? '')) return undefined
  return new MemoryError('BAD_REQUEST', 'memoryd answers programs that call it memoryd or localhost, and no web page', {
    hint: 'send `Host: memoryd` and no Origin',
  })
}

export const protocolHeaders = { [PROTOCOL_HEADER]: String(PROTOCOL) }

export function protocolProblem(theirs: unknown): MemoryError | undefined {
  if (theirs === undefined || theirs === String(PROTOCOL)) return undefined
  return new MemoryError('PROTOCOL', `the client speaks protocol ${theirs}, this daemon ${PROTOCOL}`, {
    hint: 'after an upgrade: memoryd restart',
  })
}
