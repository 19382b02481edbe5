/**
 * Hands what a harness gives its hook to memoryd, and prints the answer. Used where there is no curl, and by `memoryd hook`.
 * Whatever goes wrong, it prints nothing and ends within half a second.
 */
import { realpathSync } from 'node:fs'
import { request } from 'node:http'
import { fileURLToPath } from 'node:url'
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

const DEADLINE_MS = 500

/** What to print; empty where there is nothing, or nobody answers. */
export function passOn({ harness, socket, env, input, deadlineMs = DEADLINE_MS }: Passing): Promise<string> {
  return new Promise((resolve) => {
    const giveUp = () => resolve('')
    const timer = setTimeout(giveUp, deadlineMs)
    const ask = async () => {
      const chunks: Uint8Array[] = []
      for await (const chunk of input) chunks.push(chunk)
      const body = Buffer.concat(chunks)
      const { method, url } = routeTable.hook
      const headers = {
        'content-type': 'application/json',
        'content-length': body.length,
        [PROTOCOL_HEADER]: String(PROTOCOL),
        [ACTOR_HEADER]: `agent:${harness}`,
        [ENV_HEADER]: encodeVariables(env),
      }
      const path = url.replace(':harness', encodeURIComponent(harness))
      const outgoing = request({ socketPath: socket, agent: false, method, path, headers }, (response) => {
        const answer: Buffer[] = []
        response.on('data', (chunk: Buffer) => answer.push(chunk))
        response.on('end', () => resolve(response.statusCode === 200 ? Buffer.concat(answer).toString() : ''))
        response.on('error', giveUp)
        response.on('aborted', giveUp)
      })
      outgoing.on('error', giveUp)
      outgoing.end(body)
    }
    void ask()
      .catch(giveUp)
      .finally(() => timer.unref())
  })
}

/** As a program of its own: `pass-on.js <harness> <socket>`. */
if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === realpathSync(process.argv[1])) {
  const [, , harness = '', socket = ''] = process.argv
  // Counted from when the process began: to load it is part of what somebody waits for.
  const deadlineMs = Math.max(1, DEADLINE_MS - performance.now())
  const said = await passOn({ harness, socket, env: process.env, input: process.stdin, deadlineMs })
  process.stdout.write(said, () => process.exit(0))
}
