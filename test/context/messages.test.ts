import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SessionMessage } from '../../daemon/agent/rendering.ts'
import { isCut, openPrompt } from '../../daemon/context/cuts.ts'
import { factsOf } from '../../daemon/context/extractive.ts'
import { flatten, type Message, NO_BEGINNING, NO_RESULT } from '../../daemon/context/messages.ts'
import { messagesOfTranscript } from '../../daemon/context/transcript.ts'
import { accepted, broken, problemWith } from './lists.ts'

const call = (id: string) => ({ type: 'tool_use', id, name: 'Read', input: {} })
const result = (id: string, content = 'x') => ({ type: 'tool_result', tool_use_id: id, content })

const server = (id: string) => ({ type: 'server_tool_use', id, name: 'code_execution', input: {} })

/** What a server sees: blocks on either side, one after the other. */
const seen = (messages: readonly Message[]) =>
  messages.flatMap(({ role, content }) =>
    (typeof content === 'string' ? [{ type: 'text', text: content }] : content).map((block) =>
      JSON.stringify([role, block]),
    ),
  )

describe('flattening', () => {
  it('changes nothing that a server sees of a list it takes', () => {
    fc.assert(
      fc.property(accepted({ ids: 'none' }), (list) => {
        expect(problemWith(list)).toBeUndefined()
        const flat = flatten(list)
        expect(problemWith(flat)).toBeUndefined()
        expect(seen(flat)).toEqual(seen(list))
      }),
      { numRuns: 200 },
    )
  })

  it('keeps the names of messages, and those with different names apart', () => {
    fc.assert(
      fc.property(accepted({ ids: 'given' }), (list) => {
        expect(flatten(list)).toEqual(list)
      }),
      { numRuns: 100 },
    )
  })

  it('makes of a broken list one that a server takes once there is a question at its end, and does so once', () => {
    fc.assert(
      fc.property(broken, (list) => {
        const flat = flatten(list)
        expect(problemWith([...flat, { role: 'user', content: 'Go on.' }])).toBeUndefined()
        expect(flatten(flat)).toEqual(flat)
        for (const [n, { role }] of flat.entries()) expect(flat[n - 1]?.role).not.toBe(role)
      }),
      { numRuns: 400 },
    )
  })

  it.each<[string, unknown[], unknown[]]>([
    [
      'makes up the result of a call that has none',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [call('1'), call('2')] },
        { role: 'user', content: [result('1'), { type: 'text', text: 'b' }] },
      ],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [call('1'), call('2')] },
        {
          role: 'user',
          content: [result('1'), { ...result('2', NO_RESULT), is_error: true }, { type: 'text', text: 'b' }],
        },
      ],
    ],
    [
      'keeps results apart that stand in messages of their own',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [call('1'), call('2')] },
        { id: 'm1', role: 'user', content: [result('1')] },
        { id: 'm2', role: 'user', content: [result('2'), { type: 'text', text: 'b' }] },
      ],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [call('1'), call('2')] },
        { id: 'm1', role: 'user', content: [result('1')] },
        { id: 'm2', role: 'user', content: [result('2'), { type: 'text', text: 'b' }] },
      ],
    ],
    [
      'drops a result without a call',
      [{ role: 'user', content: [result('1'), { type: 'text', text: 'b' }] }],
      [{ role: 'user', content: [{ type: 'text', text: 'b' }] }],
    ],
    [
      'puts something before an answer whose question is gone',
      [{ role: 'assistant', content: 'b' }],
      [
        { role: 'user', content: NO_BEGINNING },
        { role: 'assistant', content: 'b' },
      ],
    ],
    [
      'merges what stands in two messages, and drops what is only shown and what is unknown',
      [
        { role: 'user', content: 'a', timestamp: 1 },
        { type: 'progress', role: 'user', content: 'no' },
        { role: 'user', content: 'never sent', displayOnly: true },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'b', own: 1 },
            { type: 'hologram', data: 1 },
          ],
        },
      ],
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
      ],
    ],
    [
      'keeps what a server called and answered itself, whatever the tool, and no half of it',
      [
        {
          role: 'user',
          content: [
            { type: 'server_tool_use', id: 's0', name: 'web_search' },
            { type: 'text', text: 'a' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 's1', name: 'bash_code_execution', input: {} },
            { type: 'bash_code_execution_tool_result', tool_use_id: 's1', content: {} },
            { type: 'mcp_tool_use', id: 's2', name: 'query', server_name: 'db', input: {} },
            { type: 'mcp_tool_result', tool_use_id: 's2', content: [] },
            { type: 'server_tool_use', id: 's3', name: 'web_search', input: {} },
            { type: 'web_search_tool_result', tool_use_id: 's4', content: [] },
          ],
        },
        { role: 'user', content: 'b' },
        { role: 'assistant', content: [{ type: 'server_tool_use', id: 's5', name: 'web_search', input: {} }] },
      ],
      [
        { role: 'user', content: [{ type: 'text', text: 'a' }] },
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 's1', name: 'bash_code_execution', input: {} },
            { type: 'bash_code_execution_tool_result', tool_use_id: 's1', content: {} },
            { type: 'mcp_tool_use', id: 's2', name: 'query', server_name: 'db', input: {} },
            { type: 'mcp_tool_result', tool_use_id: 's2', content: [] },
          ],
        },
        { role: 'user', content: 'b' },
        { role: 'assistant', content: [{ type: 'server_tool_use', id: 's5', name: 'web_search', input: {} }] },
      ],
    ],
    [
      'drops what no server takes: calls and results without a name, unsigned thoughts, pictures of nothing',
      [
        { role: 'user', content: [{ type: 'image' }, { type: 'document', source: null }, { type: 'text', text: 'a' }] },
        {
          role: 'assistant',
          content: [{ type: 'thinking', thinking: 'x' }, { type: 'redacted_thinking' }, call(''), call('1')],
        },
        { role: 'user', content: [result(''), result('1')] },
      ],
      [
        { role: 'user', content: [{ type: 'text', text: 'a' }] },
        { role: 'assistant', content: [call('1')] },
        { role: 'user', content: [result('1')] },
      ],
    ],
    [
      'keeps a call of a server that waits for a tool of ours',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [server('s1'), { ...call('1'), caller: { type: 'code', tool_id: 's1' } }] },
        { role: 'user', content: [result('1')] },
        { role: 'assistant', content: [{ ...call('2'), caller: { type: 'code', tool_id: 's1' } }] },
        { role: 'user', content: [result('2')] },
      ],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [server('s1'), { ...call('1'), caller: { type: 'code', tool_id: 's1' } }] },
        { role: 'user', content: [result('1')] },
        { role: 'assistant', content: [{ ...call('2'), caller: { type: 'code', tool_id: 's1' } }] },
        { role: 'user', content: [result('2')] },
      ],
    ],
    [
      'keeps what was found by a search in a result',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [call('1')] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: '1',
              content: [{ type: 'search_result', source: 's', title: 't', content: [] }],
            },
          ],
        },
      ],
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [call('1')] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: '1',
              content: [{ type: 'search_result', source: 's', title: 't', content: [] }],
            },
          ],
        },
      ],
    ],
    [
      'reads lines of a transcript',
      [
        { type: 'user', uuid: 'u1', message: { role: 'user', content: 'a' } },
        { type: 'system', content: 'note' },
      ],
      [{ id: 'u1', role: 'user', content: 'a' }],
    ],
  ])('%s', (_what, given, expected) => {
    expect(flatten(given)).toEqual(expected)
  })

  it('takes no longer for a thousand messages in a row than it must', () => {
    // Content is looked at a few times, not once for each message that stands beside it.
    let looks = 0
    const counted = (n: number, named: boolean) =>
      Object.defineProperty({ role: 'user', ...(named && { id: `m${n}` }) }, 'content', {
        get: () => {
          looks++
          return `Line ${n}.`
        },
      })
    const many = Array.from({ length: 1_000 }, (_, n) => counted(n, true)) as unknown as Message[]
    expect(openPrompt(many)).toBe(0)
    expect(looks).toBeLessThan(5_000)
    const rows = Array.from({ length: 30_000 }, (_, n) => ({ role: 'user', content: `Line ${n}.` }))
    const [one, ...others] = flatten(rows)
    expect(others).toEqual([])
    expect(one?.content).toHaveLength(30_000)
  }, 10_000)

  it('is cut nowhere between what a server called and what came of it', () => {
    const list: Message[] = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
      { role: 'user', content: 'c' },
      { role: 'assistant', content: [server('s1'), { ...call('1'), caller: { type: 'code', tool_id: 's1' } }] },
      { role: 'user', content: [result('1')] },
      { role: 'assistant', content: [{ ...call('2'), caller: { type: 'code', tool_id: 's1' } }] },
      { role: 'user', content: [result('2')] },
      {
        role: 'assistant',
        content: [{ type: 'code_execution_tool_result', tool_use_id: 's1', content: {} }, server('s2')],
      },
      { role: 'user', content: 'd' },
      { role: 'assistant', content: 'e' },
    ]
    expect(list.flatMap((_, at) => (isCut(list, at) ? [at] : []))).toEqual([0, 1, 2, 3, 8, 9])
  })

  it('names calls of a transcript as a server takes them', () => {
    const messages = messagesOfTranscript([
      { id: '1', by: 'person', text: 'Go.', toolCalls: [], toolResults: [] },
      {
        id: '2',
        by: 'agent',
        text: '',
        toolCalls: [{ id: 'call_1|fc_2', name: 'Read', input: '{}' }],
        toolResults: [],
      },
      { id: '3', by: 'tool', text: '', toolCalls: [], toolResults: [{ callId: 'call_1|fc_2', text: 'x' }] },
    ])
    expect(problemWith(flatten(messages))).toBeUndefined()
    expect(JSON.stringify(flatten(messages))).not.toContain(NO_RESULT)
  })

  it('pairs calls of a transcript that have no name, so that none is taken for the other', () => {
    const edit = (path: string) => ({ name: 'Edit', input: JSON.stringify({ file_path: path }) })
    const line = (id: string, by: SessionMessage['by'], more: object) => ({
      id,
      by,
      text: '',
      toolCalls: [],
      toolResults: [],
      ...more,
    })
    const messages = messagesOfTranscript([
      line('1', 'person', { text: 'Go.' }),
      line('2', 'agent', { toolCalls: [edit('/a.ts'), edit('/b.ts')] }),
      line('3', 'tool', { toolResults: [{ text: 'first' }, { text: 'second' }] }),
      line('4', 'agent', { toolCalls: [edit('/c.ts')] }),
      line('5', 'tool', { toolResults: [{ text: 'third' }] }),
    ])
    const flat = flatten(messages)
    expect(problemWith(flat)).toBeUndefined()
    expect(factsOf(flat).flatMap(({ kind, text }) => (kind === 'file' ? [text] : []))).toEqual([
      '/a.ts',
      '/b.ts',
      '/c.ts',
    ])
    expect(JSON.stringify(flat)).not.toContain(NO_RESULT)
  })
})
