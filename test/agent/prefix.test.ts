import { describe, expect, it } from 'vitest'
import { createHandovers, type Own } from '../../daemon/agent/prefix.ts'
import { manualTime } from '../support/clock.ts'

const params = { model: 'm', messages: [{ role: 'assistant', content: 'done' }] }
const handover = { params, endpoint: 'https://api.example.com', fingerprint: '0123456789abcdef' }
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
const own: Own = { prefix: 'harness', endpoint: 'https://api.example.com/', fingerprint: '0123456789abcdef' }

const last = { agent: 'done', person: 'do it' }

describe('what a harness hands over', () => {
  it('is used where it is wanted, against the same endpoint and with the same key, and nowhere else', () => {
    const { clock } = manualTime()
    const handovers = createHandovers({ clock })
    expect(handovers.keep('s', handover)).toEqual({ kept: true })
    expect(handovers.find('s', own, last)).toEqual({ params })
    expect(handovers.find('other', own, last)).toEqual({ skip: 'the harness handed nothing over' })
    expect(handovers.find('s', { ...own, prefix: 'rendered' }, last)).toEqual({
      skip: 'extraction.prefix is not harness',
    })
    expect(handovers.find('s', { ...own, endpoint: 'https://other.example.com' }, last)).toEqual({
      skip: 'the harness asks another endpoint',
    })
    for (const fingerprint of ['fedcba9876543210', undefined])
      expect(handovers.find('s', { ...own, fingerprint }, last)).toEqual({ skip: 'the harness uses another key' })
  })

  it('may have tools of its own, which it runs itself', () => {
    const handovers = createHandovers({ clock: manualTime().clock })
    const tools = [
      { name: 'a', input_schema: {} },
      { type: 'custom', name: 'b', input_schema: {} },
    ]
    expect(handovers.keep('s', { ...handover, params: { ...params, tools, mcp_servers: [] } })).toEqual({ kept: true })
  })

  it('is dropped after an hour, and the oldest first when there is too much', () => {
    const { clock, pass } = manualTime()
    const handovers = createHandovers({ clock })
    handovers.keep('old', handover)
    pass(3_600_001)
    expect(handovers.find('old', own, last)).toHaveProperty('skip')
    for (let n = 0; n < 17; n++) handovers.keep(`s${n}`, handover)
    expect([handovers.find('s0', own, last), handovers.find('s1', own, last)]).toEqual([
      { skip: 'the harness handed nothing over' },
      { params },
    ])
    const huge = { ...params, system: 'x'.repeat(8_000_001) }
    expect(handovers.keep('huge', { ...handover, params: huge })).toEqual({ skip: 'it is too large to be kept' })
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
    ['more levels than anybody means', { ...params, metadata: nested(20_000) }],
    ['nobody', { model: 'm', messages: [null] }],
    ['a message that is none', { model: 'm', messages: [{ role: 'assistant', content: 7 }] }],
    ['a message of somebody else', { model: 'm', messages: [{ role: 'system', content: 'x' }, ...params.messages] }],
    ['tools without names', { ...params, tools: [null, 5, 'x'] }],
  ])('is not kept with %s', (_what, bad) => {
    const { clock } = manualTime()
    const handovers = createHandovers({ clock })
    handovers.keep('s', handover)
    expect(handovers.keep('s', { ...handover, params: bad })).toEqual({ skip: expect.any(String) })
    // Nor is what it was before: the session has gone on.
    expect(handovers.find('s', own, last)).toHaveProperty('skip')
  })
})
