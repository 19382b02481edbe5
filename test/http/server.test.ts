import { existsSync, readFileSync } from 'node:fs'
import { connect as dial } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { routeFile } from '../../daemon/http/request.ts'
import { createServer } from '../../daemon/http/server.ts'
import { withUndo } from '../../daemon/recall/given.ts'
import type { Handlers } from '../../schema/contract.ts'
import { MemoryError } from '../../schema/errors.ts'
import { routes } from '../../schema/routes.ts'
import { testCore } from '../support/core.ts'
import { rawRequest } from '../support/raw.ts'

/** A real server on a real socket, with handlers that misbehave as a test asks. */
async function serve(handlers: Partial<Handlers>) {
  const { core, places, time } = await testCore()
  const path = places.socketPath
  const server = createServer(core)
  server.add(routeFile(async () => routes, handlers as Handlers))
  await server.listen()
  onTestFinished(() => server.stop(AbortSignal.abort()))
  const ask = async (request: Parameters<typeof rawRequest>[1]) => {
    const { status, body, headers } = await rawRequest(path, request)
    return { status, headers, body: JSON.parse(body) }
  }
  const logged = () =>
    (existsSync(places.logFile) ? readFileSync(places.logFile, 'utf8') : '')
      .split('\n')
      .filter((line) => line.includes('"level":50'))
      .map((line) => JSON.parse(line))
  return { path, ask, logged, server, core, time }
}

/** Everything the server says to raw bytes, until it closes. */
function converse(path: string, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = dial(path, () => socket.write(bytes))
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('close', () => resolve(text))
  })
}

function resolvers() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

const json = { 'content-type': 'application/json' }

