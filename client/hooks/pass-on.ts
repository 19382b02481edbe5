/** Sends the input of a hook to the daemon and returns the answer: within half a second, and empty whatever goes wrong. */
import { ACTOR_HEADER, ENV_HEADER, encodeVariables } from '../../schema/caller.ts'
import { PROTOCOL, PROTOCOL_HEADER } from '../../schema/rendezvous.ts'
import { routeTable } from '../../schema/route-table.ts'

export type Passing = {
  harness: string
  socket: string
  env: Record<string, string | undefined>
  input: AsyncIterable<Uint8Array>
  deadlineMs?: number
}

// An import of node:http would load undici, too, and the prompt waits for it.
const { request } = process.getBuiltinModule('node:http')

/** A prompt waits for half a second at most; the rest is for a shell to start and a process to end. */
const DEADLINE_MS = 420

/** What is left of the deadline for a process that is only a hook: the user waits for its start, too. */
export function msLeft({ MEMORYD_HOOK_SECONDS: seconds = '' }: Passing['env']): number {
  const wholeMs = /^\d+(\.\d+)?$/.test(seconds) ? Number(seconds) * 1_000 : DEADLINE_MS
  return Math.max(1, wholeMs - performance.now())
}

export function passOn({ harness, socket, env, input, deadlineMs = DEADLINE_MS }: Passing): Promise<string> {
  return new Promise((resolve) => {
    const over = new AbortController()
    const end = (said: string) => {
      clearTimeout(timer)
      resolve(said)
      over.abort()
    }
    const giveUp = () => end('')
    const timer = setTimeout(giveUp, deadlineMs)
    const ask = async () => {
      const body = await whole(input, over.signal)
      if (body === undefined) return giveUp()
      const { method, url } = routeTable.hook
      const headers = {
        'content-type': 'application/json',
        'content-length': body.length,
        [PROTOCOL_HEADER]: String(PROTOCOL),
        [ACTOR_HEADER]: `agent:${harness}`,
        [ENV_HEADER]: encodeVariables(env),
      }
      const path = url.replace(':harness', encodeURIComponent(harness))
      const options = { socketPath: socket, agent: false, method, path, headers, signal: over.signal }
      const outgoing = request(options, (response) => {
        const answer: Buffer[] = []
        response.on('data', (chunk: Buffer) => answer.push(chunk))
        response.on('end', () => end(response.statusCode === 200 ? Buffer.concat(answer).toString() : ''))
        response.on('error', giveUp)
        response.on('aborted', giveUp)
      })
      outgoing.on('error', giveUp)
      outgoing.end(body)
    }
    void ask().catch(giveUp)
  })
}

async function whole(input: AsyncIterable<Uint8Array>, over: AbortSignal): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of input) {
    bytes += chunk.length
    if (over.aborted || bytes > routeTable.hook.bodyLimitBytes) return undefined
    chunks.push(chunk)
  }
  return over.aborted ? undefined : Buffer.concat(chunks)
}
