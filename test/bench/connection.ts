/**
 * One kept-alive HTTP connection that does as little as possible: a client's own work would be added to both sides of a
 * ratio and flatter it. One request at a time; only answers with a length.
 */
import { connect } from 'node:net'
import { PROTOCOL, PROTOCOL_HEADER } from '../../schema/rendezvous.ts'
import type { RouteShape } from '../../schema/route-table.ts'

const NOTHING = Buffer.alloc(0)

export type Connection = {
  /** Resolves with the body when the answer is complete; rejects unless it is a 200, or a 204 without one. */
  ask(request: Buffer): Promise<Buffer>
  close(): void
}

/** The bytes to ask a route with; the same ones go to every contender. */
export function requestFor({ method, url }: RouteShape, query: Record<string, string> = {}): Buffer {
  const tail = Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : ''
  return Buffer.from(`${method} ${url}${tail} HTTP/1.1\r\nhost: localhost\r\n${PROTOCOL_HEADER}: ${PROTOCOL}\r\n\r\n`)
}

/** The same with a body. */
export function postFor({ method, url }: RouteShape, body: object): Buffer {
  const text = Buffer.from(JSON.stringify(body))
  const head = [
    `${method} ${url} HTTP/1.1`,
    'host: localhost',
    `${PROTOCOL_HEADER}: ${PROTOCOL}`,
    'content-type: application/json',
    `content-length: ${text.length}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), text])
}

export function openConnection(socketPath: string): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath)
    let received: Buffer = NOTHING
    let waiting: { resolve(body: Buffer): void; reject(error: Error): void } | undefined
    const fail = (error: Error) => {
      reject(error)
      waiting?.reject(error)
    }
    socket.on('data', (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const answer = completeAnswer(received)
      if (!answer) return
      received = NOTHING
      if (answer.status === 200 || answer.status === 204) waiting?.resolve(answer.body)
      else fail(new Error(`${socketPath} answered ${answer.status}: ${answer.body}`))
    })
    socket.once('error', fail)
    socket.once('close', () => fail(new Error(`${socketPath} closed the connection`)))
    socket.once('connect', () =>
      resolve({
        ask: (request) =>
          new Promise((answered, failed) => {
            waiting = { resolve: answered, reject: failed }
            socket.write(request)
          }),
        close: () => socket.destroy(),
      }),
    )
  })
}

/** Of several requests one after the other, from the first on. */
export async function timeRequests(
  connection: Connection,
  request: Buffer | readonly Buffer[],
  count: number,
): Promise<number[]> {
  const requests = Array.isArray(request) ? (request as readonly Buffer[]) : [request as Buffer]
  const taken: number[] = []
  for (let n = 0; n < count; n++) {
    const next = requests[n % requests.length] as Buffer
    const sentMs = performance.now()
    await connection.ask(next)
    taken.push(performance.now() - sentMs)
  }
  return taken
}

function completeAnswer(received: Buffer): { status: number; body: Buffer } | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = received.toString('latin1', 0, headEnd)
  const status = Number(head.slice(9, 12))
  if (status === 204) return { status, body: NOTHING }
  const length = /^content-length: (\d+)/im.exec(head)?.[1]
  // Chunked, which no row asks for: shown as it is instead of waiting for ever.
  if (length === undefined) return { status: 0, body: received }
  const body = received.subarray(headEnd + 4)
  return body.length < Number(length) ? undefined : { status, body }
}
