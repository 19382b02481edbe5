/** Serves the routes of `schema/` on a Unix socket. Knows shapes, not features. */
import { randomUUID } from 'node:crypto'
import type { Server as HttpServer, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import fastify, { type FastifyBodyParser, type FastifyReply, type FastifyRequest, type RouteOptions } from 'fastify'
import type { HandlerTypes, PlainText } from '../../schema/contract.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Event } from '../../schema/event.ts'
import { PROTOCOL, PROTOCOL_HEADER } from '../../schema/rendezvous.ts'
import type { Route } from '../../schema/route.ts'
import { BODY_LIMIT_BYTES, type RouteName, type RouteShape, routeTable } from '../../schema/route-table.ts'
import { isDiskTrouble } from '../platform/disk.ts'
import { undoOf } from '../platform/if-lost.ts'
import type { Log } from '../platform/log.ts'
import { type AnotherBody, createAnotherBody, type Known } from './another-body.ts'
import { Call, type Input } from './call.ts'
import { callerOf } from './caller.ts'
import { type Failure, failure, toFailure } from './errors.ts'
import type { EventStreams } from './event-stream.ts'
import { acceptLines, sendLines, uploadedLines } from './lines.ts'
import { createPrinter, isKept, JSON_TYPE, type Printer, sendFailure, sendReady } from './ready.ts'
import { knownRoute, loadRoute } from './route-schemas.ts'
import { createSameAgain, type SameAgain } from './same-again.ts'
import { createOnceTaken, type OnceTaken } from './taken.ts'
import { parseInput } from './validate.ts'

type Plain<K extends RouteName> = HandlerTypes[K]
export type Handlers = {
  [K in Exclude<RouteName, 'events'>]: (
    request: Plain<K>['request'],
  ) => Plain<K>['answer'] | Promise<Plain<K>['answer']>
} & { events: () => { streams: EventStreams; first: Event } }

export type ServerDeps = {
  handlers: Handlers
  log: Log
  /** Takes note of a write that failed because of the disk. */
  onDiskTrouble: (error: unknown) => void
}

export type Server = {
  /** May be called again, to listen elsewhere; open connections stay. */
  listen(at: { path: string } | { fd: number }): Promise<void>
  /** Stops accepting, lets running requests finish until the signal, then cuts them off. */
  close(signal: AbortSignal): Promise<void>
}

/** Ids may have 128 characters, names of memories more. */
const LONGEST_PARAM = 2_048
/** The variables of a caller: a long text and three paths, each character of which may take six bytes there. */
const HEADER_LIMIT_BYTES = 131_072

/** Shorter ones are sent as fastify sends them. */
const LARGE_BYTES = 1_000

const protocolHeaders = { [PROTOCOL_HEADER]: String(PROTOCOL) }

export async function createServer({ handlers, log, onDiskTrouble }: ServerDeps): Promise<Server> {
  const app = fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    logger: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: LONGEST_PARAM },
    forceCloseConnections: 'idle',
    // We validate and serialise ourselves, from `schema/`: fastify's own compilers would cost 50 ms of every start.
    schemaController: {
      compilersFactory: {
        buildValidator: () => () => () => true,
        buildSerializer: () => () => (answer: unknown) => JSON.stringify(answer),
      } as never,
    },
    // A caller on a Unix socket has no host to name.
    http: { requireHostHeader: false, maxHeaderSize: HEADER_LIMIT_BYTES },
    clientErrorHandler: (_error, socket) => endWithBadRequest(socket),
    frameworkErrors: (error, _request, reply) => {
      const failed = failure('BAD_REQUEST', error.message)
      void (reply as FastifyReply).code(failed.status).headers(protocolHeaders).send(failed.body)
    },
  })
  const anotherBody = createAnotherBody((request, response) => app.routing(request, response))
  const sameAgain = createSameAgain({ send: sendReady, otherwise: anotherBody.serve })
  app.server.removeAllListeners('request').on('request', sameAgain.serve)
  answerOddities(app.server)
  const unused = connectionsWithoutRequest(app.server)
  const running = new AbortController()
  const onceTaken = createOnceTaken(app.server)

  app.addHook('onRequest', (request, reply, done) => {
    reply.header(PROTOCOL_HEADER, String(PROTOCOL))
    done(protocolProblem(request))
  })
  app.setNotFoundHandler((request, reply) => {
    const known = failure('NOT_FOUND', `no route ${request.method} ${request.url.split('?')[0]}`, {
      hint: 'GET /v1/openapi.json lists them',
    })
    return reply.code(known.status).send(known.body)
  })
  const failedWith = (error: unknown, url: string | undefined, route: Partial<Route> = {}): Failure => {
    const { errors: declared = [], upload } = route
    const ref = randomUUID()
    const failed = toFailure(error, { declared, takes: upload ? 'JSON lines' : 'JSON', ref })
    if (isDiskTrouble(error)) onDiskTrouble(error)
    // The route's pattern, not the URL: a query may hold what a person said.
    if (failed.unexpected) log.error({ ref, route: url, err: error }, 'request failed')
    return failed
  }
  app.setErrorHandler((error, request, reply) => {
    const { name } = request.routeOptions.config as { name?: RouteName }
    const failed = failedWith(error, request.routeOptions.url, name && knownRoute(name))
    return reply.code(failed.status).send(failed.body)
  })

  const fail: Surroundings['fail'] = (error, route) => failedWith(error, route.url, route)
  const parseJson = app.getDefaultJsonParser('error', 'error')
  const surroundings = { drained: running.signal, sameAgain, anotherBody, parseJson, onceTaken, fail }
  for (const [name, shape] of Object.entries(routeTable) as [RouteName, RouteShape][]) {
    const handle = handlers[name] as AnyHandler
    const options: RouteOptions = {
      method: shape.method,
      url: shape.url,
      config: { name } as never,
      ...(shape.bodyLimitBytes && { bodyLimit: shape.bodyLimitBytes }),
      handler:
        shape.stream === 'events'
          ? streamHandler(handlers)
          : withValidators(name, (route) =>
              shape.stream === 'lines'
                ? linesHandler(route, handle, running.signal, log)
                : shape.plain
                  ? plainHandler(route, handle, running.signal, onceTaken)
                  : jsonHandler(route, handle, { ...surroundings, print: createPrinter(route) }),
            ),
    }
    if (shape.upload) void app.register(async (scope) => acceptLines(scope).route(options))
    else app.route(options)
  }
  await app.ready()

  return {
    listen: (at) =>
      new Promise((resolve, reject) => {
        if (app.server.listening) app.server.close()
        app.server.once('error', reject)
        app.server.listen(at, () => {
          app.server.off('error', reject)
          resolve()
        })
      }),
    close: async (signal) => {
      sameAgain.stop()
      anotherBody.stop()
      const cutOff = () => {
        running.abort()
        app.server.closeAllConnections()
      }
      if (signal.aborted) cutOff()
      signal.addEventListener('abort', cutOff, { once: true })
      await stopListening(app.server, unused)
      await app.close()
      signal.removeEventListener('abort', cutOff)
    },
  }
}

