/**
 * Whether an answer was taken. That it was handed to the kernel says little: the one who asked may have given up. A Unix socket
 * tells more when it is closed: as an error where somebody left before the answer was written, or without having read it.
 */
import type { Server as HttpServer, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Calls back once the connection has ended well, or was used again by somebody who must have read the answer before. */
export type OnceTaken = (response: ServerResponse, taken: () => void) => void

export function createOnceTaken(server: HttpServer): OnceTaken {
  const pending = new Map<Socket, () => void>()
  const settle = (socket: Socket) => {
    const taken = pending.get(socket)
    pending.delete(socket)
    taken?.()
  }
  server.on('request', ({ socket }) => settle(socket))
  server.on('connection', (socket) =>
    socket.once('close', (hadError) => {
      if (hadError) pending.delete(socket)
      else settle(socket)
    }),
  )
  return (response, taken) => {
    const { socket } = response
    if (!socket) return
    response.once('finish', () => {
      if (!socket.destroyed) pending.set(socket, taken)
      else if (!socket.errored) taken()
    })
  }
}
