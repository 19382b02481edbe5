/**
 * A Messages API on loopback that real clients talk to: strict about what it takes, scripted in what it says, with a
 * prompt cache whose clock the test moves. Keeps every request with its exact bytes, and sees when a client hangs up.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { admit, type House, usualModels } from './admission.ts'
import type { Answer } from './answers.ts'
import { perform, sendFailure } from './perform.ts'
import { type CacheUsage, createPrefixCache } from './prefix-cache.ts'
import type { Body } from './wire.ts'

export type Seen = {
  headers: IncomingHttpHeaders
  bytes: Buffer
  /** What was asked; absent when the request was refused. */
  body?: Body
  /** Why it was refused, as the client was told. */
  refused?: string
  usage?: CacheUsage
  /** When the connection of this request ended, and whether its answer was complete by then. */
  closed: Promise<{ complete: boolean }>
}

export type Script = (seen: Seen & { body: Body }) => Answer | Promise<Answer>

export type MessagesApi = {
  url: string
  requests: Seen[]
  /** Answers to the next requests, before the script is asked. */
  next(...answers: Answer[]): void
  script(answer: Script): void
  /** Resolves with the request of that number, counted from 1, once it has arrived whole. */
  request(number: number): Promise<Seen>
  /** Moves the clock of the cache. */
  pass(ms: number): void
  close(): Promise<void>
}

export type Options = Partial<House> & { script?: Script; port?: number; now?: () => number }

export async function createMessagesApi(options: Options = {}): Promise<MessagesApi> {
  const house = { keys: options.keys ?? ['test-key'], models: options.models ?? usualModels }
  let moved = 0
  const now = () => (options.now?.() ?? 0) + moved
  const cache = createPrefixCache({ now, minTokens: (model) => house.models[model]?.minCacheTokens ?? 0 })
  const requests: Seen[] = []
  const waiting = new Set<() => void>()
  const queue: Answer[] = []
  let script: Script =
    options.script ?? (() => ({ status: 500, type: 'api_error', message: 'the script has no answer left' }))

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const closed = whenClosed(response)
    const bytes = await readWhole(request)
    if (!bytes) return
    response.setHeader('request-id', `req_${randomBytes(9).toString('hex')}`)
    const { method = '', url = '', headers } = request
    const admitted = admit({ method, url, headers, bytes }, house)
    const seen: Seen = { headers, bytes, closed }
    if ('status' in admitted) {
      seen.refused = admitted.message
      arrived(seen)
      return sendFailure(response, admitted)
    }
    const { body, owner } = admitted
    const known = Object.assign(seen, { body })
    arrived(seen)
    const said = queue.shift() ?? (await script(known))
    const { usage, keep } = cache.look(owner, body)
    seen.usage = usage
    perform(response, said, { body, usage, onBegin: keep })
  }
  const arrived = (seen: Seen) => {
    requests.push(seen)
    for (const look of waiting) look()
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      // A script that throws is a broken test: the client hears of it in words.
      if (!response.headersSent) sendFailure(response, { status: 500, type: 'api_error', message: String(error) })
      else response.destroy()
    })
  })
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    next: (...answers) => void queue.push(...answers),
    script: (answer) => {
      script = answer
    },
    request: (number) =>
      new Promise((resolve) => {
        const look = () => {
          const seen = requests[number - 1]
          if (!seen) return
          waiting.delete(look)
          resolve(seen)
        }
        waiting.add(look)
        look()
      }),
    pass: (ms) => {
      moved += ms
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

function whenClosed(response: ServerResponse): Seen['closed'] {
  return new Promise((resolve) => response.once('close', () => resolve({ complete: response.writableFinished })))
}

/** Nothing when the client hung up before it had sent everything. */
async function readWhole(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(chunk)
  } catch {
    return undefined
  }
  return Buffer.concat(chunks)
}