type AnyHandler = (request: unknown) => unknown
type Handle = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** Made with the first request: the validators of all routes would cost every start. */
function withValidators(name: RouteName, make: (route: Route) => Handle): Handle {
  let made: Handle | undefined
  return (request, reply) => {
    if (made) return made(request, reply)
    return loadRoute(name).then((route) => {
      made ??= make(route)
      return made(request, reply)
    })
  }
}

type Surroundings = {
  drained: AbortSignal
  print: Printer
  sameAgain: SameAgain
  anotherBody: AnotherBody
  parseJson: FastifyBodyParser<string>
  onceTaken: OnceTaken
  /** Takes note of it, and tells what to answer. */
  fail: (error: unknown, route: Route) => Failure
}

function jsonHandler(route: Route, handle: AnyHandler, surroundings: Surroundings) {
  const { drained, print, sameAgain, anotherBody, onceTaken } = surroundings
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const input = inputOf(route, request)
    const given = await handle(new Call(input, reply.raw, drained))
    const undo = undoOf(given)
    if (undo) onceTaken(reply.raw, { onLost: undo })
    const answer = print(given)
    if (isKept(given))
      sameAgain.remember(request.raw, async (response) => print(await handle(new Call(input, response, drained))))
    if (route.body && !route.params && !route.query && !route.status)
      anotherBody.remember(request.raw, anotherTime(route, handle, input, surroundings))
    if (isKept(given) || (!route.status && answer.bytes > LARGE_BYTES)) {
      reply.hijack()
      return sendReady(reply.raw, answer)
    }
    if (route.status && isBegun(route, given)) reply.code(route.status)
    reply.type(JSON_TYPE)
    return answer.body
  }
}

