import { describe, expect, it } from 'vitest'
import { recorded, recordings, type Telling, tell } from '../telling.ts'

const CLIENT = 'claude-code-older'
const DEMO = '/home/dev/proj/demo'

const expected: [string, string, Telling][] = [
  [
    '1.0.128',
    '-home-dev-proj-demo/0000000a-0000-4000-8000-000000000001.jsonl',
    {
      session: { sessionId: '0000000a-0000-4000-8000-000000000001', cwd: DEMO, branch: 'main' },
      turns: [
        [
          'final 00:04:03.828 00:04:04.160, 1 calls, 30751 in 60 out, /home/dev/proj/demo',
          'person: Legacy turn one [[think: hmm]] [[bash: echo legacy]] [[text: legacy done]]',
          'agent calls Bash: echo legacy',
          'tool: legacy',
          'agent: legacy done',
        ],
        [
          'final 00:04:07.231 00:04:07.362, 15530 in 9 out, /home/dev/proj/demo',
          'person: Legacy continue [[text: continued]]',
          'agent: continued',
        ],
        [
          'final 00:04:10.338 00:04:10.462, 15647 in 9 out, /home/dev/proj/demo',
          'person: Legacy resume [[text: resumed]]',
          'agent: resumed',
        ],
        [
          'final 00:04:19.740 00:04:20.900, 1 calls, 31215 in 55 out, /home/dev/proj/demo',
          'person: Legacy agent [[agent: sub prompt plain]] [[text: agent done]]',
          'agent calls Task: {"description":"scripted subagent","subagent_type":"general-purpose","prompt":"sub prompt plain"}',
          'tool: ECHO: sub prompt plain',
          'agent: agent done',
        ],
      ],
      usage: '93143 in 133 out',
      compacted: ['manual'],
    },
  ],
  [
    '1.0.128',
    '-home-dev-proj-demo/47db884f-b4aa-4a0e-a3ab-c20a22441c73.jsonl',
    { session: { sessionId: '47db884f-b4aa-4a0e-a3ab-c20a22441c73' }, turns: [], usage: '0 in 0 out' },
  ],
  [
    '2.0.77',
    '-home-dev-proj-demo/0000000a-0000-4000-8000-000000000001.jsonl',
    {
      session: { sessionId: '0000000a-0000-4000-8000-000000000001', cwd: DEMO, branch: 'main' },
      turns: [
        [
          'final 00:04:25.913 00:04:28.276, 1 calls, 36018 in 60 out, /home/dev/proj/demo',
          'person: Legacy turn one [[think: hmm]] [[bash: echo legacy]] [[text: legacy done]]',
          'agent calls Bash: echo legacy',
          'tool: legacy',
          'agent: legacy done',
        ],
        [
          'final 00:04:33.057 00:04:33.193, 18075 in 9 out, /home/dev/proj/demo',
          'person: Legacy continue [[text: continued]]',
          'agent: continued',
        ],
        [
          'final 00:04:37.033 00:04:37.166, 18114 in 9 out, /home/dev/proj/demo',
          'person: Legacy resume [[text: resumed]]',
          'agent: resumed',
        ],
        [
          'final 00:04:48.087 00:04:48.663, 1 calls, 36691 in 55 out, /home/dev/proj/demo',
          'person: Legacy agent [[agent: sub prompt plain]] [[text: agent done]]',
          'agent calls Task: {"description":"scripted subagent","subagent_type":"general-purpose","prompt":"sub prompt plain"}',
          "tool: ECHO: sub prompt plain\nagentId: a3f8cb9 (for resuming to continue this agent's work if needed)",
          'agent: agent done',
        ],
      ],
      usage: '108898 in 133 out',
      compacted: ['manual'],
    },
  ],
  [
    '2.0.77',
    '-home-dev-proj-demo/agent-a3f8cb9.jsonl',
    {
      session: { sessionId: '0000000a-0000-4000-8000-000000000001', subAgent: 'a3f8cb9', cwd: DEMO, branch: 'main' },
      turns: [
        [
          'final 00:04:48.271 00:04:48.315, 10795 in 13 out, /home/dev/proj/demo',
          'agent: sub prompt plain',
          'agent: ECHO: sub prompt plain',
        ],
      ],
      usage: '10795 in 13 out',
    },
  ],
]

