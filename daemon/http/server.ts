/** Serves the routes of `schema/` on a Unix socket: JSON, server-sent events, files of lines. Knows shapes, not features. */
import { randomUUID } from 'node:crypto'
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import type { PlainText, Route, RouteSchemas } from '../../schema/contract.ts'
import type { Event } from '../../schema/event.ts'
import { BODY_LIMIT_BYTES, JSON_LINES, type RouteName, type RouteShape, routeTable } from '../../schema/route-table.ts'
import type { Core } from '../core.ts'
import { isDiskError } from '../platform/disk.ts'
import type { Events } from '../platform/events.ts'
import { message } from '../platform/files.ts'
import { undoOf } from '../recall/given.ts'
import { answerOddities, bindServer, createStop, endWithBadRequest } from './listen.ts'
import {
  callOf,
  failure,
  foreignProblem,
  parseInput,
  protocolHeaders,
  protocolProblem,
  type RouteFile,
  refuseCredentials,
  toFailure,
} from './request.ts'

type AnyHandler = (call: ReturnType<typeof callOf>) => unknown

/** The variables of a caller: a long text and three paths, each character of which may take six bytes there. */
const HEADER_LIMIT_BYTES = 131_072

/** A person waits for these, or a harness that gives up; health must be answered in any case. */
const FIRST: ReadonlySet<RouteName> = new Set(['hook', 'recall', 'collectRecall', 'memoryPrompt', 'health'])

export function createServer(core: Core) {
  const { log, disk, events, health, givingWay } = core
  const app = fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    logger: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 2_048 },
    forceCloseConnections: 'idle',
    // Schemas are loaded with the first request of a route, so fastify compiles none: its compilers would cost every start 50 ms.
    schemaController: {
      compilersFactory: {
        buildValidator: () => () => () => true,
        buildSerializer: () => () => JSON.stringify,
      } as never,
    },
    // A caller on a Unix socket has no host to name.
    http: { requireHostHeader: false, maxHeaderSize: HEADER_LIMIT_BYTES },
    clientErrorHandler: (_error, socket) => endWithBadRequest(socket),
    frameworkErrors: (error, _request, reply) => {
      const { status, body } = failure('BAD_REQUEST', error.message)
      void (reply as FastifyReply).code(status).headers(protocolHeaders).send(body)
    },
  })
  answerOddities(app.server)
  limitUnread(app.server)
  const stopListening = createStop(app.server, core.clock)
  const whenDelivered = createDelivery(app.server)
  const streams = createEventStreams(events, () => log.info('dropped an event reader that fell behind'))
  const drained = new AbortController()
  const stopListeners: (() => void)[] = []
  const schemas = new Map<RouteName, Route>()
  /** The bytes of answers that stay the same: those are frozen. */
  const kept = new Map<unknown, Buffer>()

  app.addHook('onRequest', (request, reply, done) => {
    // Sent ahead on a connection that was ended meanwhile.
    if (request.raw.socket.destroyed) return void reply.hijack()
    givingWay.asked()
    reply.headers(protocolHeaders)
    done(foreignProblem(request.headers) ?? protocolProblem(request.headers['x-memoryd-protocol']))
  })
  app.setNotFoundHandler((request, reply) => {
    keepReading(request, reply)
    const { status, body } = failure('NOT_FOUND', `no route ${request.method} ${request.url.split('?')[0]}`, {
      hint: 'GET /v1/openapi.json lists them',
    })
    return reply.code(status).send(body)
  })
  app.setErrorHandler((error, request, reply) => {
    keepReading(request, reply)
    const { name } = request.routeOptions.config as { name?: RouteName }
    const { url, upload }: Partial<RouteShape> = name ? routeTable[name] : {}
    const declared = (name && schemas.get(name)?.errors) ?? []
    const ref = randomUUID()
    const failed = toFailure(error, { declared, takes: upload ? 'JSON lines' : 'JSON', ref })
    if (isDiskError(error)) disk.failed(message(error))
    // A request that was broken off because its caller has gone is no fault.
    const isBrokenOff = reply.raw.destroyed && (error as Error).name === 'AbortError'
    // Never the URL: a query may hold what a user said.
    if (failed.unexpected && !isBrokenOff) log.error({ ref, route: url, err: error }, 'request failed')
    return reply.code(failed.status).send(failed.body)
  })

  const answer = async (route: Route, handle: AnyHandler, request: FastifyRequest, reply: FastifyReply) => {
    const call = callOf(route, request, reply.raw, drained.signal)
    if (route.kept) await refuseCredentials(route, call)
    const given = await handle(call)
    if (route.stream === 'lines') {
      const stream = Readable.from(given as AsyncIterable<string>, { objectMode: false })
      // An error after the first line cuts the connection, so that no caller takes a half for the whole.
      stream.once('error', (error) => {
        if (reply.raw.headersSent) log.error({ route: route.url, err: error }, 'an answer broke off half way')
      })
      return reply.type(`${JSON_LINES}; charset=utf-8`).send(stream)
    }
    if (route.plain) {
      const plain = given as PlainText | undefined
      if (!plain) return reply.code(204).send()
      if (plain.onSent || plain.onLost) whenDelivered(reply.raw, plain)
      return reply.type('text/plain; charset=utf-8').send(route.answer.parse(plain.text))
    }
    const onLost = undoOf(given)
    if (onLost) whenDelivered(reply.raw, { onLost })
    const text = kept.get(given) ?? JSON.stringify(route.answer.parse(given))
    if (typeof text === 'string' && Object.isFrozen(given)) kept.set(given, Buffer.from(text))
    const isBegun = route.begins === undefined || Boolean((given as Record<string, unknown>)[route.begins])
    return reply
      .code(isBegun ? (route.status ?? 200) : 200)
      .type('application/json; charset=utf-8')
      .send(text)
  }

  const loadSchemas = async (load: RouteFile['load']) => {
    for (const [key, found] of Object.entries(await load()) as [RouteName, RouteSchemas][]) {
      const { query: _, ...shape }: RouteShape = routeTable[key]
      schemas.set(key, { ...shape, ...found })
    }
  }

  const addRoute = (name: RouteName, handler: (request: FastifyRequest, reply: FastifyReply) => unknown) => {
    const { method, url, bodyLimitBytes, upload }: RouteShape = routeTable[name]
    const bodyLimit = bodyLimitBytes && { bodyLimit: bodyLimitBytes }
    const options = { method, url, config: { name } as never, ...bodyLimit, handler }
    if (!upload) return void app.route(options)
    void app.register(async (scope) => {
      // Routes of this scope are given the body as it arrives, and take no other.
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser(JSON_LINES, (_request, payload, done) => done(null, payload))
      scope.route(options)
    })
  }

  addRoute('events', (request, reply) => {
    parseInput(undefined, request.query, 'query')
    reply.hijack()
    streams.open(reply.raw, protocolHeaders, health.connected())
  })

  return {
    add: (...files: RouteFile[]): void => {
      for (const { load, handlers } of files)
        for (const [name, handle] of Object.entries(handlers) as [RouteName, AnyHandler][])
          addRoute(name, async (request, reply) => {
            if (!FIRST.has(name)) await givingWay.admit()
            const answered = FIRST.has(name) ? givingWay.beginUrgent() : undefined
            try {
              if (!schemas.has(name)) await loadSchemas(load)
              return await answer(schemas.get(name) as Route, handle, request, reply)
            } finally {
              answered?.()
            }
          })
    },
    listen: async (): Promise<void> => {
      await app.ready()
      await bindServer(core, app.server)
    },
    onStopping: (listener: () => void) => void stopListeners.push(listener),
    /** Stops accepting, lets running requests finish until the signal, then cuts them off. */
    stop: async (signal: AbortSignal): Promise<void> => {
      streams.closeAll()
      for (const listener of stopListeners) listener()
      const cutOff = () => {
        drained.abort()
        app.server.closeAllConnections()
      }
      if (signal.aborted) cutOff()
      signal.addEventListener('abort', cutOff, { once: true })
      await stopListening()
      await app.close()
      signal.removeEventListener('abort', cutOff)
    },
  }
}

