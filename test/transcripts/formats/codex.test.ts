import { describe, expect, it } from 'vitest'
import { codex } from '../../../daemon/transcripts/formats/codex.ts'
import { tell } from '../telling.ts'

const AT = '2026-11-16T00:00:01.000Z'
const line = (type: string, payload: object) => JSON.stringify({ timestamp: AT, ordinal: 1, type, payload })
const item = (payload: object) => line('response_item', payload)
const event = (payload: object) => line('event_msg', payload)
const user = (text: string, about: object = { content_item_kinds: ['user.text'] }) =>
  item({
    type: 'message',
    role: 'user',
    id: text,
    content: [{ type: 'input_text', text }],
    internal_chat_message_metadata_passthrough: about,
  })
const agent = (text: string) =>
  item({ type: 'message', role: 'assistant', id: text, content: [{ type: 'output_text', text }] })
const ended = event({ type: 'task_complete' })
const count = (total: number, last: number) =>
  event({
    type: 'token_count',
    info: {
      total_token_usage: { input_tokens: total, cached_input_tokens: 10, output_tokens: 4 },
      last_token_usage: { input_tokens: last, cached_input_tokens: 10, output_tokens: 4 },
    },
  })
const turns = (...lines: string[]) =>
  tell('codex', lines.join('\n')).turns.map(([headline, ...said]) => [headline?.split(' ')[0], ...said])

describe('a transcript of Codex', () => {
  it('loses the turns that are rolled back', () => {
    const lines = [user('one'), agent('1'), ended, user('two'), agent('2'), ended, user('three'), agent('3'), ended]
    const back = event({ type: 'thread_rolled_back', num_turns: 2 })
    expect(turns(...lines, back, user('four'), agent('4'), ended)).toEqual([
      ['final', 'person: one', 'agent: 1'],
      ['final', 'person: four', 'agent: 4'],
    ])
    expect(turns(...lines, event({ type: 'thread_rolled_back', num_turns: 99 }))).toEqual([])
  })

  it('has turns that are broken off', () => {
    expect(turns(user('one'), agent('1'), event({ type: 'turn_aborted', reason: 'interrupted' }))).toEqual([
      ['aborted', 'person: one', 'agent: 1'],
    ])
  })

  it('takes what is said in the middle of a turn for a part of it', () => {
    const about = { content_item_kinds: ['user.text'], turn_id: 't1' }
    expect(turns(user('one', about), agent('1'), user('and two', about), agent('2'), ended)).toEqual([
      ['final', 'person: one', 'agent: 1', 'person: and two', 'agent: 2'],
    ])
  })

  it('begins a turn that no person asked for when a sub-agent is done and the agent answers', () => {
    const notice = user('<subagent_notification>PROBE', { content_item_kinds: ['multi_agent.subagent_notification'] })
    expect(turns(user('one'), agent('1'), ended, notice, agent('2'), ended)).toEqual([
      ['final', 'person: one', 'agent: 1'],
      ['final', 'injected: ', 'agent: 2'],
    ])
    expect(turns(user('one'), agent('1'), ended, notice)).toEqual([['final', 'person: one', 'agent: 1']])
  })

  it.each([
    '<environment_context>\n  <cwd>/work</cwd>\n</environment_context>',
    '<user_instructions>PROBE</user_instructions>',
    '# AGENTS.md instructions for /work\nPROBE',
    '<turn_aborted>PROBE',
  ])('knows %j for injected where older versions do not say so', (text) => {
    expect(codex.read(user(text, {}))).toMatchObject([{ by: 'injected', text: '' }])
  })

  it('takes the words of the person out of a message of several kinds', () => {
    const mixed = item({
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'PROBE' },
        { type: 'input_text', text: 'hello' },
      ],
      internal_chat_message_metadata_passthrough: { content_item_kinds: ['hooks.additional_context', 'user.text'] },
    })
    expect(codex.read(mixed)).toMatchObject([{ by: 'person', text: 'hello' }])
  })

  it.each([
    [
      { type: 'function_call', name: 'shell', call_id: 'c', arguments: '{"command":["bash","-lc","ls -l"]}' },
      { id: 'c', name: 'shell', input: 'bash -lc ls -l' },
    ],
    [
      { type: 'function_call', name: 'f', call_id: 'c', arguments: 'no JSON' },
      { id: 'c', name: 'f', input: 'no JSON' },
    ],
    [
      { type: 'function_call', name: 'f', namespace: 'n', call_id: 'c', arguments: '{"a":1,"b":[true]}' },
      { id: 'c', name: 'n.f', input: '{"a":1,"b":[true]}' },
    ],
    [
      { type: 'custom_tool_call', name: 'apply_patch', call_id: 'c', input: '*** Begin Patch' },
      { id: 'c', name: 'apply_patch', input: '*** Begin Patch' },
    ],
    [
      { type: 'local_shell_call', call_id: 'c', action: { type: 'exec', command: ['ls'] } },
      { id: 'c', name: 'local_shell', input: 'ls' },
    ],
    [
      { type: 'web_search_call', id: 'w', action: { type: 'search', query: 'q' } },
      { id: 'w', name: 'web_search_call', input: '{"type":"search","query":"q"}' },
    ],
  ])('reads the call %j', (payload, call) => {
    expect(codex.read(item(payload))).toMatchObject([{ by: 'agent', toolCalls: [call] }])
  })

  it.each([
    ['a string', 'out'],
    ['a list of parts', [{ type: 'input_text', text: 'out' }, { type: 'input_image' }]],
    ['an object', { content: 'out', success: true }],
  ])('reads output that is %s', (_what, output) => {
    const read = codex.read(item({ type: 'function_call_output', call_id: 'c', output }))
    expect(read).toMatchObject([{ by: 'tool', toolResults: [{ callId: 'c', text: 'out' }] }])
  })

  it('counts what was used from the last count, and each turn by what was added', () => {
    const lines = [user('one'), count(100, 100), ended, user('two'), count(100, 100), count(250, 150), ended]
    expect(tell('codex', lines.join('\n'))).toMatchObject({
      turns: [
        ['final 00:00:01.000 00:00:01.000, 90 in 4 out 10 read 0 written', 'person: one'],
        ['final 00:00:01.000 00:00:01.000, 150 in 0 out', 'person: two'],
      ],
      usage: '240 in 4 out 10 read 0 written',
    })
  })

  it('is compacted without its messages being told again', () => {
    const compacted = line('compacted', { message: 'PROBE', replacement_history: [{ role: 'user', content: 'one' }] })
    expect(codex.read(compacted)).toEqual([{ kind: 'compacted', at: Date.parse(AT) }])
    expect(codex.read(event({ type: 'token_count', info: null }))).toEqual([{ kind: 'bookkeeping' }])
    expect(codex.read(event({ type: 'never_seen' }))).toEqual([{ kind: 'unknown', type: 'event_msg/never_seen' }])
  })
})