describe('the server', () => {
  it('strips answers to their schema', async () => {
    const { ask } = await serve({ health: () => ({ ok: true, version: '1', pid: 2, secret: 'x' }) as never })
    expect(await ask({ path: '/v1/health' })).toMatchObject({ status: 200, body: { ok: true, version: '1', pid: 2 } })
    expect((await ask({ path: '/v1/health' })).body).not.toHaveProperty('secret')
  })

  it.each(['', 'memoryd', 'localhost', 'memoryd:80', 'LocalHost:8123'])('is known as the host %j', async (host) => {
    const { path } = await serve({ health: () => ({ ok: true, version: '1', pid: 2 }) })
    const named = await converse(path, `GET /v1/health HTTP/1.1\r\nHost: ${host}\r\nconnection: close\r\n\r\n`)
    expect(named).toContain('HTTP/1.1 200')
    const unnamed = await converse(path, 'GET /v1/health HTTP/1.1\r\nconnection: close\r\n\r\n')
    expect(unnamed).toContain('HTTP/1.1 200')
  })

  // A page in a browser reaches a socket that ssh or docker forwards.
  it.each([
    'Host: evil.example',
    'Host: memoryd.evil.example',
    'Host: 127.0.0.1:8123',
    'Host: localhost\r\nOrigin: http://localhost:8123',
    'Origin: null',
  ])('refuses what a page could send to a forwarded socket: %j', async (header) => {
    let asked = 0
    const { path } = await serve({ health: () => ({ ok: true, version: '1', pid: ++asked }) })
    for (const route of ['/v1/health', '/v1/events', '/v1/nothing']) {
      const answer = await converse(path, `GET ${route} HTTP/1.1\r\n${header}\r\nconnection: close\r\n\r\n`)
      expect(answer).toContain('HTTP/1.1 400')
      expect(answer).toContain('"hint"')
    }
    expect(asked).toBe(0)
  })

  it.each(['plain letters. ', 'žluťoučký kůň, 周五不发布. '])('sends a long answer whole: %s', async (words) => {
    const answer = { path: '/m', content: words.repeat(1_000), lines: 1, bytes: 1, truncated: false }
    const { ask } = await serve({ memoryIndex: async () => answer })
    const { headers, body } = await ask({ path: '/v1/memory/index?cwd=/x' })
    expect(body).toEqual(answer)
    expect(headers['content-length']).toBe(String(Buffer.byteLength(JSON.stringify(answer))))
  })

  describe('an answer that leaves something behind', () => {
    const nothing = { mode: 'local' as const, memories: [], text: '', bytes: 0, sessionBytes: 0 }
    const body = JSON.stringify({ cwd: '/x', query: 'y' })
    const request = `POST /v1/recall HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

    it.each(['', 'x'.repeat(200_000)])('undoes it when the caller hangs up before: %#', async (text) => {
      const undone = resolvers()
      const { path } = await serve({
        recall: async (call) => {
          const gone = new Promise((resolve) => call.signal.addEventListener('abort', resolve))
          socket.destroy()
          await gone
          return withUndo({ ...nothing, text }, undone.resolve)
        },
      })
      const socket = dial(path, () => socket.write(request))
      await expect(undone.promise).resolves.toBeUndefined()
    })

    it('leaves it when the caller gets it', async () => {
      let undone = 0
      const { ask, server } = await serve({ recall: async () => withUndo({ ...nothing }, () => undone++) })
      expect(await ask({ path: '/v1/recall', method: 'POST', headers: json, body })).toMatchObject({ status: 200 })
      await server.stop(new AbortController().signal)
      expect(undone).toBe(0)
    })

    it('undoes it for a text, too', async () => {
      const undone = resolvers()
      const { path } = await serve({
        hook: async (call) => {
          const gone = new Promise((resolve) => call.signal.addEventListener('abort', resolve))
          socket.destroy()
          await gone
          return { text: 'x', onLost: undone.resolve }
        },
      })
      const hook = request.replace('/v1/recall', '/v1/hooks/codex')
      const socket = dial(path, () => socket.write(hook))
      await expect(undone.promise).resolves.toBeUndefined()
    })
  })

  it('answers a bug with a reference to the log and nothing of its insides', async () => {
    const { ask, logged } = await serve({
      health: () => {
        throw new Error('the insides')
      },
    })
    const { status, body } = await ask({ path: '/v1/health' })
    expect({ status, code: body.error.code }).toEqual({ status: 500, code: 'INTERNAL' })
    expect(JSON.stringify(body)).not.toContain('insides')
    const ref = /ref (\S+)$/.exec(body.error.message)?.[1]
    expect(logged()).toEqual([expect.objectContaining({ ref, route: '/v1/health', msg: 'request failed' })])
  })

  it('treats an answer that does not fit its schema as a bug', async () => {
    const { ask } = await serve({ health: () => ({ ok: true }) as never })
    expect((await ask({ path: '/v1/health' })).body.error.code).toBe('INTERNAL')
  })

  it('lets a route answer only with the error codes it declares', async () => {
    const refuse = () => {
      throw new MemoryError('CONFLICT', 'no', { hint: 'do' })
    }
    const { ask } = await serve({ pause: refuse, resume: refuse })
    const post = (path: string) => ask({ method: 'POST', path, headers: json, body: '{}' })
    expect(await post('/v1/resume')).toMatchObject({
      status: 409,
      body: { error: { code: 'CONFLICT', message: 'no', hint: 'do' } },
    })
    expect(await post('/v1/pause')).toMatchObject({ status: 500, body: { error: { code: 'INTERNAL' } } })
  })

  it('says that it is degraded when the disk is the problem', async () => {
    const { ask, logged, core } = await serve({
      pause: () => {
        throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
      },
    })
    const answer = await ask({ method: 'POST', path: '/v1/pause', headers: json, body: '{}' })
    expect(answer).toMatchObject({ status: 503, body: { error: { code: 'DEGRADED' } } })
    expect(logged()).toEqual([])
    expect(core.health.list()).toMatchObject([{ code: 'disk', message: expect.stringContaining('disk is full') }])
  })

  it.each([
    ['unknown fields', { body: '{"cwd":"/x","force":true}' }, 400, /body.*force/],
    ['a field of the wrong type', { body: '{"cwd":1}' }, 400, /body\.cwd/],
    ['a relative cwd', { body: '{"cwd":"x"}' }, 400, /body\.cwd/],
    ['a body that is no object', { body: '[]' }, 400, /body/],
    ['broken JSON', { body: '{"cwd":' }, 400, /JSON/],
    ['an attempt at the prototype', { body: '{"__proto__":{"x":1}}' }, 400, /./],
    [
      'a form instead of JSON',
      { body: 'cwd=/x', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      400,
      /JSON/,
    ],
    ['a body over 1 MB', { body: JSON.stringify({ cwd: `/${'x'.repeat(1_100_000)}` }) }, 413, /larger/],
    ['another protocol version', { body: '{}', headers: { ...json, 'x-memoryd-protocol': '99' } }, 426, /protocol 99/],
    ['a query that no route reads', { body: '{}', path: '/v1/pause?cwd=/x' }, 400, /query.*cwd/],
    ['an unknown route', { body: '{}', path: '/v1/nothing' }, 404, /POST \/v1\/nothing/],
  ])('refuses %s', async (_what, request, status, message) => {
    let ran = false
    const { ask } = await serve({
      pause: () => {
        ran = true
        return { all: true, projects: [] }
      },
    })
    const answer = await ask({ method: 'POST', path: '/v1/pause', headers: json, ...request })
    expect(answer.status).toBe(status)
    expect(answer.body.error.message).toMatch(message)
    expect(answer.headers['x-memoryd-protocol']).toBe('1')
    expect(ran).toBe(false)
  })

  it('has no HEAD routes, which would open streams without a reader', async () => {
    const { path } = await serve({ health: () => ({ ok: true, version: '1', pid: 1 }) })
    expect((await rawRequest(path, { method: 'HEAD', path: '/v1/health' })).status).toBe(404)
    expect((await rawRequest(path, { method: 'HEAD', path: '/v1/events' })).status).toBe(404)
  })

  it('tells a handler when its caller has gone', async () => {
    let tell = () => {}
    const gone = new Promise<void>((resolve) => {
      tell = resolve
    })
    let begun = () => {}
    const running = new Promise<void>((resolve) => {
      begun = resolve
    })
    const { path } = await serve({
      health: ({ signal }) => {
        signal.addEventListener('abort', () => tell())
        begun()
        return new Promise(() => {})
      },
    })
    const caller = dial(path, () => caller.write('GET /v1/health HTTP/1.1\r\nhost: memoryd\r\n\r\n'))
    await running
    caller.destroy()
    await expect(gone).resolves.toBeUndefined()
  })

  it('does not take it for a fault that a request was broken off because its caller had gone', async () => {
    const begun = resolvers()
    const over = resolvers()
    const { path, logged } = await serve({
      health: async ({ signal }) => {
        begun.resolve()
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        setImmediate(over.resolve)
        return signal.throwIfAborted() as never
      },
    })
    const caller = dial(path, () => caller.write('GET /v1/health HTTP/1.1\r\nhost: memoryd\r\n\r\n'))
    await begun.promise
    caller.destroy()
    await over.promise
    expect(logged()).toEqual([])
  })

  it('takes a POST without a body as an empty one', async () => {
    const { ask } = await serve({ pause: ({ body }) => ({ all: body.cwd === undefined, projects: [] }) })
    expect(await ask({ method: 'POST', path: '/v1/pause' })).toMatchObject({ status: 200, body: { all: true } })
  })

  it('answers what is no HTTP in the one error form and closes', async () => {
    const { path } = await serve({})
    const said = await converse(path, '\u0000\u0001 nonsense\r\n\r\n')
    expect(said).toContain('HTTP/1.1 400')
    expect(said).toContain('"code":"BAD_REQUEST"')
  })

  it.each([
    ['a URL that is no text', 'GET /v1/%zz HTTP/1.1\r\nhost: memoryd\r\nconnection: close\r\n\r\n'],
    ['an expectation', 'GET /v1/health HTTP/1.1\r\nhost: memoryd\r\nexpect: tea\r\nconnection: close\r\n\r\n'],
    ['a tunnel', 'CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n'],
    ['a body where none belongs', 'GET /v1/health HTTP/1.1\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}'],
    [
      'null as a body',
      'POST /v1/resume HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 4\r\nconnection: close\r\n\r\nnull',
    ],
  ])('refuses %s in the one error form', async (_what, request) => {
    const { path } = await serve({
      health: () => ({ ok: true, version: '1', pid: 1 }),
      resume: () => ({ all: false, projects: [] }),
    })
    const said = await converse(path, request)
    expect(said).toMatch(/^HTTP\/1\.1 400/)
    expect(said).toMatch(/x-memoryd-protocol: 1/i)
    expect(said).toContain('"code":"BAD_REQUEST"')
  })

  it('asks for no host', async () => {
    const { path } = await serve({ health: () => ({ ok: true, version: '1', pid: 1 }) })
    expect(await converse(path, 'GET /v1/health HTTP/1.1\r\nconnection: close\r\n\r\n')).toContain('"ok":true')
  })

  it('closes at once though connections are open that never asked for anything', async () => {
    const { path, server } = await serve({})
    const silent = dial(path)
    const half = dial(path, () => half.write('GET /v1/hea'))
    const ended = Promise.all([silent, half].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
    for (const socket of [silent, half]) socket.on('error', () => {})
    await Promise.all([silent, half].map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
    await rawRequest(path, { path: '/v1/nothing' })
    await server.stop(new AbortController().signal)
    expect(await ended).toHaveLength(2)
  })

  it('closes though callers stopped in the middle of a request, one of them after another request', async () => {
    const { path, ask, server, time } = await serve({
      health: () => ({ ok: true, version: '1', pid: 1 }),
      resume: () => ({ all: false, projects: [] }),
    })
    const half = 'POST /v1/resume HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{'
    const whole = 'GET /v1/health HTTP/1.1\r\n\r\n'
    const idle = dial(path, () => idle.write(`${whole}POST /v1/rem`))
    const heard = new Promise((resolve) => idle.once('data', resolve).on('error', () => {}))
    const ended = [half, `${whole}${half}`].map((bytes) => converse(path, bytes))
    await heard
    await ask({ path: '/v1/nothing' })
    const closed = server.stop(new AbortController().signal)
    for (let seconds = 0; seconds < 3; seconds++) time.pass(1_000)
    await closed
    expect(await Promise.all(ended)).toEqual(['', expect.stringContaining('"ok":true')])
  })

  it('answers what was sent whole before it closes, with half a request behind it', async () => {
    let finish = () => {}
    const begun = new Promise<void>((resolve) => {
      finish = resolve
    })
    const gate = { open: () => {} }
    const { path, server, time } = await serve({
      health: async () => {
        finish()
        await new Promise<void>((resolve) => {
          gate.open = resolve
        })
        return { ok: true, version: '1', pid: 1 }
      },
    })
    const half = 'POST /v1/resume HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{'
    const answered = converse(path, `GET /v1/health HTTP/1.1\r\n\r\n${half}`)
    await begun
    const closed = server.stop(new AbortController().signal)
    for (let seconds = 0; seconds < 3; seconds++) time.pass(1_000)
    gate.open()
    const over = closed.then(() => true)
    // The half is given up a second after the answer.
    while (!(await Promise.race([over, turn(undefined)]))) time.pass(1_000)
    expect(await answered).toContain('"ok":true')
  })

  it('lets a running request finish when it closes, and cuts it off only when told to', async () => {
    let finish = () => {}
    let begun = () => {}
    const running = new Promise<void>((resolve) => {
      begun = resolve
    })
    const { ask, server } = await serve({
      health: async () => {
        begun()
        await new Promise<void>((resolve) => {
          finish = resolve
        })
        return { ok: true, version: '1', pid: 1 }
      },
    })
    const answer = ask({ path: '/v1/health' })
    await running
    const closed = server.stop(new AbortController().signal)
    finish()
    expect((await answer).status).toBe(200)
    await closed

    const second = await serve({ health: () => new Promise(() => {}) })
    const stuck = second.ask({ path: '/v1/health' })
    const cutOff = expect(stuck).rejects.toThrow('socket hang up')
    await second.ask({ path: '/v1/nothing' })
    await second.server.stop(AbortSignal.abort())
    await cutOff
  })
})
