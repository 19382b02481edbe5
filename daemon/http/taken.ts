/**
 * Whether an answer was taken. That it was handed to the kernel says little: the one who asked may have given up. A Unix socket
 * tells more when it is closed: as an error where somebody left before the answer was written, or without having read it.
 */
import type { Server as HttpServer, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What to do once an answer was taken, or when it was not; one of the two. */
export type Ends = { onSent?: () => void; onLost?: () => void }

/** Told before the answer is sent. */
export type OnceTaken = (response: ServerResponse, ends: Ends) => void

/** Taken is what a connection ended well after, or was used again after by somebody who must have read it. */
export function createOnceTaken(server: HttpServer): OnceTaken {
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
  return (response, ends) => {
    const { socket } = response
    if (!socket || response.destroyed) return ends.onLost?.()
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
