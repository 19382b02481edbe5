/** One HTTP exchange over the Unix socket, with a deadline. Knows bytes and headers, not routes. */
import { once } from 'node:events'
import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { MemoryError } from '../schema/errors.ts'
import { PROTOCOL, PROTOCOL_HEADER } from '../schema/rendezvous.ts'
import { JSON_LINES } from '../schema/route-table.ts'

export type Exchange = {
  method: string
  path: string
  body?: unknown
  /** Instead of a body: sent as it comes, however much that is. */
  lines?: AsyncIterable<Uint8Array>
  bodyLimitBytes: number
  signal?: AbortSignal | undefined
  deadlineMs: number
  /** A call that waits for long would block a shared connection. */
  connection?: 'own' | 'shared'
}

export type Transport = ReturnType<typeof createTransport>

/** Loaded with the first exchange, which help and the start of the MCP server do without. An import would load undici, too. */
const http = () => process.getBuiltinModule('node:http')

/** What a timer can wait for. */
const LONGEST_DEADLINE_MS = 2 ** 31 - 1

/** `locate` may throw: a set-up that names no usable socket is reported by the call that needs it, not by `connect`. */
export function createTransport(locate: () => string, told: Record<string, string>) {
  let agent: Agent | undefined
  const sharedAgent = () => {
    // An idle connection must not keep a harness alive, nor be one the daemon has closed meanwhile.
    agent ??= new (http().Agent)({ keepAlive: true, maxSockets: 16, timeout: 30_000 })
    return agent
  }

  const begin = (exchange: Exchange, socketPath: string, ended: AbortSignal) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const { method, path, body, lines, bodyLimitBytes, connection = lines ? 'own' : 'shared' } = exchange
      const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
      // The daemon would hang up in the middle of it, which looks like a daemon that died.
      if (payload && payload.length > bodyLimitBytes)
        throw new MemoryError('TOO_LARGE', `the body has ${payload.length} bytes, this route takes ${bodyLimitBytes}`)
      const headers = {
        [PROTOCOL_HEADER]: String(PROTOCOL),
        ...told,
        ...(payload && { 'content-type': 'application/json', 'content-length': payload.length }),
        ...(lines && { 'content-type': JSON_LINES }),
      }
      // An upload cannot be sent again, so it gets no connection that the daemon may have closed meanwhile.
      const outgoing = http().request(
        { socketPath, agent: connection === 'own' ? false : sharedAgent(), method, path, headers, signal: ended },
        resolve,
      )
      let ownFault: unknown
      outgoing.once('error', (error) => reject(ownFault ?? explain(error, socketPath, outgoing.reusedSocket)))
      outgoing.once('upgrade', (_response, socket) => {
        socket.destroy()
        reject(unreachable('garbled', `something else than memoryd answers at ${socketPath}`))
      })
      if (!lines) return void outgoing.end(payload)
      const source = noting(lines, (error) => {
        ownFault = error
      })
      upload(source, outgoing).catch(reject)
    }).then(ofOurProtocol)

  /** Settles when `act` does, at the deadline, or when the caller gives up: whatever happens on the wire. */
  async function limited<T>(
    { signal, deadlineMs }: Exchange,
    act: (socketPath: string, ended: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const socketPath = locate()
    signal?.throwIfAborted()
    const ending = new AbortController()
    return new Promise<T>((resolve, reject) => {
      const giveUp = (reason: unknown) => {
        reject(reason)
        ending.abort()
      }
      const late = unreachable('slow', `memoryd did not answer within ${deadlineMs} ms at ${socketPath}`)
      const timer = setTimeout(() => giveUp(late), Math.min(Math.max(deadlineMs || 0, 1), LONGEST_DEADLINE_MS))
      const onAbort = () => giveUp(signal?.reason)
      signal?.addEventListener('abort', onAbort, { once: true })
      void act(socketPath, ending.signal)
        .then(resolve, reject)
        .finally(() => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', onAbort)
        })
    })
  }

  const send = (exchange: Exchange) =>
    limited(exchange, (socketPath, ended) => {
      const once = async () => readWhole(await begin(exchange, socketPath, ended), socketPath)
      return once().catch((error: MemoryError) => {
        // The daemon closed an idle connection at the moment we took it up again: asking twice does no harm.
        if (error.reason === 'stale' && exchange.method === 'GET' && !ended.aborted) return once()
        throw error
      })
    })

  const open = async (exchange: Exchange): Promise<IncomingMessage> => {
    const { signal } = exchange
    const response = await limited(exchange, (socketPath, ended) => begin(exchange, socketPath, ended))
    signal?.addEventListener('abort', () => response.destroy(signal.reason as Error), { once: true })
    return response
  }

  return { send, open, close: () => agent?.destroy() }
}

