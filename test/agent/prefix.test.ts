import { describe, expect, it } from 'vitest'
import { createHarnessRequests } from '../../daemon/agent/prefix.ts'
import { manualTime } from '../support/clock.ts'

const params = { model: 'm', messages: [{ role: 'assistant', content: 'done' }] }
const request = { params, endpoint: 'https://api.example.com', fingerprint: '0123456789abcdef' }
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
const door = { baseUrl: 'https://api.example.com/', fingerprint: '0123456789abcdef' }

const last = { agent: 'done', person: 'do it' }

describe('what a harness hands over', () => {
  it('is used against the same endpoint, with the same key and for the same conversation, and nowhere else', () => {
    const { clock } = manualTime()
    const requests = createHarnessRequests(clock)
    expect(requests.keep('s', request)).toBeUndefined()
    expect(requests.find('s', door, last)).toEqual(params)
    expect(requests.find('other', door, last)).toBeUndefined()
    expect(requests.find('s', undefined, last)).toBeUndefined()
    expect(requests.find('s', { ...door, baseUrl: 'https://other.example.com' }, last)).toBeUndefined()
    expect(requests.find('s', { ...door, fingerprint: 'fedcba9876543210' }, last)).toBeUndefined()
    expect(requests.find('s', door, { ...last, agent: 'something else' })).toBeUndefined()
  })

  it('may have tools of its own, which it runs itself', () => {
    const requests = createHarnessRequests(manualTime().clock)
    const tools = [
      { name: 'a', input_schema: {} },
      { type: 'custom', name: 'b', input_schema: {} },
    ]
    expect(requests.keep('s', { ...request, params: { ...params, tools, mcp_servers: [] } })).toBeUndefined()
  })

  it('is dropped after an hour, and the oldest first when there is too much', () => {
    const { clock, pass } = manualTime()
    const requests = createHarnessRequests(clock)
    requests.keep('old', request)
    pass(3_600_001)
    expect(requests.find('old', door, last)).toBeUndefined()
    for (let n = 0; n < 17; n++) requests.keep(`s${n}`, request)
    expect([requests.find('s0', door, last), requests.find('s1', door, last)]).toEqual([undefined, params])
    const huge = { ...params, system: 'x'.repeat(8_000_001) }
    expect(requests.keep('huge', { ...request, params: huge })).toBe('it is too large to be kept')
  })

  it.each([
    ['no model', { messages: params.messages }],
    ['no messages', { model: 'm' }],
    [
      'a tool call that waits',
      { model: 'm', messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 't' }] }] },
    ],
    ['a tool that the server runs itself', { ...params, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['tools that are none', { ...params, tools: 'all' }],
    ['MCP servers', { ...params, mcp_servers: [{ type: 'url', url: 'https://mcp.example.com', name: 'x' }] }],
    ['a container', { ...params, container: 'c' }],
    ['more levels than any conversation has', { ...params, metadata: nested(20_000) }],
    ['no message', { model: 'm', messages: [null] }],
    ['a message that is none', { model: 'm', messages: [{ role: 'assistant', content: 7 }] }],
    ['a message of another role', { model: 'm', messages: [{ role: 'system', content: 'x' }, ...params.messages] }],
    ['tools without names', { ...params, tools: [null, 5, 'x'] }],
  ])('is not kept with %s', (_what, bad) => {
    const { clock } = manualTime()
    const requests = createHarnessRequests(clock)
    requests.keep('s', request)
    expect(requests.keep('s', { ...request, params: bad })).toEqual(expect.any(String))
    // Nor is what it was before: the session has gone on.
    expect(requests.find('s', door, last)).toBeUndefined()
  })
})
