import { describe, expect, it } from 'vitest'
import { recorded, recordings, type Telling, tell } from '../telling.ts'

const CLIENT = 'codex-0.166.0'
const DEMO = '/home/dev/proj/demo'

const expected: [string, string, Telling][] = [
  [
    '01-plain',
    '2026/11/16/rollout-2026-11-16T00-02-20-01a1e1a9-708a-7730-903b-653604b0d5ea.jsonl',
    {
      session: {
        sessionId: '01a1e1a9-708a-7730-903b-653604b0d5ea',
        cwd: DEMO,
        branch: 'main',
        startedAt: Date.parse('2026-11-16T00:02:20.446Z'),
        interactive: false,
        model: 'gpt-5.1-codex',
      },
      turns: [
        [
          'final 00:02:20.554 00:02:20.651, 9858 in 20 out, /home/dev/proj/demo',
          'person: Hello codex [[text: hi from fake]]',
          'agent: hi from fake',
        ],
      ],
      usage: '9858 in 20 out',
    },
  ],
  [
    '02-tools-hooks',
    '2026/11/16/rollout-2026-11-16T00-02-22-01a1e1a9-79fe-7373-ab22-17d3788f74da.jsonl',
    {
      session: {
        sessionId: '01a1e1a9-79fe-7373-ab22-17d3788f74da',
        cwd: DEMO,
        branch: 'main',
        startedAt: Date.parse('2026-11-16T00:02:22.984Z'),
        interactive: false,
        model: 'gpt-5.1-codex',
      },
      turns: [
        [
          'final 00:02:23.308 00:02:25.950, 2 calls, 30692 in 60 out, /home/dev/proj/demo',
          'person: With hooks [[think: pondering]] [[sh: echo hi from codex]] [[sh: false]] [[text: done with tools]]',
          'agent calls exec_command: echo hi from codex',
          'tool: Chunk ID: 77d2da\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 4\nOutput:\nhi from codex\n',
          'agent calls exec_command: false',
          'tool: Chunk ID: f94866\nWall time: 0.0000 seconds\nProcess exited with code 1\nOriginal token count: 0\nOutput:\n',
          'agent: done with tools',
        ],
      ],
      usage: '30692 in 60 out',
    },
  ],
  [
    '04-resume-fork',
    '2026/11/16/rollout-2026-11-16T00-02-28-01a1e1a9-910b-7563-9f2d-1ed4cf19e992.jsonl',
    {
      session: {
        sessionId: '01a1e1a9-910b-7563-9f2d-1ed4cf19e992',
        cwd: DEMO,
        branch: 'main',
        startedAt: Date.parse('2026-11-16T00:02:28.756Z'),
        interactive: false,
        model: 'gpt-5.1-codex',
      },
      turns: [
        [
          'final 00:02:28.904 00:02:30.486, 9965 in 20 out, /home/dev/proj/demo',
          'person: Base turn [[text: base]]',
          'agent: base',
        ],
        [
          'final 00:02:30.850 00:02:32.433, 10155 in 20 out, /home/dev/proj/demo',
          'person: Resumed turn [[text: resumed]]',
          'agent: resumed',
        ],
      ],
      usage: '20120 in 40 out',
    },
  ],
  [
    '04-resume-fork',
    '2026/11/16/rollout-2026-11-16T00-02-32-01a1e1a9-a02e-7f42-becb-8edabb2565a7.jsonl',
    {
      session: {
        sessionId: '01a1e1a9-a02e-7f42-becb-8edabb2565a7',
        forkOf: '01a1e1a9-910b-7563-9f2d-1ed4cf19e992',
        cwd: DEMO,
        branch: 'main',
        startedAt: Date.parse('2026-11-16T00:02:32.628Z'),
        interactive: false,
        model: 'gpt-5.1-codex',
      },
      turns: [
        [
          'final 00:02:32.896 00:02:34.495, 10369 in 20 out, /home/dev/proj/demo',
          'person: Forked turn [[text: forked]]',
          'agent: forked',
        ],
      ],
      usage: '10369 in 20 out',
    },
  ],
  [
    '06-subagent',
    '2026/11/16/rollout-2026-11-16T00-02-39-01a1e1a9-b9ce-7163-a781-d563a8047d00.jsonl',
    {
      session: {
        sessionId: '01a1e1a9-b9ce-7163-a781-d563a8047d00',
        cwd: DEMO,
        branch: 'main',
        startedAt: Date.parse('2026-11-16T00:02:39.192Z'),
        interactive: false,
        model: 'gpt-5.1-codex',
      },
      turns: [
        [
          'final 00:02:39.438 00:02:44.522, 2 calls, 30728 in 60 out, /home/dev/proj/demo',
          'person: Spawn [[call: multi_agent_v1.spawn_agent | {"message":"Sub task {{sh: echo from sub}} {{text: SUB-RESULT}}"} ]] [[sh: sleep 3]] [[text: parent done]]',
          'agent calls multi_agent_v1.spawn_agent: {"message":"Sub task [[sh: echo from sub]] [[text: SUB-RESULT]]"}',
          'tool: {"agent_id":"01a1e1a9-bb2d-7482-9ae1-00bae420d780","nickname":"Hume"}',
          'agent calls exec_command: sleep 3',
          'tool: Chunk ID: bce022\nWall time: 2.9179 seconds\nProcess exited with code 0\nOriginal token count: 0\nOutput:\n',
          'agent: parent done',
        ],
      ],
      usage: '30728 in 60 out',
    },
  ],
  [
    '06-subagent',
    '2026/11/16/rollout-2026-11-16T00-02-39-01a1e1a9-bb2d-7482-9ae1-00bae420d780.jsonl',
    {
      session: {
        sessionId: '01a1e1a9-b9ce-7163-a781-d563a8047d00',
        subAgent: '01a1e1a9-bb2d-7482-9ae1-00bae420d780',
        cwd: DEMO,
        branch: 'main',
        startedAt: Date.parse('2026-11-16T00:02:39.544Z'),
        model: 'gpt-5.1-codex',
      },
      turns: [
        [
          'final 00:02:39.819 00:02:40.127, 1 calls, 15354 in 40 out, /home/dev/proj/demo',
          'agent: Sub task [[sh: echo from sub]] [[text: SUB-RESULT]]',
          'agent calls exec_command: echo from sub',
          'tool: Chunk ID: 73d9db\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 3\nOutput:\nfrom sub\n',
          'agent: SUB-RESULT',
        ],
      ],
      usage: '15354 in 40 out',
    },
  ],
  [
    '07-unicode',
    '2026/11/16/rollout-2026-11-16T00-02-45-01a1e1a9-d42a-7931-96d7-93829d26cc1f.jsonl',
    {
      session: {
        sessionId: '01a1e1a9-d42a-7931-96d7-93829d26cc1f',
        cwd: DEMO,
        branch: 'main',
        startedAt: Date.parse('2026-11-16T00:02:45.947Z'),
        interactive: false,
        model: 'gpt-5.1-codex',
      },
      turns: [
        [
          'final 00:02:46.150 00:02:47.969, 1 calls, 20177 in 40 out, /home/dev/proj/demo',
          'person: Grüße 日本語 👩\u200d👩\u200d👧\u200d👦 sep\u2028sep [[sh: printf "ünï ✓\\\\n"]] [[text: 完了 🎉]]',
          'agent calls exec_command: printf "ünï ✓\\\\n"',
          'tool: Chunk ID: 326f0d\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 3\nOutput:\nünï ✓\n',
          'agent: 完了 🎉',
        ],
      ],
      usage: '20177 in 40 out',
    },
  ],
]

describe('transcripts of Codex', () => {
  it.each(expected)('%s, %s is told whole', (scenario, path, telling) => {
    expect(tell('codex', recorded(CLIENT, scenario, path), { path })).toEqual(telling)
  })

  it('leaves no recording out', () => {
    const paths = recordings().filter(({ client }) => client === CLIENT)
    expect(paths.map(({ scenario, path }) => [scenario, path])).toEqual(
      expected.map(([scenario, path]) => [scenario, path]),
    )
  })
})
