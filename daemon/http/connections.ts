/** Connections as they come and go: what is answered to those that send no request of ours, and how all of them end. */
import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { failure } from './errors.ts'
import { protocolHeaders } from './protocol.ts'

/** What Node would answer without a body, or not at all. */
export function answerOddities(server: HttpServer): void {
  server.on('checkExpectation', (_request, response) => {
    const { status, body } = failure('BAD_REQUEST', 'memoryd meets no such expectation')
    response.writeHead(status, { ...protocolHeaders, 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  server.on('connect', (_request, socket) => endWithBadRequest(socket))
}

export function endWithBadRequest(socket: Duplex): void {
  if (!socket.writable) return
  const { body } = failure('BAD_REQUEST', 'the request is not HTTP that memoryd can read')
  const text = JSON.stringify(body)
  const head = [
    'HTTP/1.1 400 Bad Request',
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(text)}`,
    ...Object.entries(protocolHeaders).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
}

/**
 * Node closes idle connections only once they have had a request: those that never sent one would hold up a stop. Whoever takes
 * the requests takes theirs out.
 */
export function connectionsWithoutRequest(server: HttpServer): Set<Socket> {
  const waiting = new Set<Socket>()
  server.on('connection', (socket) => {
    waiting.add(socket)
    socket.once('close', () => waiting.delete(socket))
  })
  return waiting
}

export function stopListening(server: HttpServer, unused: Set<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
    for (const socket of unused) socket.destroy()
  })
}