/** Not a byte is taken from `lines` before the connection takes it: an upload may wait for a daemon to be started. */
async function upload(lines: AsyncIterable<Uint8Array>, outgoing: ClientRequest): Promise<void> {
  const [socket] = await once(outgoing, 'socket')
  if (socket.connecting) await once(socket, 'connect')
  const enough = new AbortController()
  // An answer before the end of the upload means that the daemon wants no more of it.
  outgoing.once('response', (response) => response.once('end', () => enough.abort()))
  await pipeline(lines, outgoing, { signal: enough.signal })
}

/** A file that cannot be read is no fault of the connection. */
async function* noting<T>(source: AsyncIterable<T>, onError: (error: unknown) => void): AsyncGenerator<T> {
  try {
    yield* source
  } catch (error) {
    onError(error)
    throw error
  }
}

export async function readWhole(response: IncomingMessage, socketPath: string) {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer)
  } catch (error) {
    throw explain(error as NodeJS.ErrnoException, socketPath, false)
  }
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }
}

type Reason = 'absent' | 'closed' | 'stale' | 'cut' | 'garbled' | 'slow'

function explain(error: NodeJS.ErrnoException, socketPath: string, reused: boolean): MemoryError {
  const isOneOf = (...codes: string[]) => codes.includes(error.code ?? '')
  if (isOneOf('ENOENT', 'ECONNREFUSED', 'ENOTDIR', 'ENOTSOCK'))
    return unreachable('absent', `no daemon at ${socketPath}`, error)
  if (isOneOf('EACCES', 'EPERM')) return unreachable('closed', `no access to ${socketPath}`, error)
  if (isOneOf('ECONNRESET', 'EPIPE'))
    return unreachable(reused ? 'stale' : 'cut', `the daemon at ${socketPath} hung up`, error)
  return unreachable('garbled', `cannot talk to ${socketPath}: ${error.message}`, error)
}

function unreachable(reason: Reason, message: string, cause?: unknown): MemoryError {
  const hint = reason === 'absent' ? 'run: memoryd start' : 'run: memoryd doctor'
  return new MemoryError('UNREACHABLE', message, { reason, hint, cause })
}

/** Refuses another program at the socket, and a daemon from before an upgrade. */
function ofOurProtocol(response: IncomingMessage): IncomingMessage {
  const theirs = response.headers[PROTOCOL_HEADER]
  if (theirs === String(PROTOCOL)) return response
  response.destroy()
  throw new MemoryError('PROTOCOL', `the daemon speaks protocol ${theirs ?? 'unknown'}, this client ${PROTOCOL}`, {
    hint: 'run: memoryd restart',
  })
}

/** An event without an end must not fill the memory. */
const LONGEST_EVENT = 1_000_000

export async function* readEvents(chunks: AsyncIterable<Uint8Array>) {
  const decoder = new TextDecoder()
  let pending = ''
  for await (const chunk of chunks) {
    pending += decoder.decode(chunk, { stream: true })
    for (let end = pending.indexOf('\n\n'); end >= 0; end = pending.indexOf('\n\n')) {
      const event = parseEvent(pending.slice(0, end))
      pending = pending.slice(end + 2)
      if (event) yield event
    }
    if (pending.length > LONGEST_EVENT) throw new Error('an event is longer than 1,000,000 characters')
  }
}

function parseEvent(block: string) {
  let type = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) type = line.slice(6).trim()
    if (line.startsWith('data:')) data.push(line.slice(5).trim())
  }
  return data.length > 0 ? { type, data: data.join('\n') } : undefined
}
