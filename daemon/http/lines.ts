/** Files of JSON lines over HTTP, either way: as they come, never whole in memory. */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { MemoryError } from '../../schema/errors.ts'
import { JSON_LINES } from '../../schema/route-table.ts'

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
    // Who is still sending hears no answer: what is not wanted any more is read and dropped.
    body.resume()
  }
}

/** What fails before the first line is an answer; afterwards the connection is cut, so that nobody takes a half for all. */
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
