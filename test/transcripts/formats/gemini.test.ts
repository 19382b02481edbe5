import { describe, expect, it } from 'vitest'
import { gemini } from '../../../daemon/transcripts/formats/gemini.ts'
import { recorded, recordings, type Telling, tell } from '../telling.ts'

const json = (value: unknown) => JSON.stringify(value)
const user = (id: string, content: unknown, more: object = {}) => json({ id, type: 'user', content, ...more })
const answer = (id: string, content: unknown, more: object = {}) => json({ id, type: 'gemini', content, ...more })
const turns = (...lines: string[]) =>
  tell('gemini', lines.join('\n')).turns.map(([headline, ...said]) => [headline?.split(' ')[0], ...said])

describe('a transcript of Gemini CLI', () => {
  it('has only the last form of a message that is written again', () => {
    const calls = [{ id: 'c', name: 'run_shell_command', args: { command: 'ls', description: 'list' } }]
    const tokens = { input: 100, output: 5, cached: 40, thoughts: 3, tool: 2, total: 110 }
    const told = tell(
      'gemini',
      [
        user('q', [{ text: 'list' }]),
        answer('a', '', { tokens }),
        answer('a', '', { tokens, toolCalls: calls }),
        answer('a', '', { tokens, toolCalls: calls }),
        user('r', [{ functionResponse: { id: 'c', response: { error: 'no such folder' } } }]),
        answer('b', [{ text: 'thought', thought: true }, { text: 'nothing there' }]),
      ].join('\n'),
    )
    expect(told).toEqual({
      session: {},
      turns: [
        [
          'settling … …, 1 calls, 62 in 8 out 40 read 0 written',
          'person: list',
          'agent calls run_shell_command: ls',
          'tool: no such folder',
          'agent: nothing there',
        ],
      ],
      usage: '62 in 8 out 40 read 0 written',
    })
  })

  it('loses what is rewound, and nothing for a message that was never seen', () => {
    const lines = [user('q1', 'one'), answer('a1', '1'), user('q2', 'two'), answer('a2', '2')]
    const first = ['final', 'person: one', 'agent: 1']
    expect(turns(...lines, json({ $rewindTo: 'q2' }), user('q3', 'three'))).toEqual([first, ['open', 'person: three']])
    expect(turns(...lines, json({ $rewindTo: 'elsewhere' }))).toEqual([first, ['settling', 'person: two', 'agent: 2']])
  })

  it('keeps what was said when the model is given another history', () => {
    const compressed = [
      { id: 'x1', type: 'user', content: [{ text: '<state_snapshot>PROBE</state_snapshot>' }] },
      { id: 'x2', type: 'gemini', content: [{ text: 'Got it.' }] },
    ]
    const lines = [user('q1', 'one'), answer('a1', '1'), json({ $set: { messages: compressed } }), user('q2', 'two')]
    expect(turns(...lines)).toEqual([
      ['final', 'person: one', 'agent: 1'],
      ['open', 'person: two'],
    ])
    expect(gemini.read(json({ $set: { messages: compressed } }))).toEqual([{ kind: 'compacted' }])
    expect(gemini.read(json({ $set: { messages: [] } }))).toEqual([{ kind: 'bookkeeping' }])
  })

  it('tells what was typed, not the files that were put in', () => {
    const content = [{ text: 'explain @a.ts' }, { text: 'PROBE' }]
    expect(turns(user('q', content, { displayContent: [{ text: 'explain @a.ts' }] }))).toEqual([
      ['open', 'person: explain @a.ts'],
    ])
  })

  it('has notes that were not said', () => {
    expect(gemini.read(json({ id: 'i', type: 'info', content: 'PROBE' }))).toMatchObject([{ by: 'system', text: '' }])
  })

  it('runs where a file beside it says', () => {
    const path = 'demo/chats/session-2026-11-16T00-03-973b8a0a.jsonl'
    const root = recorded('gemini-cli-0.61.0', '01-hooks-resume', 'demo/.project_root')
    const projects = json({ projects: { '/home/dev/other': 'other', '/home/dev/listed': 'demo' } })
    expect(gemini.folder?.files(path)).toEqual(['demo/.project_root', '../projects.json'])
    expect(gemini.folder?.cwd(path, new Map([['demo/.project_root', root]]))).toBe('/home/dev/proj/demo')
    expect(gemini.folder?.cwd(path, new Map([['../projects.json', projects]]))).toBe('/home/dev/listed')
    expect(
      gemini.folder?.cwd(
        path,
        new Map([
          ['demo/.project_root', 'relative'],
          ['../projects.json', '[]'],
        ]),
      ),
    ).toBeUndefined()
  })
})

const CLIENT = 'gemini-cli-0.61.0'

const expected: [string, string, Telling][] = [
  [
    '01-hooks-resume',
    'demo/chats/session-2026-11-16T00-03-973b8a0a.jsonl',
    {
      session: { sessionId: '973b8a0a-03d8-4f1a-a4e0-657cb4d97448', startedAt: Date.parse('2026-11-16T00:03:50.962Z') },
      turns: [
        [
          'final 00:03:51.701 00:03:52.633, 1 calls, 200 in 10 out',
          'person: Hello gemini [[sh: echo from gemini]] [[text: gemini done]]',
          'agent calls run_shell_command: echo from gemini',
          'tool: <untrusted_context>\nOutput: from gemini\nProcess Group PGID: 25961\n</untrusted_context>',
          'agent: gemini done',
        ],
        [
          'settling 00:03:59.214 00:03:59.466, 100 in 5 out',
          'person: Resumed gemini [[text: gemini resumed]]',
          'agent: gemini resumed',
        ],
      ],
      usage: '300 in 15 out',
    },
  ],
]

describe('transcripts of Gemini CLI', () => {
  it.each(expected)('%s, %s is told whole', (scenario, path, telling) => {
    expect(tell('gemini', recorded(CLIENT, scenario, path), { path })).toEqual(telling)
  })

  it('leaves no recording out', () => {
    const paths = recordings().filter(({ client }) => client === CLIENT)
    expect(paths.map(({ scenario, path }) => [scenario, path])).toEqual(
      expected.map(([scenario, path]) => [scenario, path]),
    )
  })
})