/** A caller that is still sending hears no answer if its connection is closed: the rest is read and dropped. */
function keepReading({ raw, headers }: FastifyRequest, reply: FastifyReply): void {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (raw.complete || !hasBody) return
  reply.removeHeader('connection')
  reply.raw.shouldKeepAlive = true
  // The caller may send its next request on the same connection, unless it asked for none.
  raw.once('end', () => headers.connection === 'close' && raw.socket.end()).resume()
}

/** Requests that a caller may send ahead of the answers it reads: those are kept in memory. */
const MOST_UNREAD = 32

/** Ends connections whose callers send on and do not read. */
function limitUnread(server: Server): void {
  const unread = new WeakMap<Socket, number>()
  server.prependListener('request', ({ socket }, response) => {
    const add = (more: number) => unread.set(socket, (unread.get(socket) ?? 0) + more)
    add(1)
    response.once('close', () => add(-1))
    if ((unread.get(socket) ?? 0) > MOST_UNREAD) socket.destroy()
  })
}

type Ends = { onSent?: () => void; onLost?: () => void }

/** Whether an answer reached its caller: a Unix socket reports it when the other end left without reading. */
export function createDelivery(server: Server) {
  const pending = new Map<Socket, Ends>()
  const settle = (socket: Socket, how: keyof Ends) => {
    const ends = pending.get(socket)
    pending.delete(socket)
    ends?.[how]?.()
  }
  server.on('request', ({ socket }) => settle(socket, 'onSent'))
  server.on('connection', (socket) =>
    socket.once('close', (hadError) => settle(socket, hadError ? 'onLost' : 'onSent')),
  )
  return (response: ServerResponse, ends: Ends): void => {
    const { socket } = response
    if (!socket || response.destroyed) return void ends.onLost?.()
    let isWritten = false
    response.once('finish', () => {
      isWritten = true
      if (!socket.destroyed) pending.set(socket, ends)
      else if (socket.errored) ends.onLost?.()
      else ends.onSent?.()
    })
    response.once('close', () => {
      if (!isWritten) ends.onLost?.()
    })
  }
}

/** A reader that leaves more unread is dropped. At a few hundred bytes an event these are minutes. */
const UNREAD_LIMIT_BYTES = 256 * 1024

function encodeEvent({ type, ...data }: Event): string {
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
}

export function createEventStreams(events: Events, onDropped: () => void) {
  const open = new Map<ServerResponse, () => void>()
  // An event that is written after the end of a response would be an error that ends the daemon.
  const forget = (response: ServerResponse) => {
    open.get(response)?.()
    open.delete(response)
  }
  return {
    open: (response: ServerResponse, headers: Record<string, string>, first: Event): void => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', ...headers })
      response.write(encodeEvent(first))
      const unsubscribe = events.subscribe((event) => {
        if (response.writableLength <= UNREAD_LIMIT_BYTES) return void response.write(encodeEvent(event))
        onDropped()
        response.destroy()
      })
      open.set(response, unsubscribe)
      response.once('close', () => forget(response))
    },
    closeAll: (): void => {
      for (const response of [...open.keys()]) {
        forget(response)
        response.end()
      }
    },
    readers: (): number => open.size,
  }
}
