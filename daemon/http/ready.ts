/** Answers as the bytes that go out: what an answer's schema leaves of it, made once where it stays as it is. */
import type { ServerResponse } from 'node:http'
import { PROTOCOL, PROTOCOL_HEADER } from '../../schema/rendezvous.ts'
import type { Route } from '../../schema/route.ts'
import { counted, type Json, jsonOf } from '../platform/json.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const HEADERS = ['content-type', JSON_TYPE, PROTOCOL_HEADER, String(PROTOCOL)]

/** To put more than this into one piece takes longer than to write two. */
const SHORT_BYTES = 8_192

/** A body with its head. A short one of ASCII stays a string, which goes out in one piece with the head; any other is bytes. */
export type Ready = { body: Buffer | string; bytes: number; head: readonly string[] }

export type Printer = (answer: unknown) => Ready

/** Strips an answer to its schema. A frozen one stays as it is, so its text is made once, however often it is given. */
export function createPrinter(route: Route): Printer {
  const printed = new WeakMap<object, Ready>()
  return (answer) => {
    if (!isKept(answer)) return ready(jsonOf(answer) ?? counted(JSON.stringify(route.answer.parse(answer))))
    const known = printed.get(answer)
    if (known) return known
    const made = ready(counted(JSON.stringify(route.answer.parse(answer))))
    printed.set(answer, made)
    return made
  }
}

/** It stays as it is, so it may be asked for again. */
export function isKept(answer: unknown): answer is object {
  return typeof answer === 'object' && answer !== null && Object.isFrozen(answer)
}

function ready({ text, bytes }: Json): Ready {
  const isShort = bytes <= SHORT_BYTES && bytes === text.length
  return { body: isShort ? text : Buffer.from(text), bytes, head: [...HEADERS, 'content-length', String(bytes)] }
}

export function sendFailure(response: ServerResponse, { status, body }: { status: number; body: object }): void {
  sendReady(response, ready(counted(JSON.stringify(body))), status)
}

/** Bytes that are ready need nothing of what fastify does for an answer, which costs more than to send them. */
export function sendReady(response: ServerResponse, { body, head }: Ready, status = 200): void {
  const { socket } = response.writeHead(status, head as string[])
  if (typeof body !== 'string' || !socket || socket.destroyed) return void response.end(body, 'latin1')
  // As one string: `end` adds an empty one to what it is given, and several are put together in a buffer first.
  socket.cork()
  response.write(body, 'latin1')
  socket.uncork()
  response.end()
}
