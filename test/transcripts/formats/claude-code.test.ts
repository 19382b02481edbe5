import { describe, expect, it } from 'vitest'
import { claudeCode } from '../../../daemon/transcripts/formats/claude-code.ts'
import type { Message } from '../../../daemon/transcripts/formats/facts.ts'
import { recorded, tell } from '../telling.ts'

const json = (value: unknown) => JSON.stringify(value)
const line = (type: string, more: object) => json({ type, uuid: 'u', parentUuid: 'p', sessionId: 's', ...more })
const user = (content: unknown, more: object = {}) => line('user', { message: { role: 'user', content }, ...more })
const assistant = (content: unknown, message: object = {}, more: object = {}) =>
  line('assistant', { message: { id: 'm', model: 'model-1', content, ...message }, ...more })

function read(text: string): Partial<Message> {
  const message = claudeCode.read(text).find((fact) => fact.kind === 'message')
  if (message?.kind !== 'message') return {}
  const { by, text: said, startsTurn, ends } = message
  return { by, text: said, ...(startsTurn && { startsTurn }), ...(ends && { ends }) }
}

describe('a line of Claude Code', () => {
  it.each([
    [
      'a typed prompt',
      user('hi', { origin: { kind: 'human' }, promptSource: 'typed' }),
      { by: 'person', text: 'hi', startsTurn: true },
    ],
    ['a prompt in print mode', user('hi', { promptSource: 'sdk' }), { by: 'person', text: 'hi', startsTurn: true }],
    [
      'a prompt in blocks',
      user([{ type: 'text', text: 'a' }, { type: 'image' }, { type: 'text', text: 'b' }]),
      { by: 'person', text: 'a\nb', startsTurn: true },
    ],
    ['nothing but a picture', user([{ type: 'image', source: {} }]), { by: 'person', text: '', startsTurn: true }],
    [
      'a prompt beside a reminder',
      user([
        { type: 'text', text: '<system-reminder>\nPROBE\n</system-reminder>' },
        { type: 'text', text: 'hi' },
      ]),
      { by: 'person', text: 'hi', startsTurn: true },
    ],
    ['nothing but a reminder', user('<system-reminder>PROBE</system-reminder>'), { by: 'injected', text: '' }],
    ['a meta line', user('PROBE', { isMeta: true }), { by: 'injected', text: '' }],
    ['the summary of a compaction', user('PROBE', { isCompactSummary: true }), { by: 'injected', text: '' }],
    [
      'the output of a hook in 1.0',
      user('<user-prompt-submit-hook>PROBE</user-prompt-submit-hook>'),
      { by: 'injected', text: '' },
    ],
    ['a notice that a task is done', user('<task-notification>PROBE'), { by: 'injected', text: '', startsTurn: true }],
    [
      'a notice told by its origin',
      user('PROBE', { origin: { kind: 'task-notification' }, promptSource: 'system' }),
      { by: 'injected', text: '', startsTurn: true },
    ],
    ['a command', user('<command-name>/compact</command-name>'), { by: 'injected', text: '', startsTurn: true }],
    [
      'what a command printed',
      user('<local-command-stdout>PROBE</local-command-stdout>'),
      { by: 'injected', text: '' },
    ],
    ['a shell command of the person', user('<bash-input>ls</bash-input>'), { by: 'injected', text: '' }],
    [
      'an interruption',
      user([{ type: 'text', text: '[Request interrupted by user for tool use]' }]),
      { by: 'system', text: '', ends: 'aborted' },
    ],
    ['the result of a tool', user([{ type: 'tool_result', tool_use_id: 't', content: 'x' }]), { by: 'tool', text: '' }],
    ['a result told by its flag', user('x', { toolUseResult: 'x' }), { by: 'tool', text: '' }],
    [
      'a prompt to a sub-agent',
      user('look', { isSidechain: true, agentId: 'a' }),
      { by: 'agent', text: 'look', startsTurn: true },
    ],
    [
      'a final answer',
      assistant([{ type: 'text', text: 'ok' }], { stop_reason: 'end_turn' }),
      { by: 'agent', text: 'ok', ends: 'final' },
    ],
    [
      'the thoughts of a final answer',
      assistant([{ type: 'thinking', thinking: 'PROBE' }], { stop_reason: 'end_turn' }),
      { by: 'agent', text: '', ends: 'settling' },
    ],
    [
      'words before a call',
      assistant([{ type: 'text', text: 'see' }], { stop_reason: 'tool_use' }),
      { by: 'agent', text: 'see' },
    ],
    [
      'words of which it was not known whether they end',
      assistant([{ type: 'text', text: 'ok' }], { stop_reason: null }),
      { by: 'agent', text: 'ok', ends: 'settling' },
    ],
    [
      'an answer without room',
      assistant([{ type: 'text', text: 'ok' }], { stop_reason: 'max_tokens' }),
      { by: 'agent', text: 'ok', ends: 'settling' },
    ],
    [
      'an answer that was cut off',
      assistant([{ type: 'text', text: 'o' }], { stop_reason: null }, { isAbortedMidStream: true }),
      { by: 'agent', text: 'o', ends: 'aborted' },
    ],
    [
      'a failure of the API',
      assistant(
        [{ type: 'text', text: 'API Error' }],
        { model: '<synthetic>', stop_reason: 'stop_sequence' },
        { isApiErrorMessage: true },
      ),
      { by: 'system', text: '', ends: 'aborted' },
    ],
    [
      'an answer that the client made up',
      assistant([{ type: 'text', text: 'No response requested.' }], {
        model: '<synthetic>',
        stop_reason: 'stop_sequence',
      }),
      { by: 'system', text: '' },
    ],
    [
      'a prompt typed while the agent works',
      line('attachment', { attachment: { type: 'queued_command', commandMode: 'prompt', prompt: 'also this' } }),
      { by: 'person', text: 'also this' },
    ],
    [
      'a notice while the agent works',
      line('attachment', { attachment: { type: 'queued_command', commandMode: 'task-notification', prompt: 'PROBE' } }),
      { by: 'injected', text: '' },
    ],
    [
      'any other attachment',
      line('attachment', {
        attachment: { type: 'instructions', files: [{ content: 'PROBE' }] },
        rendered: [{ content: 'PROBE' }],
      }),
      { by: 'injected', text: '' },
    ],
    [
      'the duration of a turn',
      line('system', { subtype: 'turn_duration', durationMs: 5 }),
      { by: 'system', text: '', ends: 'final' },
    ],
    ['a type that hangs in the chain and is unknown', line('progress', { data: 'PROBE' }), { by: 'system', text: '' }],
  ])('tells who said %s', (_what, text, said) => {
    expect(read(text)).toEqual(said)
  })

  it('has all that is known of an answer', () => {
    const usage = { input_tokens: 5, output_tokens: 7, cache_read_input_tokens: 11, cache_creation_input_tokens: 13 }
    const content = [{ type: 'tool_use', id: 't', name: 'Bash', input: { command: 'ls', description: 'list' } }]
    const more = { timestamp: '2026-11-16T00:00:01.000Z', cwd: '/work', gitBranch: 'main', entrypoint: 'cli' }
    expect(claudeCode.read(assistant(content, { usage, stop_reason: 'tool_use' }, more))).toEqual([
      { kind: 'session', sessionId: 's', cwd: '/work', branch: 'main', interactive: true },
      {
        kind: 'message',
        by: 'agent',
        text: '',
        toolCalls: [{ id: 't', name: 'Bash', input: 'ls' }],
        toolResults: [],
        id: 'u',
        parentId: 'p',
        at: Date.parse('2026-11-16T00:00:01.000Z'),
        answerId: 'm',
        usage: { input: 5, output: 7, cacheRead: 11, cacheWrite: 13 },
        model: 'model-1',
      },
    ])
  })

  it('goes on across a compaction in the middle of a turn', () => {
    const of = (id: string, after: string | null) => ({ uuid: id, parentUuid: after })
    const call = [{ type: 'tool_use', id: 't', name: 'Read', input: { file_path: '/a' } }]
    const told = tell(
      'claude-code',
      [
        user('read it', of('q', null)),
        assistant(call, { id: 'm1', stop_reason: 'tool_use' }, of('c', 'q')),
        user([{ type: 'tool_result', tool_use_id: 't', content: 'words' }], of('r', 'c')),
        line('system', {
          ...of('b', null),
          logicalParentUuid: 'r',
          subtype: 'compact_boundary',
          compactMetadata: { trigger: 'auto' },
        }),
        user('PROBE', { ...of('s', 'b'), isCompactSummary: true }),
        assistant([{ type: 'text', text: 'done' }], { id: 'm2', stop_reason: 'end_turn' }, of('a', 's')),
      ].join('\n'),
    )
    expect(told).toEqual({
      session: { sessionId: 's' },
      turns: [
        [
          'final … …, 1 calls, 0 in 0 out',
          'person: read it',
          'agent calls Read: {"file_path":"/a"}',
          'tool: words',
          'agent: done',
        ],
      ],
      usage: '0 in 0 out',
      compacted: ['auto'],
    })
  })

  it('tells sub-agents apart that older versions wrote into the file of the session', () => {
    const text = recorded(
      'claude-code-older',
      '1.0.128',
      '-home-dev-proj-demo/0000000a-0000-4000-8000-000000000001.jsonl',
    )
    expect(tell('claude-code', text, { subAgent: 'sidechain' }).turns).toEqual([
      [
        'final 00:04:20.134 00:04:20.231, 10832 in 13 out, /home/dev/proj/demo',
        'agent: sub prompt plain',
        'agent: ECHO: sub prompt plain',
      ],
    ])
  })
})
