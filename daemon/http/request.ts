/** From a raw request to what a handler is given: input checked by the route's schema, the caller, and when it has gone. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { ACTOR_HEADER, type Caller, decodeVariables, ENV_HEADER, isActor } from '../../schema/caller.ts'
import type { HandlerTypes, Route, RouteGroup } from '../../schema/contract.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { RouteName } from '../../schema/route-table.ts'
import { uploadedLines } from './streams.ts'

type Plain<K extends RouteName> = HandlerTypes[K]
type Handler<K extends RouteName> = (call: Plain<K>['request']) => Plain<K>['answer'] | Promise<Plain<K>['answer']>

/** The events route is the server's own. */
export type Handlers = { [K in Exclude<RouteName, 'events'>]: Handler<K> }
export type AnyHandler = (call: Call) => unknown

export type RouteFile = { load: () => Promise<RouteGroup>; handlers: Partial<Handlers> }

/** Handlers with their schemas, which are loaded with the first request: those of all routes would slow every start. */
export const routeFile = <Group extends RouteGroup>(
  load: () => Promise<Group>,
  handlers: Pick<Handlers, keyof Group & keyof Handlers>,
): RouteFile => ({ load, handlers })

export type Call = {
  params: unknown
  query: unknown
  body: unknown
  /** What is uploaded, where the route takes that. */
  lines: AsyncIterable<Uint8Array> | undefined
  caller: Caller
  readonly signal: AbortSignal
}

/** The signal aborts when the caller has hung up, or `drained` does. It is made on demand: most handlers never look at it. */
export function callOf(route: Route, request: FastifyRequest, response: ServerResponse, drained: AbortSignal): Call {
  // fastify does not even read the body of a GET.
  if (!route.body && request.body === undefined && Number(request.headers['content-length'] ?? 0) > 0)
    throw new MemoryError('BAD_REQUEST', 'body: this route takes none')
  let signal: AbortSignal | undefined
  return {
    params: parseInput(route.params, namedParams(request.params), 'path'),
    query: parseInput(route.query, request.query, 'query'),
    body: route.upload ? undefined : parseInput(route.body, request.body, 'body'),
    lines: route.upload ? uploadedLines(request.body) : undefined,
    caller: callerOf(request.headers),
    get signal() {
      signal ??= AbortSignal.any([goneSignal(response), drained])
      return signal
    },
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

/** The rest of a path is always a file. */
function namedParams(params: unknown): unknown {
  const given = params as Record<string, string>
  if (given['*'] === undefined) return given
  const { '*': file, ...named } = given
  return { ...named, file }
}

export function parseInput(schema: z.ZodType | undefined, value: unknown, place: 'path' | 'query' | 'body'): unknown {
  const given = value === undefined ? {} : value
  if (!schema) return refuseAny(given, place)
  const result = schema.safeParse(given)
  if (result.success) return result.data
  const complaints = result.error.issues.slice(0, 5).map((issue) => {
    const where = [place, ...issue.path.map(String)].join('.')
    return `${where}: ${issue.message}`
  })
  throw new MemoryError('BAD_REQUEST', complaints.join('; '))
}

/** A parameter that no route reads is a mistake the caller would like to know about. */
function refuseAny(value: unknown, place: string): Record<string, never> {
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : []
  if (keys.length > 0 || typeof value !== 'object')
    throw new MemoryError('BAD_REQUEST', `${place}: this route takes none${keys[0] ? `, got ${keys[0]}` : ''}`)
  return {}
}

const UNNAMED: Caller = { actor: 'agent:api', env: {} }

function callerOf(headers: IncomingHttpHeaders): Caller {
  const actor = headers[ACTOR_HEADER]
  const variables = headers[ENV_HEADER]
  if (actor === undefined && variables === undefined) return UNNAMED
  if (actor !== undefined && !(typeof actor === 'string' && isActor(actor)))
    throw new MemoryError('BAD_REQUEST', `${ACTOR_HEADER} is user or agent:<name>`)
  const env = variables === undefined ? {} : decodeVariables(String(variables))
  if (!env) throw new MemoryError('BAD_REQUEST', `${ENV_HEADER} is a JSON object of strings`)
  return { actor: actor ?? UNNAMED.actor, env }
}

/** For decisions that an agent must not take in the user's name. */
export function onlyUser({ actor }: Caller): void {
  if (actor !== 'user')
    throw new MemoryError('REFUSED', 'only a person may decide this', {
      reason: 'permission',
      hint: 'use the command line',
    })
}
