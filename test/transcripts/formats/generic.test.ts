import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { generic } from '../../../daemon/transcripts/formats/generic.ts'
import { tell } from '../telling.ts'

const json = (value: unknown) => JSON.stringify(value)
const turns = (...lines: object[]) =>
  tell('generic', lines.map(json).join('\n')).turns.map(([headline, ...said]) => [headline?.split(' ')[0], ...said])

describe('the generic form', () => {
  it('reads the example of its page', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/harnesses.md'), 'utf8')
    const example = /```jsonl\n(.*?)```/s.exec(page)?.[1] ?? ''
    expect(tell('generic', example, { path: 'my-agent/today.jsonl' })).toEqual({
      session: {
        sessionId: 'today',
        cwd: '/home/me/shop',
        branch: 'main',
        startedAt: Date.parse('2026-11-16T10:00:00Z'),
      },
      turns: [
        [
          'final 10:00:05.000 …, 1 calls, 1900 in 52 out, /home/me/shop',
          'person: Why is the build red?',
          'agent: Let me look.',
          'agent calls bash: npm run build',
          "tool: error TS2304: Cannot find name 'total'.",
          'agent: An import is missing in cart.ts.',
        ],
      ],
      usage: '1900 in 52 out',
    })
  })

  it.each([
    ['2026-10-31T23:30:00-11:00', -660],
    ['2026-11-02T00:30:00+1400', 840],
    ['2026-11-01T10:30:00Z', undefined],
    ['2026-11-01T10:30:00+00:00', undefined],
    ['2026-11-01T10:30:00-00:00', undefined],
    ['2026-13-01T10:30:00+02:00', undefined],
    [1_793_529_000, undefined],
  ])('knows from %s where something was said', (at, minutesEast) => {
    const [message] = generic.read(json({ type: 'user', text: 'q', at }))
    expect(message).toHaveProperty('by', 'person')
    expect((message as { minutesEast?: number }).minutesEast).toBe(minutesEast)
  })

  it('ends a turn where it says so, and else perhaps', () => {
    const ask = { type: 'user', text: 'q' }
    expect(turns(ask, { type: 'assistant', text: 'a' })).toEqual([['settling', 'person: q', 'agent: a']])
    expect(turns(ask, { type: 'assistant', text: 'a', end: 'final' })).toEqual([['final', 'person: q', 'agent: a']])
    expect(turns(ask, { type: 'assistant', text: 'a' }, { type: 'end' })).toEqual([['final', 'person: q', 'agent: a']])
    expect(turns(ask, { type: 'end', end: 'aborted' })).toEqual([['aborted', 'person: q']])
  })

  it('is a tree where it has parents, and can be rewound', () => {
    const lines = [
      { type: 'user', id: 'q1', parentId: null, text: 'one' },
      { type: 'assistant', id: 'a1', parentId: 'q1', text: '1' },
      { type: 'user', id: 'q2', parentId: 'a1', text: 'two' },
    ]
    expect(turns(...lines, { type: 'user', id: 'q3', parentId: 'a1', text: 'three' })).toEqual([
      ['final', 'person: one', 'agent: 1'],
      ['open', 'person: three'],
    ])
    expect(turns(...lines, { type: 'rewind', from: 'q2' })).toEqual([['settling', 'person: one', 'agent: 1']])
    expect(turns(...lines, { type: 'rewind', turns: 1 })).toEqual([['settling', 'person: one', 'agent: 1']])
  })

  it('reads messages as model APIs have them', () => {
    expect(
      turns(
        { role: 'system', content: 'PROBE' },
        { role: 'user', content: 'list' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'bash', input: { command: 'ls' } }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'a.ts' }] }],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'one file' }] },
      ),
    ).toEqual([['settling', 'person: list', 'agent calls bash: ls', 'tool: a.ts', 'agent: one file']])
  })

  it('tells a compaction and what the session is', () => {
    expect(generic.read(json({ type: 'compaction', trigger: 'auto', at: 1_794_787_200 }))).toMatchObject([
      { kind: 'compacted', trigger: 'auto', at: 1_794_787_200_000 },
      { kind: 'message', by: 'system' },
    ])
    expect(
      generic.read(
        json({ type: 'session', id: 's', forkOf: 'r', subAgent: 'h', cwd: 'relative', model: 'm', interactive: false }),
      ),
    ).toEqual([{ kind: 'session', sessionId: 's', forkOf: 'r', subAgent: 'h', model: 'm', interactive: false }])
  })
})
