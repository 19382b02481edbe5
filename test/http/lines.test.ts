import { existsSync, readFileSync } from 'node:fs'
import { connect as dial } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../client/index.ts'
import { routeFile } from '../../daemon/http/request.ts'
import { createServer } from '../../daemon/http/server.ts'
import type { Handlers } from '../../schema/contract.ts'
import { MemoryError } from '../../schema/errors.ts'
import { routes } from '../../schema/routes.ts'
import { testCore } from '../support/core.ts'
import { makeHome } from '../support/home.ts'
import { rawRequest } from '../support/raw.ts'

async function serve(handlers: Partial<Handlers>) {
  const { core, places } = await testCore()
  const path = places.socketPath
  const server = createServer(core)
  server.add(routeFile(async () => routes, handlers as Handlers))
  await server.listen()
  onTestFinished(() => server.stop(AbortSignal.abort()))
  const client = connect({ socket: path, strict: true })
  onTestFinished(client.close)
  const logged = () =>
    (existsSync(places.logFile) ? readFileSync(places.logFile, 'utf8') : '')
      .split('\n')
      .filter((line) => line.includes('"level":50'))
  return { path, client, logged }
}

const cwd = '/x'
const PIECE = `${'x'.repeat(65_535)}\n`
const imported = { created: [], skipped: [], renamed: [], refused: [], changes: 0, tombstones: 0 }

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += Buffer.from(piece).toString()
  return text
}

