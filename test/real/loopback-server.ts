/** A server on loopback for the time of a test, to which clients post JSON. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export type Send = (type: string, data?: object) => void

const MOST_BYTES = 32_000_000

/** `answer` streams events; what is posted anywhere else is not found. */
export async function startServer(path: string, answer: (asked: unknown, send: Send) => void): Promise<string> {
  const server = createServer((request, response) => {
    void hear(request, response).catch(() => response.destroy())
  })
  const hear = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await readBody(request)
    if (request.method !== 'POST' || new URL(request.url ?? '/', 'http://model').pathname !== path)
      return void response.writeHead(404).end('{"type":"error","error":{"type":"not_found_error","message":"no"}}')
    const asked = JSON.parse(text) as unknown
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    answer(asked, (type, data = {}) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`))
    response.end()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length
    if (bytes > MOST_BYTES) throw new Error('the request is too large')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString()
}
