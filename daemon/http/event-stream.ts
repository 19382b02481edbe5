/** Server-sent events to one reader, who is dropped rather than buffered for when it does not keep up. */
import type { ServerResponse } from 'node:http'
import type { Event } from '../../schema/event.ts'

/** What a reader may leave unread, beyond what the kernel holds. At a few hundred bytes an event: minutes of silence. */
const UNREAD_LIMIT_BYTES = 256 * 1024

export function encodeEvent({ type, ...data }: Event): string {
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
}

export type EventStreams = {
  open(response: ServerResponse, headers: Record<string, string>, first: Event): void
  closeAll(): void
  readers(): number
}

export function createEventStreams(
  subscribe: (listener: (event: Event) => void) => () => void,
  onDropped: () => void,
): EventStreams {
  const open = new Set<ServerResponse>()
  return {
    open: (response, headers, first) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', ...headers })
      open.add(response)
      response.write(encodeEvent(first))
      const unsubscribe = subscribe((event) => {
        if (response.writableLength <= UNREAD_LIMIT_BYTES) return void response.write(encodeEvent(event))
        onDropped()
        response.destroy()
      })
      response.once('close', () => {
        open.delete(response)
        unsubscribe()
      })
    },
    closeAll: () => {
      for (const response of open) response.end()
    },
    readers: () => open.size,
  }
}
