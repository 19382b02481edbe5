/** Requests made from the OpenAPI document and then spoilt, and whether each is answered as it should be. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type StrictClient } from '../../client/index.ts'
import { httpStatus } from '../../schema/errors.ts'
import type { Home } from '../support/home.ts'
import { topic } from '../support/memory.ts'
import { append, turn } from '../support/transcripts.ts'
import { ODD_PATHS, type Operation, type Request, spoils } from './hostile-spoils.ts'
import { below, type Ground, pick, type Random, type Schema, sample } from './hostile-values.ts'
import { type Answered, send, type Wire } from './hostile-wire.ts'

type Document = { paths: Record<string, Record<string, Described>> }
type Described = {
  operationId: string
  parameters: { name: string; in: string; required: boolean; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, unknown>
}

export async function operationsOf(client: StrictClient): Promise<Operation[]> {
  const { paths } = (await client.openapi()) as unknown as Document
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters, requestBody, responses }]) => {
      const [media, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
      const fields = (place: string) => parameters.filter((each) => each.in === place)
      return {
        name: operationId,
        method: method.toUpperCase(),
        path,
        params: fields('path'),
        query: fields('query'),
        media,
        body: content?.schema,
        statuses: Object.keys(responses).map(Number),
      }
    }),
  )
}

/** A home with what requests may be about, and traps beside it. */
export async function prepareGround(home: Home, client: StrictClient): Promise<Ground> {
  const ground = { dir: home.dir, cwd: join(home.dir, 'project'), outside: join(home.dir, 'outside') }
  for (const folder of [join(ground.cwd, '.git'), ground.outside, join(home.dir, 'other')])
    mkdirSync(folder, { recursive: true })
  writeFileSync(join(ground.outside, 'secret.md'), topic('Outside.'))
  writeFileSync(join(home.dir, 'file'), 'x')
  symlinkSync(ground.outside, join(home.dir, 'link'))
  symlinkSync('loop', join(home.dir, 'loop'))
  spawnSync('mkfifo', [join(home.dir, 'pipe')])
  const { cwd } = ground
  for (const file of ['one.md', 'two.md']) await client.putMemory({ cwd, file, content: topic(`Of ${file}.`, file) })
  await client.putMemory({ cwd, file: 'lint.md', content: topic('Always run the linter before a push.', 'Linter') })
  await client.registerAgent({ name: 'reader', sessionId: 's1', cwd, pid: process.pid })
  append(join(home.dir, 'transcripts', 's1.jsonl'), { type: 'session', id: 's1', cwd }, ...turn('one'))
  return ground
}

export function validRequest(random: Random, operation: Operation, ground: Ground): Request {
  const { method, params, query, body, media } = operation
  const given = query.filter(({ required }) => required || random() < 0.4)
  return {
    operation,
    method,
    params: Object.fromEntries(params.map(({ name, schema }) => [name, sample(random, schema, name, ground)])),
    query: given.map(({ name, schema }) => [name, String(sample(random, schema, name, ground))]),
    headers: { ...(media && { 'content-type': media }), 'x-memoryd-actor': pick(random, ['user', 'agent:test']) },
    body: body && sample(random, body, '', ground),
  }
}

/** As bytes; a lone surrogate becomes what a sloppy client sends. */
function encoded(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

const inPath = (value: unknown) => String(value).replace(/[^A-Za-z0-9._-]+/gu, encoded)

export function wireOf(random: Random, { operation, method, params, query, headers, body, raw }: Request): Wire {
  const filled = operation.path.replace(/\{(\w+)\}/g, (_, name) => inPath(params[name]))
  const odd = random() < 0.05 ? pick(random, ODD_PATHS)(filled) : filled
  const asked = query.map(([name, value]) => `${inPath(name)}=${inPath(value)}`).join('&')
  const target = asked === '' ? odd : `${odd}${odd.includes('?') ? '&' : '?'}${asked}`
  const lines = operation.media === 'application/x-ndjson' ? `${JSON.stringify(body)}\n` : JSON.stringify(body)
  const bytes = raw === undefined ? body !== undefined && Buffer.from(lines) : Buffer.from(raw)
  const given = {
    host: 'memoryd',
    connection: 'close',
    ...(bytes && { 'content-length': String(bytes.length) }),
    ...headers,
  }
  const head = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`)
  return { head: `${method} ${target} HTTP/1.1\r\n${head.join('')}\r\n`, body: bytes || undefined }
}

const INSIDES = /node:internal|\bat (?:async )?[\w.<>]+ \(|\.ts:\d+|better-sqlite3|ZodError/

/** What is wrong with an answer; nothing where it is as it should be. */
function problemOf(answered: Answered, isHead: boolean): string | undefined {
  if (typeof answered === 'string') return answered
  const { status, headers, body } = answered
  if (status < 400 || (isHead && status < 500)) return undefined
  let error: { code?: string; message?: string } | undefined
  try {
    error = (JSON.parse(body) as { error: typeof error }).error
  } catch {
    return `no JSON with ${status}: ${body.slice(0, 200)}`
  }
  if (!/^content-type: application\/json/im.test(headers)) return `${status} is not said to be JSON`
  if (!error?.message || httpStatus[error.code as keyof typeof httpStatus] !== status) return `${status} as ${body}`
  if (status >= 500) return body
  return INSIDES.test(body) ? `it tells its insides: ${body.slice(0, 300)}` : undefined
}

export type Fuzzed = { tried: number; refused: number; problems: string[] }

const AT_ONCE = 12

/** The same requests for the same seed, so that one that went wrong can be sent again. */
export async function fuzz(home: Home, operations: readonly Operation[], ground: Ground, count: number, seed: number) {
  const fuzzed: Fuzzed = { tried: 0, refused: 0, problems: [] }
  const one = async (n: number) => {
    const random = randomOf(seed + n)
    const operation = operations[n % operations.length] as Operation
    const request = validRequest(random, operation, ground)
    for (let times = 1 + below(random, 2); times > 0; times--) pick(random, spoils)(random, request, ground)
    const wire = wireOf(random, request)
    const answered = await send(home.places.socketPath, wire)
    fuzzed.tried++
    if (typeof answered !== 'string' && answered.status >= 400) fuzzed.refused++
    const problem = problemOf(answered, request.method === 'HEAD')
    if (problem)
      fuzzed.problems.push(
        `${n}: ${operation.name}: ${problem}\n  ${wire.head.slice(0, 600)}${wire.body?.subarray(0, 600) ?? ''}`,
      )
  }
  let next = 0
  const worker = async () => {
    while (next < count) await one(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return fuzzed
}

export function randomOf(seed: number): Random {
  let state = Math.imul(seed + 1, 2_654_435_761) | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** What the daemon logged as an error: requests that failed, above all. */
export function errorsIn({ places }: Home): string[] {
  return readFileSync(places.logFile, 'utf8')
    .split('\n')
    .filter((line) => /"level":(?:50|60)/.test(line))
}

export function personAt(home: Home): StrictClient {
  return connect({ socket: home.places.socketPath, strict: true, actor: 'user', deadlineMs: 60_000 })
}
