/** Rude and hostile callers: what each kind was answered, and what of it stayed. The campaign runs all of it, `npm test` a slice. */
import { connect as dial, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { StrictClient } from '../../client/index.ts'
import { hostileNames } from '../memory/hostile-names.ts'
import { snapshot } from '../memory/snapshot.ts'
import { type RunningDaemon, startDaemon } from '../support/daemon.ts'
import { type Home, makeHome } from '../support/home.ts'
import { peakMb } from '../support/long-lines.ts'
import { topic } from '../support/memory.ts'
import { append, genericRoot } from '../support/transcripts.ts'
import { errorsIn, fuzz, operationsOf, personAt, prepareGround } from './hostile-fuzz.ts'
import { race, swap } from './hostile-races.ts'
import { allForms, type Form, sendSecrets } from './hostile-secrets.ts'
import type { Operation } from './hostile-spoils.ts'
import type { Ground } from './hostile-values.ts'
import { send } from './hostile-wire.ts'

/** Few files, as in a shell that was never told otherwise; in the home, so that a path of the process leads nowhere else. */
const IN_THE_HOME = ['sh', '-c', 'ulimit -n 256; cd "$HOME"; exec "$@"', 'sh']
const MOST_MEMORY_MB = 500

export type Part = { name: string; tried: number; problems: string[] }
type Place = { home: Home; daemon: RunningDaemon; client: StrictClient; operations: Operation[]; ground: Ground }

/** A daemon that serves on, logs no failure, stays small and ends in order; then what is on its disk. */
async function withDaemon(
  name: string,
  act: (place: Place) => Promise<Omit<Part, 'name'> & { after?: () => string[] }>,
): Promise<Part> {
  const home = makeHome()
  genericRoot(home)
  const daemon = await startDaemon(home, IN_THE_HOME)
  const client = personAt(home)
  const operations = await operationsOf(client)
  const ground = await prepareGround(home, client)
  const { tried, problems, after } = await act({ home, daemon, client, operations, ground })
  const state = await client.health().then(
    () => client.status(),
    (error) => ({ state: String(error) }),
  )
  const megabytes = peakMb(daemon.pid)
  client.close()
  const { code } = await daemon.stop()
  return {
    name,
    tried,
    problems: [
      ...problems,
      ...errorsIn(home).filter((line) => line.includes('request failed')),
      ...(state.state === 'ready' ? [] : [`it is ${state.state}`]),
      ...(megabytes > MOST_MEMORY_MB ? [`it took ${megabytes} MB`] : []),
      ...(code === 0 ? [] : [`it ended with ${code}`]),
      ...(after?.() ?? []),
    ],
  }
}

export const fuzzed = (count: number, seed: number): Promise<Part> =>
  withDaemon('spoilt requests, made from the OpenAPI document', ({ home, operations, ground }) =>
    fuzz(home, operations, ground, count, seed),
  )

export const secretsSent = (some: readonly Form[] = allForms): Promise<Part> =>
  withDaemon('credentials, in every field that takes a text', async ({ home, operations, ground }) => {
    const others = operations.filter(({ name }) => name !== 'pause')
    const { tried, problems, leaks } = await sendSecrets(home, others, ground, some)
    return { tried, problems, after: leaks }
  })

/** Names that no memory may have, to write, read and delete, of a project and of a sub-agent. */
export const namesRefused = (every: number): Promise<Part> =>
  withDaemon('names that no memory may have', async ({ home, ground }) => {
    const { cwd, outside } = ground
    const before = JSON.stringify(snapshot(outside))
    const body = Buffer.from(JSON.stringify({ content: topic('One.') }))
    const problems: string[] = []
    let tried = 0
    for (const [n, { path, name }] of hostileNames.entries()) {
      // What is no text cannot be sent.
      if (typeof path !== 'string' || n % every !== 0 || !path.isWellFormed()) continue
      const at = `${path.split('/').map(encodeURIComponent).join('/')}?cwd=${cwd}`
      for (const target of [`/v1/memories/${at}`, `/v1/agents/tester/memory/${at}&scope=local`])
        for (const method of ['PUT', 'GET', 'DELETE']) {
          tried++
          const isPut = method === 'PUT'
          const type = isPut ? `content-type: application/json\r\ncontent-length: ${body.length}\r\n` : ''
          const head = `${method} ${target} HTTP/1.1\r\nhost: memoryd\r\nconnection: close\r\nx-memoryd-actor: user\r\n${type}\r\n`
          const answered = await send(home.places.socketPath, { head, body: isPut ? body : undefined })
          const status = typeof answered === 'string' ? answered : answered.status
          if (status === 'hung' || status === 'ended' || Number(status) >= 500 || (isPut && Number(status) < 400))
            problems.push(`${method} ${name}: ${status}`)
        }
    }
    if (JSON.stringify(snapshot(outside)) !== before) problems.push('something outside was changed')
    return { tried, problems }
  })

const PIPELINES = 20
const STOP_MS = 20_000

/** Callers that send and do not read, or stop in the middle of what they send: others are answered, and a stop does not wait. */
export async function rudeClients(requests: number): Promise<Part> {
  const home = makeHome()
  const { client, pid, stop } = await startDaemon(home, IN_THE_HOME)
  const begin = (bytes: string): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = dial(home.places.socketPath)
      for (const event of ['error', 'close', 'readable']) socket.on(event, () => resolve(socket))
      socket.write(bytes, () => setImmediate(resolve, socket))
    })
  const greedy = 'GET /v1/openapi.json HTTP/1.1\r\n\r\n'.repeat(requests)
  const half = 'POST /v1/remember HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"cwd":'
  const sockets = await Promise.all(
    Array.from({ length: PIPELINES }, () => [begin(greedy), begin(half), begin('GET /v1/he')]).flat(),
  )
  const problems: string[] = []
  for (let n = 0; n < PIPELINES; n++) await client.health().catch((error) => problems.push(`not answered: ${error}`))
  const megabytes = peakMb(pid)
  if (megabytes > MOST_MEMORY_MB) problems.push(`it took ${megabytes} MB`)
  const ended = await Promise.race([stop(), delay(STOP_MS, undefined, { ref: false })])
  if (ended?.code !== 0) problems.push(ended ? `it ended with ${ended.code}` : 'it did not end when it was told to')
  for (const socket of sockets) socket.destroy()
  return { name: 'callers that read nothing, or stop half way', tried: sockets.length, problems }
}

