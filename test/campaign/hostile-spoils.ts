/** What can be wrong with a request: a field, what is missing or too much, its body, headers, method or path. */
import {
  below,
  type Ground,
  hostilePath,
  hostileText,
  hostileValue,
  pick,
  type Random,
  type Schema,
} from './hostile-values.ts'

export type Field = { name: string; schema: Schema; required: boolean }
export type Operation = {
  name: string
  method: string
  path: string
  params: Field[]
  query: Field[]
  media: string | undefined
  body: Schema | undefined
  statuses: number[]
}

export type Request = {
  operation: Operation
  method: string
  params: Record<string, unknown>
  query: [string, string][]
  headers: Record<string, string>
  body: unknown
  raw?: string | Buffer
}

export type Spoil = (random: Random, request: Request, ground: Ground) => void

/** The places of all that is in a value, so that one can be replaced. */
function placesIn(value: unknown): { holder: Record<string, unknown>; key: string }[] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Record<string, unknown>
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key])])
}

const spoilField: Spoil = (random, request, ground) => {
  const { params, query, body } = request
  const value = () =>
    random() < 0.3 ? pick(random, [hostilePath, hostileText])(random, ground) : hostileValue(random, ground)
  const textual = () => (random() < 0.6 ? hostilePath(random, ground) : hostileText(random, ground))
  const inBody = placesIn(body)
  const all = Object.keys(params).length + query.length + inBody.length
  const at = below(random, all)
  const names = Object.keys(params)
  const [name, pair] = [names[at], query[at - names.length]]
  const place = inBody[at - names.length - query.length]
  if (name !== undefined) params[name] = textual()
  else if (pair) pair[1] = textual()
  else if (place) place.holder[place.key] = value()
  else request.body = value()
}

const missField: Spoil = (random, { query, body }) => {
  const inBody = placesIn(body)
  if (inBody.length === 0) return void query.splice(below(random, query.length), 1)
  const { holder, key } = pick(random, inBody)
  if (Array.isArray(holder)) holder.splice(Number(key), 1)
  else delete holder[key]
}

const ODD_NAMES = ['__proto__', 'constructor', 'toString', 'x', '', 'a'.repeat(5_000), 'cwd[]', 'cwd.x', '\0', '💣']

const addField: Spoil = (random, { query, body }, ground) => {
  const name = pick(random, ODD_NAMES)
  const objects = [{ holder: body, key: '' }, ...placesIn(body)].filter(({ holder }) => typeof holder === 'object')
  const { holder } = pick(random, objects) ?? {}
  if (random() < 0.5 || typeof holder !== 'object' || holder === null) query.push([name, hostilePath(random, ground)])
  else
    Object.defineProperty(holder, name, {
      value: hostileValue(random, ground),
      enumerable: true,
      configurable: true,
      writable: true,
    })
}

const doubleQuery: Spoil = (random, { query }, ground) => {
  const [name] = query.length > 0 ? pick(random, query) : ['cwd']
  query.push([name as string, pick(random, [ground.cwd, '', hostilePath(random, ground)])])
}

const spoilBody: Spoil = (random, request) => {
  const text = JSON.stringify(request.body ?? { cwd: '/x' })
  request.headers['content-type'] ??= 'application/json'
  request.raw = pick<() => string | Buffer>(random, [
    () => '',
    () => ' ',
    () => text.slice(0, -1),
    () => `${text}${text}`,
    () => `\ufeff${text}`,
    () => `// x\n${text}`,
    () => 'null',
    () => '[]',
    () => '"x"',
    () => '1e999',
    () => '{"__proto__":{"a":1}}',
    () => `{"cwd":"/a",${text.slice(1)}`,
    () => '['.repeat(100_000) + ']'.repeat(100_000),
    () => `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
    () => Buffer.from(text, 'utf16le'),
    () => Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from([0xff, 0xfe, 0xc3, 0x28]), Buffer.from('}')]),
    () => text.replace(/"[^"]*"/, '"\\ud800\\u0000"'),
    () => 'cwd=/x&text=y',
    () => '\0'.repeat(1_000),
    () => 'x'.repeat(1_200_000),
  ])()
}

const spoilHeaders: Spoil = (random, { headers }, ground) => {
  const [name, value] = pick<[string, string]>(random, [
    ['content-type', 'text/plain'],
    ['content-type', 'application/json; charset=utf-16'],
    ['content-type', 'multipart/form-data; boundary=x'],
    ['content-type', 'application/json;;;'],
    ['content-type', 'application/x-ndjson'],
    ['content-type', '\xff'],
    ['content-encoding', 'gzip'],
    ['accept', 'image/png'],
    ['accept-encoding', 'gzip'],
    ['expect', '100-continue'],
    ['expect', 'x'],
    ['upgrade', 'websocket'],
    ['connection', 'upgrade'],
    ['range', 'bytes=0-1'],
    ['if-none-match', '*'],
    ['content-length', '-1'],
    ['content-length', '99999999999'],
    ['transfer-encoding', 'x'],
    ['host', 'evil.example'],
    ['origin', 'https://evil.example'],
    [
      'x-memoryd-actor',
      pick(random, ['root', 'agent:', `agent:${'a'.repeat(5_000)}`, 'agent:\x01', 'user ', 'agent:../x']),
    ],
    ['x-memoryd-protocol', pick(random, ['0', '2', 'x', ''])],
    [
      'x-memoryd-env',
      pick(random, ['{', '[]', '{"A":1}', '{"__proto__":"x"}', 'null', `{"A":"${'a'.repeat(60_000)}"}`]),
    ],
    ['x-memoryd-env', JSON.stringify({ CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: `${ground.cwd}/../outside` })],
    ['x-long', 'a'.repeat(200_000)],
  ])
  headers[name] = value
}

const spoilMethod: Spoil = (random, request) => {
  request.method = pick(random, [
    'PATCH',
    'OPTIONS',
    'HEAD',
    'TRACE',
    'PROPFIND',
    'get',
    'GET',
    'POST',
    'PUT',
    'DELETE',
    'CONNECT',
    'X',
  ])
}

export const ODD_PATHS = [
  (path: string) => `${path}/`,
  (path: string) => path.replace('/v1', '/v1/..//v1'),
  (path: string) => path.toUpperCase(),
  (path: string) => `/${path}`,
  (path: string) => `${path}?%`,
  (path: string) => `${path}?cwd=%ff%fe&%00=%`,
  (path: string) => `${path}%00`,
  (path: string) => `${path}%`,
  (path: string) => `${path}/%2e%2e/%2e%2e`,
  (path: string) => `${path};a=b`,
  (path: string) => `${path}#a?b`,
  (path: string) => `http://memoryd${path}`,
  (path: string) => `${path}${'/a'.repeat(3_000)}`,
  (path: string) => `${path}?${'a&'.repeat(3_000)}`,
  () => '*',
  () => '/',
]

export const spoils: readonly Spoil[] = [
  spoilField,
  spoilField,
  spoilField,
  spoilField,
  missField,
  addField,
  doubleQuery,
  spoilBody,
  spoilHeaders,
  spoilMethod,
]
