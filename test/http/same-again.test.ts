import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createServer, type Handlers } from '../../daemon/http/server.ts'
import type { Log } from '../../daemon/platform/log.ts'
import { MemoryError } from '../../schema/errors.ts'
import { makeHome } from '../support/home.ts'
import { rawRequest } from '../support/raw.ts'

type Index = Handlers['memoryIndex']

/** A real server whose index is answered as a test asks; every answer is one that is kept. */
async function serve(memoryIndex: Index) {
  const path = join(makeHome().dir, 's')
  const log = { error() {}, info() {}, warn() {}, debug() {} } as unknown as Log
  const server = await createServer({
    handlers: { memoryIndex } as Handlers,
    log,
    onDiskTrouble: () => {},
    onAsked: () => {},
  })
  await server.listen({ path })
  onTestFinished(() => server.close(AbortSignal.abort()))
  return async (headers: Record<string, string> = {}, cwd = '/x', method = 'GET') => {
    const answer = await rawRequest(path, { method, path: `/v1/memory/index?cwd=${cwd}`, headers })
    return { ...answer, body: JSON.parse(answer.body) }
  }
}

const indexOf = (content: string) => Object.freeze({ path: '/m', content, lines: 1, bytes: 1, truncated: false })

describe('the same request again', () => {
  it('is answered with what holds now, in the same form', async () => {
    let content = 'before'
    const ask = await serve(() => indexOf(content))
    const first = await ask()
    content = 'after ✓'
    const second = await ask()
    expect([first.body, second.body]).toEqual([indexOf('before'), indexOf('after ✓')])
    const form = ({ headers: { date: _date, 'content-length': _length, ...rest }, status }: typeof first) => [
      status,
      rest,
    ]
    expect(form(second)).toEqual(form(first))
  })

  it('is another one with other headers, another query or another method', async () => {
    const ask = await serve(({ query, caller }) => indexOf(`${query.cwd} ${caller.actor}`))
    await ask()
    await ask()
    expect((await ask({ 'x-memoryd-actor': 'user' })).body.content).toBe('/x user')
    expect((await ask()).body.content).toBe('/x agent:api')
    expect((await ask({}, '/y')).body.content).toBe('/y agent:api')
    expect((await ask({ 'x-memoryd-protocol': '999' })).body.error.code).toBe('PROTOCOL')
    expect((await ask({ 'x-memoryd-actor': 'nobody' })).body.error.code).toBe('BAD_REQUEST')
    expect((await ask({ 'content-length': '0' }, '/x', 'DELETE')).body.error.code).toBe('NOT_FOUND')
  })

  it('fails as the first one would', async () => {
    let failing = false
    const ask = await serve(async () => {
      if (failing) throw new MemoryError('DEGRADED', 'the disk is full')
      return indexOf('there')
    })
    await ask()
    failing = true
    expect(await ask()).toMatchObject({ status: 503, body: { error: { code: 'DEGRADED' } } })
    failing = false
    expect((await ask()).body.content).toBe('there')
  })

  it('may get an answer that is not kept', async () => {
    let answer = indexOf('kept')
    const ask = await serve(() => answer)
    await ask()
    answer = { ...indexOf('made ✓'), secret: 'x' } as never
    expect((await ask()).body).toEqual(indexOf('made ✓'))
  })
})
