/** The server's socket, the one systemd passed or our own, and its connections from the first byte to the last. */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import type { Core } from '../core.ts'
import type { Clock } from '../platform/clock.ts'
import { ensurePrivateFolder, message } from '../platform/files.ts'
import { clearSocketPath, closeToOthers, passedSocket, socketIsThere } from '../platform/socket.ts'
import { failure, protocolHeaders } from './request.ts'

/** A runtime folder is emptied on log-out and by cleaners: then the socket is bound again. */
const LOOK_EVERY_MS = 10_000

export async function bindServer({ places, env, clock, health, log, lifecycle }: Core, server: Server): Promise<void> {
  const path = places.socketPath
  const passed = passedSocket(env, process.pid)
  if (passed !== undefined) {
    await listen(server, { fd: passed })
    // The unit may have made it with other rights.
    if (socketIsThere(path)) {
      ensurePrivateFolder(dirname(path), 'socket')
      closeToOthers(path)
    }
    return
  }
  const bind = async () => {
    await clearSocketPath(path)
    await listen(server, { path })
    closeToOthers(path)
  }
  await bind()
  const look = async () => {
    if (socketIsThere(path)) return
    await bind()
    health.clear('socket')
    log.warn({ socket: path }, 'the socket had been deleted; it is there again')
  }
  const looking = clock.every(LOOK_EVERY_MS, look, (error) =>
    health.raise('socket', `${path} was deleted and cannot be made again: ${message(error)}`),
  )
  lifecycle.add('socket', looking.stop)
}

function listen(server: Server, at: { path: string } | { fd: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    if (server.listening) server.close()
    server.once('error', reject)
    server.listen(at, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Answers with a body where Node would send none. */
export function answerOddities(server: Server): void {
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

const LOOK_MS = 1_000

/** Stops once every request that was sent whole is answered. Idle connections, requests of which nothing more comes and answers that are not read are given up. */
export function createStop(server: Server, clock: Clock): () => Promise<void> {
  const open = new Map<Socket, Set<IncomingMessage>>()
  let isStopping = false
  server.on('connection', (socket) => {
    open.set(socket, new Set())
    socket.once('close', () => open.delete(socket))
  })
  server.prependListener('request', (request, response) => {
    if (isStopping) response.setHeader('connection', 'close')
    // More than one, where a caller sends ahead.
    const requests = open.get(request.socket)
    requests?.add(request)
    response.once('close', () => {
      requests?.delete(request)
      if (isStopping && requests?.size === 0) request.socket.end()
    })
  })
  return () =>
    new Promise((resolve) => {
      isStopping = true
      const seen = new Map<Socket, number>()
      const look = () => {
        for (const [socket, requests] of open) {
          // What arrived and was not taken up yet holds the rest of a body up: then the caller is not to blame.
          const isHalf = ({ complete, readableLength }: IncomingMessage) => !complete && readableLength === 0
          const movedBytes = socket.bytesRead + socket.bytesWritten
          const isStill = requests.size === 0 || seen.get(socket) === movedBytes
          if (isStill && (socket.writableNeedDrain || [...requests].every(isHalf))) socket.destroy()
          seen.set(socket, movedBytes)
        }
      }
      const looking = clock.every(LOOK_MS, look, () => {})
      server.close(() => {
        looking.stop()
        resolve()
      })
      look()
    })
}