/** Sessions whose prompt went into another one: nothing but their sub-agents was written. */
const EMPTY = [
  '1ce332cd-1e41-471f-b787-4f2ebb32aea9',
  'b1076679-0350-4706-9798-f5d43527b59f',
  'd9730112-5951-4c71-b795-5969ee7130b9',
  'fd508c0d-378e-4d62-bd71-42b91818101c',
]

/** Version 2.0.77 warms three sub-agents up whenever it starts: who, of which session, when, and tokens in. */
const WARMED: [string, string, string, number][] = [
  ['a09762b', 'b1076679-0350-4706-9798-f5d43527b59f', '00:04:47.173 00:04:47.480', 3409],
  ['a0a7852', 'fd508c0d-378e-4d62-bd71-42b91818101c', '00:04:42.441 00:04:42.915', 3409],
  ['a2760ad', '1ce332cd-1e41-471f-b787-4f2ebb32aea9', '00:04:32.405 00:04:32.615', 10302],
  ['a2e27e3', '1ce332cd-1e41-471f-b787-4f2ebb32aea9', '00:04:32.402 00:04:32.598', 10207],
  ['a5a8701', 'b1076679-0350-4706-9798-f5d43527b59f', '00:04:47.156 00:04:47.514', 10207],
  ['a5d14f8', 'd9730112-5951-4c71-b795-5969ee7130b9', '00:04:36.412 00:04:36.715', 10207],
  ['a674677', 'fd508c0d-378e-4d62-bd71-42b91818101c', '00:04:42.440 00:04:43.049', 10302],
  ['a69724c', '0000000a-0000-4000-8000-000000000001', '00:04:25.796 00:04:26.462', 3409],
  ['a790248', 'fd508c0d-378e-4d62-bd71-42b91818101c', '00:04:42.436 00:04:43.015', 10207],
  ['abd18d7', 'b1076679-0350-4706-9798-f5d43527b59f', '00:04:47.172 00:04:47.624', 10302],
  ['ac26929', '0000000a-0000-4000-8000-000000000001', '00:04:25.755 00:04:26.667', 10207],
  ['ad65422', '1ce332cd-1e41-471f-b787-4f2ebb32aea9', '00:04:32.407 00:04:32.583', 3409],
  ['ad9fa91', 'd9730112-5951-4c71-b795-5969ee7130b9', '00:04:36.424 00:04:36.758', 10302],
  ['addc754', '0000000a-0000-4000-8000-000000000001', '00:04:25.795 00:04:26.704', 10302],
  ['ae4b150', 'd9730112-5951-4c71-b795-5969ee7130b9', '00:04:36.425 00:04:36.680', 3409],
]

for (const sessionId of EMPTY)
  expected.push([
    '2.0.77',
    `-home-dev-proj-demo/${sessionId}.jsonl`,
    { session: { sessionId }, turns: [], usage: '0 in 0 out' },
  ])
for (const [subAgent, sessionId, times, input] of WARMED)
  expected.push([
    '2.0.77',
    `-home-dev-proj-demo/agent-${subAgent}.jsonl`,
    {
      session: { sessionId, subAgent, cwd: DEMO, branch: 'main' },
      turns: [[`final ${times}, ${input} in 10 out, ${DEMO}`, 'agent: Warmup', 'agent: ECHO: Warmup']],
      usage: `${input} in 10 out`,
    },
  ])

describe('transcripts of older versions of Claude Code', () => {
  it.each(expected)('%s, %s is told whole', (scenario, path, telling) => {
    expect(tell('claude-code', recorded(CLIENT, scenario, path), { path })).toEqual(telling)
  })

  it('leaves no recording out', () => {
    const paths = recordings().filter(({ client }) => client === CLIENT)
    expect(paths.map(({ scenario, path }) => `${scenario} ${path}`).sort()).toEqual(
      expected.map(([scenario, path]) => `${scenario} ${path}`).sort(),
    )
  })
})
