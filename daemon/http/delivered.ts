/**
 * Whether an answer reached its caller. That the kernel took it says little: the caller may have given up. A Unix socket tells more
 * when it is closed: it reports an error where the other end left without reading. Delivered is what a connection ended well after,
 * or was used again after.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** One of the two is called. */
type Ends = { onSent?: () => void; onLost?: () => void }

/** The function it returns is called before the answer is sent. */
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
    if (!socket || response.destroyed) {
      ends.onLost?.()
      return
    }
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
