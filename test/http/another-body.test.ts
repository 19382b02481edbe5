import { connect as dial } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createServer, type Handlers } from '../../daemon/http/server.ts'
import type { Log } from '../../daemon/platform/log.ts'
import { MemoryError } from '../../schema/errors.ts'
import { makeHome } from '../support/home.ts'
import { type RawAnswer, rawRequest } from '../support/raw.ts'

/** A real server whose recall answers as a test asks. */
async function serve(recall: Handlers['recall']) {
  const path = join(makeHome().dir, 's')
  const logged: unknown[] = []
  const log = { error: (...given: unknown[]) => logged.push(given), info() {}, warn() {}, debug() {} } as unknown as Log
  const server = await createServer({
    handlers: { recall } as Handlers,
    log,
    onDiskTrouble: () => {},
    onAsked: () => {},
  })
  await server.listen({ path })
  onTestFinished(() => server.close(AbortSignal.abort()))
  const ask = async (body: string, more: Record<string, string> = {}) => {
    const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...more }
    const answer = await rawRequest(path, { method: 'POST', path: '/v1/recall', headers, body })
    return { ...answer, body: JSON.parse(answer.body) }
  }
  return { ask, path, logged }
}

const question = (query: string) => JSON.stringify({ cwd: '/x', query })
const answerOf = (text: string) => ({ mode: 'local' as const, memories: [], text, bytes: 0, sessionBytes: 0 })
const form = ({ headers: { date: _date, 'content-length': _length, ...rest }, status }: RawAnswer) => [status, rest]

describe('a request like one before, with another body', () => {
  it('is answered for what its own body says, in the same form', async () => {
    const { ask } = await serve(async ({ body, caller }) => answerOf(`${body.query} ${body.mode} ${caller.actor}`))
    const first = await ask(question('one'))
    const others = [await ask(question('another ✓')), await ask(question('a third '.repeat(5_000)))]
    expect(others.map(({ body }) => body.text)).toEqual([
      'another ✓ auto agent:api',
      `${'a third '.repeat(5_000)} auto agent:api`,
    ])
    expect(others.map(form)).toEqual([form(first), form(first)])
    expect((await ask(question('y'), { 'x-memoryd-actor': 'user' })).body.text).toBe('y auto user')
  })

  it.each([
    ['{"cwd":"/x","query":', 'no JSON'],
    ['{"cwd":"/x"}', 'something missing'],
    ['{"cwd":"/x","query":"y","__proto__":{}}', 'a key that would change what an object is'],
    ['{"cwd":"/x","query":"y","more":1}', 'a key nobody reads'],
    ['[]', 'a list'],
  ])('is refused in the words in which the first one would be: %s (%s)', async (body) => {
    let ran = 0
    const { ask } = await serve(async () => answerOf(String(++ran)))
    const before = await ask(body)
    await ask(question('one'))
    const after = await ask(body)
    expect(before.status).toBe(400)
    expect([form(after), after.body]).toEqual([form(before), before.body])
    expect(ran).toBe(1)
    expect((await ask(question('two'))).body.text).toBe('2')
  })

  it('fails as the first one would, and has run once then', async () => {
    let ran = 0
    let error: Error | undefined
    const { ask, logged } = await serve(async () => {
      ran++
      if (error) throw error
      return answerOf('')
    })
    await ask(question('one'))
    error = new MemoryError('REFUSED', 'no place for memories', { hint: 'elsewhere', reason: 'permission' })
    const { status, body, headers } = await ask(question('two'))
    expect(body.error).toEqual({
      code: 'REFUSED',
      message: 'no place for memories',
      hint: 'elsewhere',
      reason: 'permission',
    })
    expect([status, headers['content-type'], headers['x-memoryd-protocol']]).toEqual([
      422,
      'application/json; charset=utf-8',
      '1',
    ])
    error = new Error('boom')
    expect(await ask(question('three'))).toMatchObject({ status: 500, body: { error: { code: 'INTERNAL' } } })
    expect(logged).toMatchObject([[{ route: '/v1/recall', err: { message: 'boom' } }, 'request failed']])
    expect(ran).toBe(3)
  })

  it('may come in pieces, and with others right behind it', async () => {
    const { ask, path } = await serve(async ({ body }) => answerOf(`<${body.query}>`))
    // As the pieces below are sent: nothing but these headers.
    const bytes = (query: string) => {
      const body = question(query)
      const head = `POST /v1/recall HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
      return `${head}${body}`
    }
    await ask(question('elsewhere'))
    const said = await new Promise<string>((resolve) => {
      let text = ''
      const socket = dial(path, () => socket.write(bytes('one')))
      const [begun, rest] = [bytes('two').slice(0, -9), bytes('two').slice(-9)]
      socket.on('data', (chunk) => {
        const before = text
        text += chunk
        if (text.includes('<one>') && !before.includes('<one>')) socket.write(begun, () => socket.write(rest))
        if (text.includes('<two>') && !before.includes('<two>')) socket.write(bytes('three') + bytes('four'))
        if (text.includes('<four>')) socket.end()
      })
      socket.on('close', () => resolve(text))
    })
    expect(said.match(/<\w+>/g)).toEqual(['<one>', '<two>', '<three>', '<four>'])
  })
})
