/** Answers as the bytes that go out: what an answer's schema leaves of it, made once where it stays as it is. */
import type { ServerResponse } from 'node:http'
import { PROTOCOL, PROTOCOL_HEADER } from '../../schema/rendezvous.ts'
import type { Route } from '../../schema/route.ts'
import { jsonOf } from '../platform/ready-json.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
const HEADERS = ['content-type', JSON_TYPE, PROTOCOL_HEADER, String(PROTOCOL)]

/** Bytes where they are kept. */
export type Printer = (answer: unknown) => Buffer | string

/** Strips an answer to its schema. A frozen one stays as it is, so its text is made once, however often it is given. */
export function createPrinter(route: Route): Printer {
  const printed = new WeakMap<object, Buffer>()
  return (answer) => {
    if (typeof answer !== 'object' || answer === null) return JSON.stringify(route.answer.parse(answer))
    if (!Object.isFrozen(answer)) return jsonOf(answer) ?? JSON.stringify(route.answer.parse(answer))
    const known = printed.get(answer)
    if (known) return known
    const bytes = Buffer.from(JSON.stringify(route.answer.parse(answer)))
    printed.set(answer, bytes)
    return bytes
  }
}

export function sendFailure(response: ServerResponse, { status, body }: { status: number; body: object }): void {
  const text = Buffer.from(JSON.stringify(body))
  response.writeHead(status, [...HEADERS, 'content-length', String(text.length)]).end(text)
}

/** Bytes that are ready need nothing of what fastify does for an answer, which costs more than to send them. */
export function sendReady(response: ServerResponse, answer: Buffer | string): void {
  const length = typeof answer === 'string' ? Buffer.byteLength(answer) : answer.length
  response.writeHead(200, [...HEADERS, 'content-length', String(length)])
  // Nothing but ASCII goes out as it is, in one write with its head; another string would take several times as long.
  if (typeof answer === 'string' && length === answer.length) response.end(answer, 'latin1')
  else response.end(typeof answer === 'string' ? Buffer.from(answer) : answer)
}
