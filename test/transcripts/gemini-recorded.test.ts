import { describe, expect, it } from 'vitest'
import { recorded, recordings, type Telling, tell } from './telling.ts'

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
