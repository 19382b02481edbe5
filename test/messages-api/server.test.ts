import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, it } from 'vitest'
import { broken, calls, overloaded, rateLimited, says } from '../support/messages-api/answers.ts'
import { signatureOf } from '../support/messages-api/rules.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'
import { malformed, sound } from './malformed.ts'

const clientOf = (api: { url: string }, apiKey = 'test-key') =>
  new Anthropic({ apiKey, baseURL: api.url, maxRetries: 0, logLevel: 'off' })

const send = (api: { url: string }, body: unknown, headers: Record<string, string> = {}, path = '/v1/messages') =>
  fetch(`${api.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'x-api-key': 'test-key',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const outcome = async (response: Response) => {
  const { error } = (await response.json()) as { error: { type: string; message: string } }
  return { status: response.status, type: error.type, message: error.message }
}

describe('the scripted Messages API', () => {
  it.each(malformed)('refuses %s', async (_what, body, why) => {
    const api = await startMessagesApi({ script: () => says('I should not have been asked.') })
    const refusal = await clientOf(api)
      .messages.create({ ...body, stream: true } as never)
      .catch((error) => error)
    expect(refusal).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      apiMessage: expect.stringMatching(why),
    })
    expect(api.requests).toMatchObject([{ refused: expect.stringMatching(why) }])
  })

  it.each([
    ['another key', { 'x-api-key': 'other' }, '/v1/messages', 401, /invalid x-api-key/],
    ['an unknown version', { 'anthropic-version': '2020-01-01' }, '/v1/messages', 400, /not a valid version/],
    ['another content type', { 'content-type': 'text/plain' }, '/v1/messages', 400, /content-type/],
    ['another place', {}, '/v1/complete', 404, /Not found/],
  ])('refuses %s', async (_what, headers, path, status, message) => {
    const api = await startMessagesApi({ script: () => says('no') })
    const answer = await outcome(await send(api, sound, headers, path))
    expect(answer).toMatchObject({ status, message: expect.stringMatching(message) })
  })

  it('refuses a request without a key, without a version, and one that is not JSON', async () => {
    const api = await startMessagesApi({ script: () => says('no') })
    const plain = { method: 'POST', body: JSON.stringify(sound) }
    const json = { 'content-type': 'application/json' }
    const keyless = await fetch(`${api.url}/v1/messages`, { ...plain, headers: json })
    expect(await outcome(keyless)).toMatchObject({ status: 401, type: 'authentication_error' })
    const versionless = await fetch(`${api.url}/v1/messages`, {
      ...plain,
      headers: { ...json, 'x-api-key': 'test-key' },
    })
    expect(await outcome(versionless)).toMatchObject({ status: 400, message: 'anthropic-version: header is required' })
    expect(await outcome(await send(api, '{'))).toMatchObject({ status: 400, type: 'invalid_request_error' })
    expect(await outcome(await send(api, { ...sound, model: 'gpt' }))).toMatchObject({
      status: 404,
      type: 'not_found_error',
    })
  })

  it('takes what the API takes: turns that are joined, results with text after them, marks, thoughts of its own', async () => {
    const api = await startMessagesApi({ script: () => says('fine') })
    const thinking = { type: 'thinking' as const, thinking: 'hm', signature: signatureOf('hm') }
    const answer = await clientOf(api).messages.create({
      model: 'claude-haiku-5-5',
      max_tokens: 5_000,
      system: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      tools: [{ name: 'Read', input_schema: { type: 'object' } }],
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      output_config: { format: { type: 'json_schema', schema: { type: 'object', additionalProperties: false } } },
      messages: [
        { role: 'user', content: 'one' },
        { role: 'user', content: [{ type: 'text', text: 'two' }] },
        { role: 'assistant', content: [thinking, { type: 'tool_use', id: 't1', name: 'Read', input: {} }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't2', name: 'Read', input: {} }] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't2', content: [{ type: 'text', text: 'b' }] },
            { type: 'tool_result', tool_use_id: 't1', is_error: true, content: 'a' },
            { type: 'text', text: 'go on', cache_control: { type: 'ephemeral' } },
          ],
        },
      ],
    })
    expect(answer).toMatchObject({ content: [{ type: 'text', text: 'fine' }], stop_reason: 'end_turn' })
  })

  it('streams text, calls of tools and thoughts in pieces that the SDK puts together', async () => {
    const api = await startMessagesApi()
    const text = `A sentence of more than one piece, with signs: “ü” 🦊 "quotes" ${'and so on '.repeat(9)}`
    const thinking = { type: 'thinking' as const, thinking: 'Let me see.', signature: signatureOf('Let me see.') }
    const call = { type: 'tool_use' as const, id: 't1', name: 'Read', input: { path: '/a "b"', lines: [1, 2] } }
    api.next({ content: [thinking, { type: 'text', text }, call], stop: 'tool_use' })
    const stream = clientOf(api).messages.stream({ ...sound, thinking: { type: 'adaptive' } } as never)
    const kinds = new Set<string>()
    stream.on('streamEvent', ({ type }) => kinds.add(type))
    const message = await stream.finalMessage()
    expect(message.content).toEqual([
      thinking,
      { type: 'text', text, citations: null },
      { ...call, caller: { type: 'direct' } },
    ])
    expect(message).toMatchObject({ stop_reason: 'tool_use', usage: { output_tokens: expect.any(Number) } })
    expect([...kinds]).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
  })

  it('answers from the queue, then from the script, and says when there is nothing left to say', async () => {
    const api = await startMessagesApi()
    const client = clientOf(api)
    api.next(rateLimited(7), overloaded, broken, calls({ id: 't1', name: 'Read', input: {} }))
    const ask = () => client.messages.create(sound as never).catch((error) => error)
    const limited = await ask()
    expect(limited).toMatchObject({ status: 429, type: 'rate_limit_error' })
    expect(limited.headers.get('retry-after')).toBe('7')
    expect(await ask()).toMatchObject({ status: 529, type: 'overloaded_error' })
    expect(await ask()).toMatchObject({ status: 500, type: 'api_error' })
    expect(await ask()).toMatchObject({ stop_reason: 'tool_use' })
    expect(await ask()).toMatchObject({ status: 500, apiMessage: 'the script has no answer left' })
    api.script(({ body }) => says(`you said: ${body.messages[0]?.content}`))
    expect(await ask()).toMatchObject({ content: [{ text: 'you said: hello' }] })
  })

  it('keeps the exact bytes of what it was asked, and sees a client hang up', async () => {
    const api = await startMessagesApi()
    api.next({ fault: 'stall', of: says('never to be said') })
    const body = JSON.stringify({ ...sound, stream: true })
    const hangUp = new AbortController()
    const response = await fetch(`${api.url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': 'test-key' },
      body,
      signal: hangUp.signal,
    })
    const seen = await api.request(1)
    expect(seen.bytes.toString()).toBe(body)
    expect(response.status).toBe(200)
    hangUp.abort()
    expect(await seen.closed).toMatchObject({ complete: false })
  })
})