/** Pairs of sessions without ids, with the same answer in the same second: what was said in each is kept. */
export const sameSecond = (pairs: number): Promise<Part> =>
  withDaemon('sessions with the same answer in the same second', async ({ home, client, ground: { cwd } }) => {
    const at = new Date().toISOString()
    const towns = Array.from({ length: 2 * pairs }, (_, n) => `Town${n}ville`)
    for (const [n, town] of towns.entries())
      append(
        `${home.dir}/transcripts/pair-${n}.jsonl`,
        { type: 'session', id: `pair-${n}`, cwd },
        { type: 'user', text: `Remember: the depot of ${town} closes at ${n} past noon.`, at },
        { type: 'assistant', text: 'Noted.', end: 'final', at },
      )
    const isThere = async (town: string) => {
      const { items } = await client.memories({ cwd, q: town })
      return items.length > 0
    }
    const missing = new Set(towns)
    for (const end = performance.now() + 120_000; missing.size > 0 && performance.now() < end; await delay(500))
      for (const town of missing) if (await isThere(town)) missing.delete(town)
    return { tried: towns.length, problems: [...missing].map((town) => `nothing is known of ${town}`) }
  })

/** A caller on a page, or of another host: refused on every route. */
export const foreignCallers = (): Promise<Part> =>
  withDaemon('callers with an Origin, or of another host', async ({ home, operations }) => {
    const problems: string[] = []
    let tried = 0
    for (const { name, method, path } of operations)
      for (const line of [
        'host: evil.example',
        'host: 127.0.0.1',
        'host: memoryd\r\norigin: http://localhost',
        'origin: null',
      ]) {
        tried++
        const head = `${method} ${path.replace(/\{\w+\}/g, '1')} HTTP/1.1\r\n${line}\r\nconnection: close\r\n\r\n`
        const answered = await send(home.places.socketPath, { head })
        if (typeof answered === 'string' || answered.status !== 400)
          problems.push(`${name} with ${line}: ${JSON.stringify(answered)}`)
      }
    return { tried, problems }
  })

export const racing = (requests: number, seed: number): Promise<Part> =>
  withDaemon('callers that change the same memories at once', ({ home }) => race(home, requests, seed))

export const swapping = (requests: number, seed: number): Promise<Part> =>
  withDaemon('folders and files that are swapped for links', ({ home }) => swap(home, requests, seed))

/** All of them, with full counts. */
export const hostileParts = (seed: number): (() => Promise<Part>)[] => [
  () => fuzzed(8_000, seed),
  () => secretsSent(),
  () => namesRefused(1),
  () => foreignCallers(),
  () => rudeClients(10_000),
  () => sameSecond(50),
  () => racing(20_000, seed),
  () => swapping(3_000, seed),
]
