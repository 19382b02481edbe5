/** One HTTP exchange over the Unix socket, with a deadline. Knows bytes and headers, not routes. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { MemoryError } from '../schema/errors.ts'
import { PROTOCOL, PROTOCOL_HEADER } from '../schema/rendezvous.ts'

export type Exchange = {
  method: string
  path: string
  body?: unknown
  signal?: AbortSignal | undefined
  deadlineMs: number
}

export type Transport = {
  /** The whole answer. */
  send(exchange: Exchange): Promise<{ status: number; text: string }>
  /** The answer as it arrives; the deadline covers only its beginning. */
  open(exchange: Exchange): Promise<IncomingMessage>
  close(): void
}

const UNREACHABLE = new Set([
  'ENOENT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'EACCES',
  'EAGAIN',
  'ENOTDIR',
  'ENOTSOCK',
])

/** `locate` may throw: a set-up that names no usable socket is reported by the call that needs it, not by `connect`. */
export function createTransport(locate: () => string): Transport {
  // An idle connection must not keep a harness alive, nor be one the daemon has closed meanwhile.
  const agent = new Agent({ keepAlive: true, maxSockets: 16, timeout: 30_000 })

  const open = (exchange: Exchange) => begin(exchange).then(({ response }) => response)

  async function begin(exchange: Exchange): Promise<{ response: IncomingMessage; expired: AbortSignal }> {
    const socketPath = locate()
    const expired = AbortSignal.timeout(Math.max(1, Math.ceil(exchange.deadlineMs)))
    const { method, path, body } = exchange
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const cancel = new AbortController()
      const onExpired = () => cancel.abort(expired.reason)
      const outgoing = request(
        {
          socketPath,
          agent,
          method,
          path,
          headers: {
            [PROTOCOL_HEADER]: String(PROTOCOL),
            ...(payload && { 'content-type': 'application/json', 'content-length': payload.length }),
          },
          signal: exchange.signal ? AbortSignal.any([cancel.signal, exchange.signal]) : cancel.signal,
        },
        (answer) => {
          expired.removeEventListener('abort', onExpired)
          resolve(answer)
        },
      )
      expired.addEventListener('abort', onExpired, { once: true })
      outgoing.once('error', (error) => reject(explain(error, exchange, expired, socketPath)))
      outgoing.end(payload)
    })
    checkProtocol(response)
    return { response, expired }
  }

  async function send(exchange: Exchange): Promise<{ status: number; text: string }> {
    const { response, expired } = await begin(exchange)
    const cutOff = () => response.destroy(expired.reason as Error)
    if (expired.aborted) cutOff()
    expired.addEventListener('abort', cutOff, { once: true })
    try {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }
    } catch (error) {
      throw explain(error as NodeJS.ErrnoException, exchange, expired, locate())
    } finally {
      expired.removeEventListener('abort', cutOff)
    }
  }

  return { send, open, close: () => agent.destroy() }
}

/** The caller's own abort stays what it is; a daemon that cannot be reached in time gets a name and a remedy. */
function explain(
  error: NodeJS.ErrnoException,
  { signal, deadlineMs }: Exchange,
  expired: AbortSignal,
  socketPath: string,
): Error {
  if (signal?.aborted) return signal.reason instanceof Error ? signal.reason : error
  if (expired.aborted)
    return new MemoryError('UNREACHABLE', `memoryd did not answer within ${deadlineMs} ms at ${socketPath}`, {
      hint: 'run: memoryd doctor',
      reason: 'slow',
      cause: error,
    })
  if (!UNREACHABLE.has(error.code ?? '')) return error
  const closed = error.code === 'EACCES'
  return new MemoryError('UNREACHABLE', `${closed ? 'no access to' : 'no daemon at'} ${socketPath}`, {
    reason: closed ? 'closed' : 'absent',
    hint: closed ? 'run: memoryd doctor' : 'run: memoryd start',
    cause: error,
  })
}

/** A stranger at the socket, or a daemon from before an upgrade. */
function checkProtocol(response: IncomingMessage): void {
  const theirs = response.headers[PROTOCOL_HEADER]
  if (theirs === String(PROTOCOL)) return
  response.resume()
  throw new MemoryError('PROTOCOL', `the daemon speaks protocol ${theirs ?? 'unknown'}, this client ${PROTOCOL}`, {
    hint: 'run: memoryd restart',
  })
}