/** With another body: all else of the input is the same. */
function anotherTime(
  route: Route,
  handle: AnyHandler,
  { params, query, caller }: Input,
  { drained, print, parseJson, onceTaken, fail }: Surroundings,
): Known<Input> {
  return {
    parse: (request, text) => {
      let parsed: Input | undefined
      void parseJson(request as never, text, (error, json) => {
        const found = error ? undefined : route.body?.safeParse(json)
        if (found?.success) parsed = { params, query, body: found.data, lines: undefined, caller }
      })
      return parsed
    },
    answer: async (input, response) => {
      try {
        const given = await handle(new Call(input, response, drained))
        const undo = undoOf(given)
        if (undo) onceTaken(response, { onLost: undo })
        sendReady(response, print(given))
      } catch (error) {
        sendFailure(response, fail(error, route))
      }
    },
  }
}

function isBegun({ begins }: Route, answer: unknown): boolean {
  return begins === undefined || Boolean((answer as Record<string, unknown>)[begins])
}

/** As it is, without a word where there is nothing to say. */
function plainHandler(route: Route, handle: AnyHandler, drained: AbortSignal, onceTaken: OnceTaken) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const said = (await handle(callOf(route, request, reply, drained))) as PlainText | undefined
    if (!said) return reply.code(204).send()
    if (said.onSent || said.onLost) onceTaken(reply.raw, said)
    return reply.type('text/plain; charset=utf-8').send(route.answer.parse(said.text))
  }
}

function linesHandler(route: Route, handle: AnyHandler, drained: AbortSignal, log: Log) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const lines = (await handle(callOf(route, request, reply, drained))) as AsyncIterable<string>
    return sendLines(reply, lines, (error) =>
      log.error({ route: route.url, err: error }, 'an answer broke off half way'),
    )
  }
}

function callOf(route: Route, request: FastifyRequest, reply: FastifyReply, drained: AbortSignal): Call {
  return new Call(inputOf(route, request), reply.raw, drained)
}

function inputOf(route: Route, request: FastifyRequest): Input {
  // fastify does not even read the body of a GET.
  if (!route.body && request.body === undefined && Number(request.headers['content-length'] ?? 0) > 0)
    throw new MemoryError('BAD_REQUEST', 'body: this route takes none')
  return {
    params: parseInput(route.params, namedParams(request.params), 'path'),
    query: parseInput(route.query, request.query, 'query'),
    body: route.upload ? undefined : parseInput(route.body, request.body, 'body'),
    lines: route.upload ? uploadedLines(request.body) : undefined,
    caller: callerOf(request.headers),
  }
}

/** The rest of a path is always a file. */
function namedParams(params: unknown): unknown {
  const given = params as Record<string, string>
  if (given['*'] === undefined) return given
  const { '*': file, ...named } = given
  return { ...named, file }
}

function streamHandler(handlers: Handlers) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    parseInput(undefined, request.query, 'query')
    const { streams, first } = handlers.events()
    reply.hijack()
    streams.open(reply.raw as ServerResponse, protocolHeaders, first)
  }
}

function protocolProblem(request: FastifyRequest): MemoryError | undefined {
  const theirs = request.headers[PROTOCOL_HEADER]
  if (theirs === undefined || theirs === String(PROTOCOL)) return undefined
  return new MemoryError('PROTOCOL', `the client speaks protocol ${theirs}, this daemon ${PROTOCOL}`, {
    hint: 'after an upgrade: memoryd restart',
  })
}

/** What Node would answer without a body, or not at all. */
function answerOddities(server: HttpServer): void {
  server.on('checkExpectation', (_request, response) => {
    const { status, body } = failure('BAD_REQUEST', 'memoryd meets no such expectation')
    response.writeHead(status, { ...protocolHeaders, 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  server.on('connect', (_request, socket) => endWithBadRequest(socket))
}

function endWithBadRequest(socket: Duplex): void {
  if (!socket.writable) return
  const { body } = failure('BAD_REQUEST', 'the request is not HTTP that memoryd can read')
  const text = JSON.stringify(body)
  const head = [
    'HTTP/1.1 400 Bad Request',
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(text)}`,
    `${PROTOCOL_HEADER}: ${PROTOCOL}`,
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
}

/** Node closes idle connections only once they have had a request: those that never sent one would hold up a stop. */
function connectionsWithoutRequest(server: HttpServer): Set<Socket> {
  const waiting = new Set<Socket>()
  server.on('connection', (socket) => {
    waiting.add(socket)
    socket.once('close', () => waiting.delete(socket))
  })
  server.on('request', ({ socket }) => waiting.delete(socket))
  return waiting
}

function stopListening(server: HttpServer, unused: Set<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
    for (const socket of unused) socket.destroy()
  })
}
