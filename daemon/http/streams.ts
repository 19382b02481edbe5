/** Answers and uploads without end: server-sent events, and files of JSON lines that are never whole in memory. */
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { MemoryError } from '../../schema/errors.ts'
import type { Event } from '../../schema/event.ts'
import { JSON_LINES } from '../../schema/route-table.ts'
import type { Events } from '../platform/events.ts'

/** What an event reader may leave unread, beyond what the kernel holds. At a few hundred bytes an event: minutes of silence. */
const UNREAD_LIMIT_BYTES = 256 * 1024

export function encodeEvent({ type, ...data }: Event): string {
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
}

/** A reader that does not keep up is dropped rather than buffered for. */
export function createEventStreams(events: Events, onDropped: () => void) {
  const open = new Set<ServerResponse>()
  return {
    open: (response: ServerResponse, headers: Record<string, string>, first: Event): void => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', ...headers })
      open.add(response)
      response.write(encodeEvent(first))
      const unsubscribe = events.subscribe((event) => {
        if (response.writableLength <= UNREAD_LIMIT_BYTES) return void response.write(encodeEvent(event))
        onDropped()
        response.destroy()
      })
      response.once('close', () => {
        open.delete(response)
        unsubscribe()
      })
    },
    closeAll: (): void => {
      for (const response of open) response.end()
    },
    readers: (): number => open.size,
  }
}

/** Routes of this scope are given the body as it arrives, and take no other. */
export function acceptLines(scope: FastifyInstance): FastifyInstance {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(JSON_LINES, (_request, payload, done) => done(null, payload))
  return scope
}

export async function* uploadedLines(body: unknown): AsyncGenerator<Uint8Array> {
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

/** What fails before the first line is an answer; afterwards the connection is cut, so that no caller takes a half for the whole. */
export function sendLines(
  reply: FastifyReply,
  lines: AsyncIterable<string>,
  onBroken: (error: unknown) => void,
): FastifyReply {
  const stream = Readable.from(lines, { objectMode: false })
  stream.once('error', (error) => {
    if (reply.raw.headersSent) onBroken(error)
  })
  return reply.type(`${JSON_LINES}; charset=utf-8`).send(stream)
}