describe('a file that is handed out', () => {
  it('comes whole and in order', async () => {
    const { client, path } = await serve({
      exportMemories: async function* () {
        for (let n = 0; n < 1_000; n++) yield `{"n":${n}}\n`
      } as never,
    })
    expect(await textOf(client.exportMemories({ cwd }))).toBe(
      Array.from({ length: 1_000 }, (_, n) => `{"n":${n}}\n`).join(''),
    )
    const { headers } = await rawRequest(path, { path: '/v1/export?cwd=/x' })
    expect(headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
  })

  it('waits for its reader, and ends when the reader goes', async () => {
    let made = 0
    let ended = () => {}
    const over = new Promise<void>((resolve) => {
      ended = resolve
    })
    const { path } = await serve({
      exportMemories: async function* () {
        try {
          for (;;) {
            made += 1
            yield PIECE
          }
        } finally {
          ended()
        }
      } as never,
    })
    const reader = dial(path, () => reader.write('GET /v1/export?cwd=/x HTTP/1.1\r\n\r\n'))
    reader.pause()
    // Until two looks see the same: what the kernel and the streams hold is full.
    for (let before = -1; before !== made || made === 0; ) {
      before = made
      for (let n = 0; n < 200; n++) await turn()
    }
    expect(made).toBeLessThan(100)
    reader.destroy()
    await over
  })

  it('is refused in the one error form when that is known before the first line', async () => {
    const { client } = await serve({
      exportMemories: () => {
        throw new MemoryError('REFUSED', 'no', { reason: 'path' })
      },
    })
    await expect(textOf(client.exportMemories({ cwd }))).rejects.toMatchObject({ code: 'REFUSED', reason: 'path' })
  })

  it('is cut off for its reader when it breaks half way, and the log has why', async () => {
    const { client, logged } = await serve({
      exportMemories: async function* () {
        yield PIECE
        yield PIECE
        throw new Error('broken')
      } as never,
    })
    await expect(textOf(client.exportMemories({ cwd }))).rejects.toMatchObject({ code: 'UNREACHABLE', reason: 'cut' })
    expect(logged().map((line) => JSON.parse(line))).toMatchObject([
      { route: '/v1/export', msg: 'an answer broke off half way' },
    ])
  })

  it('is nothing to a lenient client without a daemon', async () => {
    const client = connect({ socket: join(makeHome().dir, 'none') })
    expect(await textOf(client.exportMemories({ cwd }))).toBe('')
    expect(client.available).toBe(false)
  })
})

describe('a file that is uploaded', () => {
  const count = async ({ lines }: { lines: AsyncIterable<Uint8Array> }) => {
    let bytes = 0
    for await (const piece of lines) bytes += piece.length
    return { ...imported, changes: bytes }
  }
  async function* pieces(number: number, onSent: () => void = () => {}) {
    for (let n = 0; n < number; n++) {
      yield Buffer.from(PIECE)
      onSent()
    }
  }

  it('arrives whole, however large', async () => {
    const { client } = await serve({ importMemories: count })
    expect(await client.importMemories({ cwd, lines: pieces(300) })).toMatchObject({ changes: 300 * PIECE.length })
  })

  it('gets its answer though it was refused before its end, and sends no more then', async () => {
    let sent = 0
    const { client } = await serve({
      importMemories: async ({ lines }) => {
        for await (const _piece of lines) throw new MemoryError('REFUSED', 'enough', { reason: 'shape' })
        return imported
      },
      health: () => ({ ok: true, version: '1', pid: 1 }),
    })
    const lines = pieces(100_000, () => {
      sent += 1
    })
    await expect(client.importMemories({ cwd, lines })).rejects.toMatchObject({ code: 'REFUSED' })
    expect(sent).toBeLessThan(50_000)
    expect((await client.health()).ok).toBe(true)
  })

  it('is read to its end though it is not wanted: some callers listen only when they have said everything', async () => {
    const { path } = await serve({
      importMemories: async ({ lines }) => {
        for await (const _piece of lines) throw new MemoryError('REFUSED', 'enough', { reason: 'shape' })
        return imported
      },
    })
    const bytes = 50_000_000
    const caller = dial(path)
    caller.write(
      `POST /v1/memories/import?cwd=/x HTTP/1.1\r\ncontent-type: application/x-ndjson\r\ncontent-length: ${bytes}\r\n\r\n`,
    )
    await new Promise((resolve) => caller.write(Buffer.alloc(bytes), resolve))
    const answer = await new Promise((resolve) => caller.once('data', (chunk) => resolve(String(chunk))))
    expect(answer).toContain('HTTP/1.1 422')
    caller.destroy()
  })

  it('gets its answer though the handler never looked at it', async () => {
    const { client } = await serve({
      importMemories: () => {
        throw new MemoryError('REFUSED', 'no', { reason: 'permission' })
      },
    })
    await expect(client.importMemories({ cwd, lines: pieces(100) })).rejects.toMatchObject({ reason: 'permission' })
  })

  it('tells of a file that cannot be read in the words of the file', async () => {
    const { client } = await serve({ importMemories: count })
    const lines = (async function* () {
      yield Buffer.from(PIECE)
      throw new Error('the disk is on fire')
    })()
    await expect(client.importMemories({ cwd, lines })).rejects.toThrow('the disk is on fire')
  })

  it('that breaks off is a refusal to the handler, not a short file', async () => {
    let heard: unknown
    let over = () => {}
    const ended = new Promise<void>((resolve) => {
      over = resolve
    })
    const { path, logged } = await serve({
      importMemories: async (request) => {
        try {
          return await count(request)
        } catch (error) {
          heard = error
          throw error
        } finally {
          over()
        }
      },
    })
    const head =
      'POST /v1/memories/import?cwd=/x HTTP/1.1\r\ncontent-type: application/x-ndjson\r\ncontent-length: 100\r\n\r\n'
    const caller = dial(path, () => caller.write(`${head}half`, () => caller.destroy()))
    await ended
    expect(heard).toMatchObject({ code: 'BAD_REQUEST', message: 'the upload broke off' })
    expect(logged()).toEqual([])
  })

  it.each([
    ['JSON', { 'content-type': 'application/json' }, '{}', /not JSON lines/],
    ['nothing', {}, undefined, /expected a file of JSON lines/],
    ['something unnamed', {}, 'x', /not JSON lines/],
  ])('is not %s', async (_what, headers, body, words) => {
    const { path } = await serve({ importMemories: count })
    const answer = await rawRequest(path, {
      method: 'POST',
      path: '/v1/memories/import?cwd=/x',
      headers: headers as Record<string, string>,
      ...(body !== undefined && { body }),
    })
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body).error.message).toMatch(words)
  })

  it('is taken by no route that takes JSON', async () => {
    const { path } = await serve({ pause: () => ({ all: true, projects: [] }) })
    const headers = { 'content-type': 'application/x-ndjson' }
    const answer = await rawRequest(path, { method: 'POST', path: '/v1/pause', headers, body: '{}\n' })
    expect(JSON.parse(answer.body).error.message).toBe('the body is not JSON')
  })

  it('is not touched before there is a daemon to take it', async () => {
    let asked = false
    const lines = (async function* () {
      asked = true
      yield Buffer.from('x\n')
    })()
    const client = connect({ socket: join(makeHome().dir, 'none') })
    expect(await client.importMemories({ cwd, lines })).toBeUndefined()
    expect(asked).toBe(false)
  })
})
