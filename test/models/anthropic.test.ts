import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { broken, overloaded, rateLimited, says } from '../support/messages-api/answers.ts'
import { signatureOf } from '../support/messages-api/rules.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'
import { ask, hello, user } from './asking.ts'

const known = { input: expect.any(Number), cacheRead: 0, cacheWrite: 0, output: expect.any(Number) }
const long = says('A sentence that goes on for a while, in several pieces. '.repeat(8))

describe('asking a model', () => {
  it('gives what was said with its usage, and sends what the API takes', async () => {
    const api = await startMessagesApi()
    const thinking = { type: 'thinking' as const, thinking: 'hm', signature: signatureOf('hm') }
    const call = { type: 'tool_use' as const, id: 't1', name: 'Read', input: { path: 'a', lines: [1, 2] } }
    api.next({ content: [thinking, { type: 'text', text: 'Let me see.' }, call], stop: 'tool_use' }, says('Done.'))
    const first = await ask(api.url)
    expect(first).toEqual({
      content: [{ type: 'opaque', wire: thinking }, { type: 'text', text: 'Let me see.' }, call],
      stop: 'tool_use',
      usage: { ...known, input: api.requests[0]?.usage?.input },
      requestId: expect.stringMatching(/^req_/),
    })
    if (!('content' in first)) throw new Error('refused')
    const result = { type: 'tool_result' as const, toolUseId: 't1', content: 'nothing there', isError: true }
    const messages = [
      ...hello.messages,
      { role: 'assistant' as const, content: first.content },
      {
        role: 'user' as const,
        content: [result, { type: 'text' as const, text: 'Go on.', cacheControl: '1h' as const }],
      },
    ]
    expect(await ask(api.url, { ...hello, messages })).toMatchObject({ stop: 'end_turn' })
    expect(JSON.parse(api.requests[1]?.bytes.toString() ?? '')).toEqual({
      model: 'claude-haiku-5-5',
      max_tokens: 1_000,
      system: [{ type: 'text', text: 'Be brief.' }],
      tools: [{ name: 'Read', description: 'Reads a file.', input_schema: { type: 'object', properties: {} } }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hello.' }] },
        { role: 'assistant', content: [thinking, { type: 'text', text: 'Let me see.' }, call] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1', content: 'nothing there', is_error: true },
            { type: 'text', text: 'Go on.', cache_control: { type: 'ephemeral', ttl: '1h' } },
          ],
        },
      ],
      stream: true,
    })
  })

  it('tells what the cache gave and took', async () => {
    const api = await startMessagesApi({ script: () => says('ok') })
    const prefix = (cacheControl: '5m' | '1h') => [{ type: 'text' as const, text: 'x'.repeat(8_000), cacheControl }]
    const usage = async (cacheControl: '5m' | '1h') => {
      const answer = await ask(api.url, { ...hello, tools: [], system: prefix(cacheControl) })
      return 'usage' in answer && answer.usage
    }
    expect(await usage('1h')).toMatchObject({ cacheRead: 0, cacheWrite: 2007, cacheWrite1h: 2007 })
    expect(await usage('1h')).toMatchObject({ cacheRead: 2007, cacheWrite: 0 })
    api.pass(3_600_000)
    expect(await usage('5m')).toEqual({ input: expect.any(Number), cacheRead: 0, cacheWrite: 2007, output: 7 })
  })

  it.each([
    ['a rate limit', rateLimited(7), { failed: 'rate-limit', retryAfterMs: 7_000, permanent: false }],
    ['too many others', overloaded, { failed: 'overloaded', permanent: false }],
    ['a broken server', broken, { failed: 'server', permanent: false }],
    [
      'a time-out of a gateway',
      { ...broken, status: 504, headers: { 'retry-after-ms': '1500' } },
      { failed: 'server', retryAfterMs: 1_500, permanent: false },
    ],
    [
      'a key that may not',
      { status: 403, type: 'permission_error', message: 'no' },
      { failed: 'auth', permanent: true },
    ],
    [
      'a bill that was not paid',
      { status: 402, type: 'billing_error', message: 'no' },
      { failed: 'auth', permanent: true },
    ],
    [
      'a model that is gone',
      { status: 404, type: 'not_found_error', message: 'no' },
      { failed: 'bad-request', permanent: true },
    ],
    [
      'too large a request',
      { status: 413, type: 'request_too_large', message: 'no' },
      { failed: 'bad-request', permanent: true },
    ],
  ])('has a name for %s, and nothing is charged', async (_what, answer, expected) => {
    const api = await startMessagesApi()
    api.next(answer)
    expect(await ask(api.url)).toEqual({
      message: expect.stringContaining(answer.message),
      requestId: expect.stringMatching(/^req_/),
      spent: 'nothing',
      status: answer.status,
      ...expected,
    })
    expect(api.requests).toHaveLength(1)
  })

  it('understands a date to try again at, and does not wait for more than a day', async () => {
    const api = await startMessagesApi()
    const at = new Date(Date.now() + 60_000).toUTCString()
    api.next({ ...broken, headers: { 'retry-after': at } }, { ...broken, headers: { 'retry-after': '9999999' } })
    const { retryAfterMs = 0 } = (await ask(api.url)) as { retryAfterMs?: number }
    expect(retryAfterMs).toBeGreaterThan(50_000)
    expect(retryAfterMs).toBeLessThanOrEqual(60_000)
    expect(await ask(api.url)).toMatchObject({ retryAfterMs: 86_400_000 })
  })

  it('has a name for a wrong key and for a request that the API refuses', async () => {
    const api = await startMessagesApi()
    expect(await ask(api.url, hello, { key: 'other' })).toMatchObject({
      failed: 'auth',
      permanent: true,
      spent: 'nothing',
    })
    const twice = { ...hello, tools: [...hello.tools, ...hello.tools] }
    expect(await ask(api.url, twice)).toMatchObject({
      failed: 'bad-request',
      message: expect.stringContaining('unique'),
    })
  })

  it('keeps the usage of an answer that was cut, ended early, or broke off with an error', async () => {
    const api = await startMessagesApi()
    const error = { type: 'overloaded_error', message: 'Overloaded' }
    api.next(
      { fault: 'cut', of: long },
      { fault: 'unfinished', of: long },
      { fault: 'error-event', of: long, ...error },
    )
    const base = { message: expect.any(String), permanent: false, usage: known, requestId: expect.any(String) }
    expect(await ask(api.url)).toEqual({ ...base, failed: 'cut' })
    expect(await ask(api.url)).toEqual({ ...base, failed: 'cut' })
    expect(await ask(api.url)).toEqual({
      ...base,
      failed: 'overloaded',
      message: 'overloaded_error in mid-answer: Overloaded',
    })
  })

  it('hangs up on a stream that stands still, and on a server that never begins', async () => {
    const api = await startMessagesApi()
    api.next({ fault: 'stall', of: long }, { fault: 'silent' })
    expect(await ask(api.url, hello, { idleMs: 150 })).toMatchObject({ failed: 'idle', usage: known, permanent: false })
    expect(await ask(api.url, hello, { idleMs: 150 })).toEqual({
      failed: 'idle',
      message: 'the answer stood still',
      permanent: false,
    })
    for (const { closed } of api.requests) expect(await closed).toMatchObject({ complete: false })
  })

  it('lets a stream live that is slow but alive', async () => {
    const api = await startMessagesApi()
    api.next({ fault: 'slow', of: long, everyMs: 30, pings: 20 })
    expect(await ask(api.url, hello, { idleMs: 300 })).toMatchObject({ stop: 'end_turn', content: long.content })
  })

  it('hangs up when it is told to, before and during an answer', async () => {
    const api = await startMessagesApi()
    api.next({ fault: 'silent' }, { fault: 'stall', of: long })
    for (const number of [1, 2]) {
      const hangUp = new AbortController()
      const asked = ask(api.url, hello, { signal: hangUp.signal })
      const seen = await api.request(number)
      hangUp.abort()
      expect(await asked).toMatchObject({ failed: 'aborted', message: 'broken off', permanent: false })
      expect(await seen.closed).toEqual({ complete: false })
    }
    const before = AbortSignal.abort()
    expect(await ask(api.url, hello, { signal: before })).toMatchObject({ failed: 'aborted', spent: 'nothing' })
    expect(api.requests).toHaveLength(2)
  })

  it.each([
    ['a page for people', 'text/html', '<html>Please sign in to the network</html>', /text\/html/],
    ['a JSON value', 'application/json', '{}', /application\/json/],
    ['events without JSON', 'text/event-stream', 'event: message_start\ndata: {"type":\n\n', /not JSON/],
    [
      'an answer without a beginning',
      'text/event-stream',
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
      /outside/,
    ],
    [
      'impossible numbers',
      'text/event-stream',
      'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":-5}}}\n\n',
      /another form/,
    ],
  ])('calls %s garbage', async (_what, contentType, body, why) => {
    const api = await startMessagesApi()
    api.next({ fault: 'raw', contentType, body })
    expect(await ask(api.url)).toMatchObject({
      failed: 'garbage',
      message: expect.stringMatching(why),
      permanent: false,
    })
  })

  it('hangs up on garbage that goes on', async () => {
    const api = await startMessagesApi()
    api.next({
      fault: 'slow',
      of: long,
      everyMs: 20,
      pings: 10_000,
      first: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    })
    expect(await ask(api.url)).toMatchObject({ failed: 'garbage' })
    expect(await api.requests[0]?.closed).toMatchObject({ complete: false })
  })

  it.each([
    ['a line', `data: ${'x'.repeat(40_000_000)}`],
    ['an answer', `event: ping\ndata: {"type":"ping","x":"${'x'.repeat(900)}"}\n\n`.repeat(40_000)],
  ])('does not take in %s without end', async (_what, body) => {
    const api = await startMessagesApi()
    api.next({ fault: 'raw', contentType: 'text/event-stream', body })
    expect(await ask(api.url)).toMatchObject({ failed: 'garbage', message: expect.stringContaining('no end') })
  })

  it('takes a stream that ends before it began for cut', async () => {
    const api = await startMessagesApi()
    api.next({ fault: 'raw', contentType: 'text/event-stream', body: ': nothing\n\n' })
    expect(await ask(api.url)).toMatchObject({ failed: 'cut' })
  })

  it('tells a server that is not there from one that hung up: only the first cannot have cost anything', async () => {
    const api = await startMessagesApi()
    api.next({ fault: 'reset' })
    const hungUp = await ask(api.url)
    expect(hungUp).toEqual({ failed: 'network', message: expect.stringMatching(/^no answer: /), permanent: false })
    const port = await freePort()
    expect(await ask(`http://127.0.0.1:${port}`)).toEqual({
      failed: 'network',
      message: expect.stringContaining('ECONNREFUSED'),
      permanent: false,
      spent: 'nothing',
    })
  })

  it('does not follow a server that points elsewhere', async () => {
    const api = await startMessagesApi()
    const elsewhere = await startMessagesApi({ script: () => says('Give me your key.') })
    api.next({
      status: 307,
      type: 'api_error',
      message: 'moved',
      headers: { location: `${elsewhere.url}/v1/messages` },
    })
    expect(await ask(api.url)).toMatchObject({ failed: 'network' })
    expect(elsewhere.requests).toEqual([])
  })

  it('gives a refusal of the model as a value, with what it cost', async () => {
    const api = await startMessagesApi()
    api.next(says('I would rather not.', { stop: 'refusal' }))
    expect(await ask(api.url)).toMatchObject({ failed: 'refused', permanent: true, usage: known, spent: 'final' })
  })

  it('says that a call of a tool was cut at the limit of output', async () => {
    const api = await startMessagesApi()
    const events = [
      { type: 'message_start', message: { usage: { input_tokens: 5 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't', name: 'Read', input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"pa' } },
      { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    ]
    const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    api.next({ fault: 'raw', contentType: 'text/event-stream', body })
    expect(await ask(api.url)).toMatchObject({
      failed: 'garbage',
      message: expect.stringContaining('cut at max_tokens'),
      usage: { input: 5, output: 9, cacheRead: 0, cacheWrite: 0 },
    })
  })
})

describe('an answer of a certain form', () => {
  const outputSchema = z.strictObject({ files: z.array(z.string().max(50)).max(3), why: z.string().optional() })
  const request = { ...hello, outputSchema }

  it('is asked for in the parameters and in words, and checked', async () => {
    const api = await startMessagesApi()
    api.next(says('{"files": ["a.md"]}'), says('```json\n{"files": []}\n```'))
    expect(await ask(api.url, request)).toMatchObject({ output: { files: ['a.md'] } })
    expect(await ask(api.url, request)).toMatchObject({ output: { files: [] } })
    const { body } = api.requests[0] as {
      body: { output_config: unknown; messages: { content: { text: string }[] }[] }
    }
    expect(body.output_config).toMatchObject({
      format: { type: 'json_schema', schema: { additionalProperties: false } },
    })
    expect(body.messages.at(-1)?.content.at(-1)?.text).toContain('"files"')
  })

  it.each([
    ['words', 'Here are the files: a.md', /not JSON/],
    ['another form', '{"files": "a.md"}', /files: /],
    ['more than was asked for', '{"files": [], "also": 1}', /another form/],
    ['more items than it may have', '{"files": ["a","b","c","d"]}', /files: /],
    ['half of it', '{"files": ["a', /cut at max_tokens/],
  ])('is refused when it is %s, and what it cost is known', async (_what, text, why) => {
    const api = await startMessagesApi()
    api.next(says(text, { stop: text.endsWith('"a') ? 'max_tokens' : 'end_turn' }))
    expect(await ask(api.url, request)).toMatchObject({
      failed: 'garbage',
      message: expect.stringMatching(why),
      usage: known,
      spent: 'final',
      permanent: false,
    })
  })
})

describe('what is sent', () => {
  const token = `ghp_${'aB3dE5gH7jK9mN1pQ3sT5vW7yZ'.repeat(2).slice(0, 36)}`

  it('holds no credential, wherever it stood', async () => {
    const api = await startMessagesApi({ script: () => says('ok') })
    await ask(api.url, {
      ...hello,
      system: [{ type: 'text', text: `The token is ${token}.` }],
      tools: [{ name: 'Read', description: token, inputSchema: { type: 'object', description: token } }],
      messages: [
        user(token),
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 't', name: 'Read', input: { a: [{ b: `x ${token}` }] } }],
        },
        { role: 'user', content: [{ type: 'tool_result', toolUseId: 't', content: [{ type: 'text', text: token }] }] },
      ],
    })
    const sent = api.requests[0]?.bytes.toString() ?? ''
    expect(api.requests[0]?.refused).toBeUndefined()
    expect(sent).not.toContain(token)
    expect(sent.match(/\[redacted:github-token\]/g)).toHaveLength(6)
  })

  it('continues what a harness sent, byte for byte', async () => {
    const api = await startMessagesApi({ script: () => says('ok') })
    const raw = {
      max_tokens: 2_048,
      tools: [{ input_schema: { type: 'object' }, name: 'Bash', cache_control: { type: 'ephemeral' } }],
      model: 'claude-sonnet-5-5',
      messages: [{ role: 'user', content: `My token is ${token}.` }],
      thinking: { type: 'adaptive' },
    }
    await ask(api.url, { ...hello, raw, messages: [user(token)] })
    const prefix = JSON.stringify(raw)
    const sent = api.requests[0]?.bytes.toString() ?? ''
    const end = prefix.indexOf(']', prefix.indexOf('"messages"'))
    expect(sent.slice(0, end)).toBe(prefix.slice(0, end))
    expect(JSON.parse(sent)).toEqual({
      ...raw,
      messages: [...raw.messages, { role: 'user', content: [{ type: 'text', text: '[redacted:github-token]' }] }],
      stream: true,
    })
  })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
