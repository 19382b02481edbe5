/** Serves the routes of `schema/` on a Unix socket. Knows shapes, not features. */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import fastify, { type FastifyReply, type RouteOptions } from 'fastify'
import type { HandlerTypes } from '../../schema/contract.ts'
import type { Event } from '../../schema/event.ts'
import type { Route } from '../../schema/route.ts'
import { BODY_LIMIT_BYTES, type RouteName, type RouteShape, routeTable } from '../../schema/route-table.ts'
import { isDiskTrouble } from '../platform/disk.ts'
import type { Log } from '../platform/log.ts'
import { createAnotherBody } from './another-body.ts'
import { answerOddities, connectionsWithoutRequest, endWithBadRequest, stopListening } from './connections.ts'
import { type Failure, failure, toFailure } from './errors.ts'
import type { EventStreams } from './event-stream.ts'
import { type AnyHandler, handlerOf, type Surroundings, streamHandler } from './handling.ts'
import { acceptLines } from './lines.ts'
import { protocolHeaders, protocolProblem } from './protocol.ts'
import { sendReady } from './ready.ts'
import { createRouteSchemas } from './route-schemas.ts'
import { createSameAgain } from './same-again.ts'
import { createOnceTaken } from './taken.ts'

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
  /** With every request: what nobody waits for gives way to them. */
  onAsked: () => void
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

type At = Partial<Pick<RouteShape, 'url' | 'upload'>>

export async function createServer({ handlers, log, onDiskTrouble, onAsked }: ServerDeps): Promise<Server> {
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
  answerOddities(app.server)
  const unused = connectionsWithoutRequest(app.server)
  // Before fastify, which is left what neither of them knows.
  app.server.removeAllListeners('request').on('request', (request, response) => {
    onAsked()
    unused.delete(request.socket)
    sameAgain.serve(request, response)
  })
  const running = new AbortController()
  const schemas = createRouteSchemas()
  const onceTaken = createOnceTaken(app.server)

  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(protocolHeaders)
    done(protocolProblem(request))
  })
  app.setNotFoundHandler((request, reply) => {
    const known = failure('NOT_FOUND', `no route ${request.method} ${request.url.split('?')[0]}`, {
      hint: 'GET /v1/openapi.json lists them',
    })
    return reply.code(known.status).send(known.body)
  })
  const failedWith = (error: unknown, { url, upload }: At, declared: Route['errors'], to: ServerResponse): Failure => {
    const ref = randomUUID()
    const failed = toFailure(error, { declared, takes: upload ? 'JSON lines' : 'JSON', ref })
    if (isDiskTrouble(error)) onDiskTrouble(error)
    // Who has hung up is told nothing, and that their request was broken off is no fault.
    const isBrokenOff = to.destroyed && (error as Error).name === 'AbortError'
    // The route's pattern, not the URL: a query may hold what a person said.
    if (failed.unexpected && !isBrokenOff) log.error({ ref, route: url, err: error }, 'request failed')
    return failed
  }
  app.setErrorHandler((error, request, reply) => {
    const { name } = request.routeOptions.config as { name?: RouteName }
    // What it takes is known before its schemas are: a body may be refused with the very first request.
    const declared = (name && schemas.known(name)?.errors) ?? []
    const failed = failedWith(error, name ? routeTable[name] : {}, declared, reply.raw)
    return reply.code(failed.status).send(failed.body)
  })

  const surroundings: Surroundings = {
    drained: running.signal,
    schemas,
    sameAgain,
    anotherBody,
    parseJson: app.getDefaultJsonParser('error', 'error'),
    onceTaken,
    fail: (error, route, to) => failedWith(error, route, route.errors, to),
    log,
  }
  for (const [name, shape] of Object.entries(routeTable) as [RouteName, RouteShape][]) {
    const options: RouteOptions = {
      method: shape.method,
      url: shape.url,
      config: { name } as never,
      ...(shape.bodyLimitBytes && { bodyLimit: shape.bodyLimitBytes }),
      handler:
        shape.stream === 'events'
          ? streamHandler(handlers.events)
          : handlerOf(name, handlers[name] as AnyHandler, surroundings),
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
