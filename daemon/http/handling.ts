/** From a request to its answer: what a route takes is made out by its schema, what it gives is written as the route says. */
import type { ServerResponse } from 'node:http'
import type { FastifyBodyParser, FastifyReply, FastifyRequest } from 'fastify'
import type { PlainText } from '../../schema/contract.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Event } from '../../schema/event.ts'
import type { Route } from '../../schema/route.ts'
import type { RouteName } from '../../schema/route-table.ts'
import { undoOf } from '../platform/if-lost.ts'
import type { Log } from '../platform/log.ts'
import type { AnotherBody, Known } from './another-body.ts'
import { Call, type Input } from './call.ts'
import { callerOf } from './caller.ts'
import type { Failure } from './errors.ts'
import type { EventStreams } from './event-stream.ts'
import { sendLines, uploadedLines } from './lines.ts'
import { protocolHeaders } from './protocol.ts'
import { createPrinter, isKept, type Printer, sendFailure, sendReady } from './ready.ts'
import type { RouteSchemas } from './route-schemas.ts'
import type { SameAgain } from './same-again.ts'
import type { OnceTaken } from './taken.ts'
import { parseInput } from './validate.ts'

export type AnyHandler = (request: unknown) => unknown
export type Handle = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

export type Surroundings = {
  /** Aborts what is still asked when the time to finish is over. */
  drained: AbortSignal
  schemas: Pick<RouteSchemas, 'load'>
  sameAgain: SameAgain
  anotherBody: AnotherBody
  parseJson: FastifyBodyParser<string>
  onceTaken: OnceTaken
  /** Takes note of it, and tells what to answer. */
  fail: (error: unknown, route: Route, to: ServerResponse) => Failure
  log: Log
}

/** Made with the first request: the validators of all routes would cost every start. */
export function handlerOf(name: RouteName, handle: AnyHandler, surroundings: Surroundings): Handle {
  let made: Handle | undefined
  return (request, reply) => {
    if (made) return made(request, reply)
    return surroundings.schemas.load(name).then((route) => {
      made ??= kindOf(route)(route, handle, surroundings)
      return made(request, reply)
    })
  }
}

function kindOf({ stream, plain }: Route) {
  if (stream === 'lines') return linesHandler
  return plain ? plainHandler : jsonHandler
}

function jsonHandler(route: Route, handle: AnyHandler, surroundings: Surroundings): Handle {
  const { drained, sameAgain, anotherBody, onceTaken } = surroundings
  const print = createPrinter(route)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const input = inputOf(route, request)
    const given = await handle(new Call(input, reply.raw, drained))
    const undo = undoOf(given)
    if (undo) onceTaken(reply.raw, { onLost: undo })
    const answer = print(given)
    if (isKept(given))
      sameAgain.remember(request.raw, async (response) => print(await handle(new Call(input, response, drained))))
    if (route.body && !route.params && !route.query && !route.status)
      anotherBody.remember(request.raw, anotherTime(route, handle, input, { ...surroundings, print }))
    reply.hijack()
    sendReady(reply.raw, answer, route.status && isBegun(route, given) ? route.status : 200)
    return undefined
  }
}

/** With another body: all else of the input is the same. */
function anotherTime(
  route: Route,
  handle: AnyHandler,
  { params, query, caller }: Input,
  { drained, print, parseJson, onceTaken, fail }: Surroundings & { print: Printer },
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
        sendFailure(response, fail(error, route, response))
      }
    },
  }
}

function isBegun({ begins }: Route, answer: unknown): boolean {
  return begins === undefined || Boolean((answer as Record<string, unknown>)[begins])
}

/** As it is, without a word where there is nothing to say. */
function plainHandler(route: Route, handle: AnyHandler, { drained, onceTaken }: Surroundings): Handle {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const said = (await handle(callOf(route, request, reply, drained))) as PlainText | undefined
    if (!said) return reply.code(204).send()
    if (said.onSent || said.onLost) onceTaken(reply.raw, said)
    return reply.type('text/plain; charset=utf-8').send(route.answer.parse(said.text))
  }
}

function linesHandler(route: Route, handle: AnyHandler, { drained, log }: Surroundings): Handle {
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

/** Nothing of it is of a schema: events are written as they come. */
export function streamHandler(begin: () => { streams: EventStreams; first: Event }): Handle {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    parseInput(undefined, request.query, 'query')
    const { streams, first } = begin()
    reply.hijack()
    streams.open(reply.raw as ServerResponse, protocolHeaders, first)
  }
}
