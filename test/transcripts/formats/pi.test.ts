import { describe, expect, it } from 'vitest'
import { recorded, recordings, type Telling, tell } from '../telling.ts'

const CLIENT = 'pi'
const DEMO = '/home/dev/proj/demo'

const expected: [string, string, Telling][] = [
  [
    '01-tree',
    '--home-dev-proj-demo--/2026-11-16T00-10-00-000Z_7d0c1f52-8a41-4f0e-9f0f-5b1f6f2f0a01.jsonl',
    {
      session: {
        sessionId: '7d0c1f52-8a41-4f0e-9f0f-5b1f6f2f0a01',
        cwd: DEMO,
        startedAt: Date.parse('2026-11-16T00:10:00.000Z'),
      },
      turns: [
        [
          'final 00:10:01.000 00:10:04.000, 1 calls, 1850 in 42 out 250 read 50 written, /home/dev/proj/demo',
          'person: Which port does it use?',
          'agent: Let me look.',
          'agent calls bash: grep port README.md',
          'tool: port: 4711',
          'agent: It uses 4711.',
        ],
        [
          'final 00:12:03.000 00:12:04.000, 300 in 8 out, /home/dev/proj/demo',
          'person: Leave it as it is',
          'agent: Left at 4711.',
        ],
      ],
      usage: '2150 in 50 out 250 read 50 written',
      compacted: ['unsaid'],
    },
  ],
  [
    '01-tree',
    '--home-dev-proj-demo--/2026-11-16T00-20-00-000Z_7d0c1f52-8a41-4f0e-9f0f-5b1f6f2f0a02.jsonl',
    {
      session: {
        sessionId: '7d0c1f52-8a41-4f0e-9f0f-5b1f6f2f0a02',
        forkOf: '7d0c1f52-8a41-4f0e-9f0f-5b1f6f2f0a01',
        cwd: DEMO,
        startedAt: Date.parse('2026-11-16T00:20:00.000Z'),
      },
      turns: [
        [
          'open 00:20:01.000 …, 1 calls, 40 in 9 out, /home/dev/proj/demo',
          'person: Go on from there',
          'agent calls read: {"path":"README.md","limit":20}',
        ],
      ],
      usage: '40 in 9 out',
    },
  ],
]

describe('transcripts of pi', () => {
  it.each(expected)('%s, %s is told whole', (scenario, path, telling) => {
    expect(tell('pi', recorded(CLIENT, scenario, path), { path })).toEqual(telling)
  })

  it('leaves no recording out', () => {
    const paths = recordings().filter(({ client }) => client === CLIENT)
    expect(paths.map(({ scenario, path }) => [scenario, path])).toEqual(
      expected.map(([scenario, path]) => [scenario, path]),
    )
  })
})
