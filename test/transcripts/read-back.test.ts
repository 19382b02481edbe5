import { cpSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { usageOf } from '../../daemon/transcripts/digest.ts'
import { compose, type Draft, type Fact, type Message } from '../../daemon/transcripts/formats/facts.ts'
import { liveChain, type Place, readBack, turnsOf } from '../../daemon/transcripts/read-back.ts'
import { ingestRig } from './ingest-rig.ts'
import { recordings } from './telling.ts'

function linesIn(...lines: string[]): Place[] {
  const dir = mkdtempSync(join(tmpdir(), 'lines-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, 'said.jsonl')
  writeFileSync(path, lines.join('\n'))
  let offset = 0
  return lines.map((line) => {
    const place = { harness: 'generic', path, offset, length: line.length }
    offset += line.length + 1
    return place
  })
}

async function linesAt(places: Place[]): Promise<(string | undefined)[]> {
  const lines: (string | undefined)[] = []
  for await (const [, line] of readBack(places, (_harness, line) => line)) lines.push(line)
  return lines
}

it('lets others have their turn before each further handful, and says so', async () => {
  const happened: string[] = []
  setImmediate(() => happened.push('another'))
  const onTurn = () => happened.push('a turn')
  const places = linesIn('one', 'two')
  for await (const [, line] of readBack(places, (_harness, line) => line, { linesAtOnce: 1, onTurn }))
    happened.push(line ?? '')
  expect(happened).toEqual(['one', 'another', 'a turn', 'two'])
})

it('follows no link: what stands at its other end is not what was read', async () => {
  const [place] = linesIn('line')
  const link = `${place?.path}.link`
  symlinkSync(place?.path ?? '', link)
  expect(await linesAt([place as Place, { ...(place as Place), path: link }])).toEqual(['line', undefined])
})

it('leaves out a line that is longer than any may be, and does not read it', async () => {
  const [place] = linesIn('line')
  const { harness, path } = place as Place
  truncateSync(path, 64 * 1024 * 1024 + 1)
  const huge = { harness, path, offset: 0, length: 64 * 1024 * 1024 + 1 }
  expect((await linesAt([huge, place as Place])).map((line) => line?.length)).toEqual([undefined, 4])
})

it('takes as many at a time as it is told, and a line as long as a book alone', async () => {
  const sizes = async (lengths: number[], linesAtOnce?: number) => {
    const handfuls = [0]
    const places = linesIn(...lengths.map((length) => 'x'.repeat(length)))
    const onTurn = () => handfuls.push(0)
    for await (const _ of readBack(places, () => '', { linesAtOnce, onTurn })) handfuls.push((handfuls.pop() ?? 0) + 1)
    return handfuls
  }
  const short = Array.from({ length: 40 }, () => 100)
  expect(await sizes(short)).toEqual([16, 16, 8])
  expect(await sizes(short, 20)).toEqual([20, 20])
  expect((await sizes(short, 1)).length).toBe(40)
  expect(await sizes([100, 100, 5_000_000, 100])).toEqual([2, 1, 1])
})

it('reads long and short lines through the same memory', async () => {
  const long = 'x'.repeat(100_000)
  expect(await linesAt(linesIn('first', long, 'end'))).toEqual(['first', long, 'end'])
})

const at = (id: string, parentId?: string | null, more: Partial<Draft> = {}): Fact =>
  compose({ by: 'person', text: id, id, parentId, ...more })
const ids = (...facts: Fact[]) => liveChain(facts).map(({ id }) => id)

describe('the live chain', () => {
  it('is all there is where nothing has a parent', () => {
    expect(ids(at('a'), at('b'), at('c'))).toEqual(['a', 'b', 'c'])
    expect(ids()).toEqual([])
  })

  it('leads to the newest message, whichever branch that is on', () => {
    const tree = [at('a', null), at('b', 'a'), at('c', 'b'), at('d', 'a')]
    expect(ids(...tree)).toEqual(['a', 'd'])
    expect(ids(...tree, at('e', 'c'))).toEqual(['a', 'b', 'c', 'e'])
  })

  it('begins anew with a message that says that it has no parent', () => {
    expect(ids(at('a', null), at('b', 'a'), at('c', null), at('d', 'c'))).toEqual(['c', 'd'])
  })

  it('is one of two that write into one file at once', () => {
    const both = [at('a', null), at('x1', 'a'), at('y1', 'a'), at('x2', 'x1'), at('y2', 'y1')]
    expect(ids(...both)).toEqual(['a', 'y1', 'y2'])
    expect(ids(...both, at('x3', 'x2'))).toEqual(['a', 'x1', 'x2', 'x3'])
  })

  it('takes a parent that is missing for the message before', () => {
    expect(ids(at('a', null), at('b', 'a'), at('c', 'lost'), at('d', 'c'))).toEqual(['a', 'b', 'c', 'd'])
    expect(ids(at('c', 'lost'), at('d', 'c'))).toEqual(['c', 'd'])
  })

  it.each([
    ['a message that is its own parent', [at('a', 'a')], ['a']],
    ['two that are parents of each other', [at('a', 'b'), at('b', 'a')], ['a', 'b']],
    ['a parent that comes later', [at('a', null), at('c', 'b'), at('b', 'a'), at('d', 'c')], ['a', 'c', 'b', 'd']],
  ])('ends for %s', (_what, facts, expected) => {
    expect(ids(...facts)).toEqual(expected)
  })

  it('holds the whole of an answer and all its results', () => {
    const part = (id: string, parentId: string) => at(id, parentId, { by: 'agent', answerId: 'm' })
    const result = (id: string, parentId: string) => at(id, parentId, { by: 'tool' })
    const facts = [at('q', null), part('c1', 'q'), part('c2', 'c1'), part('c3', 'c2')]
    const results = [result('r2', 'c2'), at('hook', 'r2', { by: 'injected' }), result('r3', 'c3'), result('r1', 'c1')]
    expect(ids(...facts, ...results, at('a', 'r1', { by: 'agent' }))).toEqual([
      ...['q', 'c1', 'c2', 'c3'],
      ...['r2', 'r3', 'r1', 'a'],
    ])
  })

  it('does not hold the answer to a prompt that was taken back', () => {
    const answer = at('b', 'a', { by: 'agent', answerId: 'm' })
    expect(ids(at('a', null), answer, at('r', 'b', { by: 'tool' }), at('c', null))).toEqual(['c'])
  })

  it('has a message that came again once, with its last words', () => {
    const chain = liveChain([at('a'), at('b'), at('a', undefined, { text: 'again' })])
    expect(chain.map(({ id, text }) => [id, text])).toEqual([
      ['a', 'again'],
      ['b', 'b'],
    ])
  })

  it('can be rewound, and a message may come back after that', () => {
    const facts = [at('a'), at('b'), at('c')]
    expect(ids(...facts, { kind: 'rewound', from: 'b' }, at('d'))).toEqual(['a', 'd'])
    expect(ids(...facts, { kind: 'rewound', from: 'b' }, at('b'))).toEqual(['a', 'b'])
    expect(ids(...facts, { kind: 'rewound', turns: 0 })).toEqual(['a', 'b', 'c'])
  })

  it('is that of the session, or of the sub-agent that is asked for', () => {
    const facts = [at('a', null), at('s', null, { subAgent: 'x' }), at('t', null, { subAgent: 'y' }), at('b', 'a')]
    expect(ids(...facts)).toEqual(['a', 'b'])
    expect(liveChain(facts, { subAgent: 'x' }).map(({ id }) => id)).toEqual(['s'])
  })

  it('says of each message where it was said', () => {
    const facts: Fact[] = [
      { kind: 'session', sessionId: 's', cwd: '/one', branch: 'main', model: 'm' },
      at('a'),
      { kind: 'session', cwd: '/two' },
      at('b', undefined, { by: 'agent' }),
    ]
    expect(liveChain(facts).map(({ id, cwd, branch, model }) => ({ id, cwd, branch, model }))).toEqual([
      { id: 'a', cwd: '/one', branch: 'main', model: undefined },
      { id: 'b', cwd: '/two', branch: 'main', model: 'm' },
    ])
  })

  it('is walked once, however long it is', () => {
    const long = Array.from({ length: 20_000 }, (_, n) => at(`${n}`, n === 0 ? null : `${n - 1}`))
    const rewinds = Array.from({ length: 10_000 }, (_, n): Fact => ({ kind: 'rewound', from: `${19_999 - n}` }))
    expect(ids(...long)).toHaveLength(20_000)
    expect(liveChain([...long, ...rewinds])).toHaveLength(10_000)
  })
})

let clock = 0
const said = (by: Draft['by'], text: string, more: Partial<Draft> = {}): Message =>
  compose({ by, text, id: text, at: ++clock, ...more })
const asks = (text: string) => said('person', text, { startsTurn: true })
const answers = (text: string) => said('agent', text, { ends: 'final' })
const notice = (id: string) => said('injected', '', { id, startsTurn: true })
const told = (...chain: Message[]) =>
  turnsOf(chain).map(({ startedBy, end, messageIds }) => `${startedBy} ${messageIds.join(' ')} ${end}`)

const used = (input: number) => ({ input, output: 1, cacheRead: 2, cacheWrite: 3 })

describe('the turns of a chain', () => {
  it('are told whole', () => {
    const call = { id: 'c', name: 'Bash', input: 'ls' }
    const chain = [
      said('injected', '', { id: 'i' }),
      compose({ by: 'person', text: 'list', id: 'q', at: 1000, startsTurn: true, cwd: '/work' }),
      compose({ by: 'agent', id: 'c', at: 2000, toolCalls: [call], answerId: 'm', usage: used(10) }),
      compose({ by: 'agent', id: 'd', at: 2000, text: 'look', answerId: 'm', usage: used(11) }),
      compose({ by: 'injected', id: 'h', at: 2500 }),
      compose({ by: 'tool', id: 'r', at: 3000, toolResults: [{ callId: 'c', text: 'a.ts' }] }),
      compose({ by: 'agent', id: 'a', at: 4000, text: 'done', ends: 'final', answerId: 'n', usage: used(20) }),
      compose({ by: 'system', id: 's', at: 5000 }),
    ]
    expect(turnsOf(chain)).toEqual([
      {
        startedBy: 'person',
        prompt: 'list',
        end: 'final',
        toolCalls: [call],
        messageIds: ['q', 'c', 'd', 'r', 'a'],
        usage: { input: 31, output: 2, cacheRead: 4, cacheWrite: 6 },
        startedAt: 1000,
        endedAt: 4000,
        cwd: '/work',
      },
    ])
  })

  it('end with the last answer, though a hook kept the agent from stopping', () => {
    expect(told(asks('q'), answers('a'), said('injected', '', { id: 'hook' }), said('agent', 'b'))).toEqual([
      'person q a b open',
    ])
    expect(told(asks('q'), answers('a'), said('agent', 'b', { ends: 'final' }))).toEqual(['person q a b final'])
  })

  it('are over when the next begins', () => {
    const settling = said('agent', 'a', { ends: 'settling' })
    expect(told(asks('q'), settling)).toEqual(['person q a settling'])
    expect(told(asks('q'), settling, asks('r'))).toEqual(['person q a final', 'person r open'])
    expect(told(asks('q'), said('agent', 'b'), asks('r'))).toEqual(['person q b aborted', 'person r open'])
  })

  it('begin without a person when an agent answers a notice', () => {
    expect(told(asks('q'), answers('a'), notice('n'))).toEqual(['person q a final'])
    expect(told(asks('q'), answers('a'), notice('n'), answers('b'))).toEqual(['person q a final', 'injected n b final'])
  })

  it('do not begin with a command that no agent answers', () => {
    const printed = said('injected', '', { id: 'stdout' })
    const chain = [asks('q'), answers('a'), notice('/compact'), printed, said('system', '', { id: 'none' }), asks('r')]
    expect(told(...chain, answers('b'))).toEqual(['person q a final', 'person r b final'])
  })

  it('are not broken by a notice in the middle', () => {
    expect(told(asks('q'), said('agent', 'a'), notice('n'), answers('b'))).toEqual(['person q a b final'])
  })

  it('are none where no person asked', () => {
    expect(told(answers('a'), said('tool', ''))).toEqual([])
  })
})

describe('usage', () => {
  it('counts each answer once and each message without one', () => {
    const parts = [
      compose({ by: 'agent', answerId: 'm', usage: used(1) }),
      compose({ by: 'agent', answerId: 'm', usage: used(5) }),
      compose({ by: 'agent', usage: used(10) }),
      compose({ by: 'agent', usage: used(10) }),
    ]
    expect(usageOf(parts)).toEqual({ input: 25, output: 3, cacheRead: 6, cacheWrite: 9 })
    expect(usageOf([])).toEqual({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 })
  })

  it('takes the last count of all, less what a fork began with', () => {
    const count = (all: number, last: number) =>
      compose({ by: 'system', total: { usage: { ...used(all) }, last: { ...used(last), output: 1 } } })
    expect(usageOf([count(30, 10), count(30, 10), count(45, 15)])).toEqual({
      input: 25,
      output: 1,
      cacheRead: 2,
      cacheWrite: 3,
    })
  })
})

const FIXTURES = join(import.meta.dirname, '../fixtures/transcripts')

/** Of each recording how the turn that was read last has ended, when and where: what listeners are told. */
const expected: Record<string, string[]> = {
  'claude-code-2.1.325/01-plain': [
    '00000001-0000-4000-8000-000000000001 final 2026-11-15T23:57:40.464Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/02-tools': [
    '00000002-0000-4000-8000-000000000001 final 2026-11-15T23:57:44.561Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/03-parallel': [
    '00000003-0000-4000-8000-000000000001 final 2026-11-15T23:57:48.055Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/06-compact-manual': [
    '00000006-0000-4000-8000-000000000001 final 2026-11-15T23:58:07.381Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/08-subagent-background': [
    '00000008-0000-4000-8000-000000000001 final 2026-11-15T23:58:15.369Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/09-subagent-foreground': [
    '00000009-0000-4000-8000-000000000001 final 2026-11-15T23:58:18.534Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/10-unicode': [
    '00000010-0000-4000-8000-000000000001 final 2026-11-15T23:58:20.885Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/12-big-output': [
    '00000012-0000-4000-8000-000000000001 final 2026-11-15T23:58:30.281Z in /home/dev/proj/demo',
    '00000012-0000-4000-8000-000000000002 final 2026-11-15T23:58:31.046Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/15-other-cwd-and-worktree': [
    '00000015-0000-4000-8000-000000000002 final 2026-11-15T23:58:57.386Z in /home/dev/proj/demo/.claude/worktrees/probe-wt',
    '00000015-0000-4000-8000-000000000001 final 2026-11-15T23:58:56.347Z in /home/dev/proj/demo/sub',
    '00000015-0000-4000-8000-000000000003 final 2026-11-15T23:58:58.663Z in /home/dev/proj/demo/sub',
  ],
  'claude-code-2.1.325/17-model-4.5': [
    '00000017-0000-4000-8000-000000000001 final 2026-11-15T23:59:04.055Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/18-automemory': [
    '00000018-0000-4000-8000-000000000001 final 2026-11-15T23:59:06.970Z in /home/dev/proj/demo',
    '00000018-0000-4000-8000-000000000002 final 2026-11-15T23:59:07.991Z in /home/dev/proj/demo',
    '00000018-0000-4000-8000-000000000003 final 2026-11-15T23:59:08.855Z in /home/dev/proj/demo',
    '00000018-0000-4000-8000-000000000004 final 2026-11-15T23:59:09.784Z in /home/dev/proj/demo',
  ],
  'claude-code-2.1.325/19-stop-hook-block': [
    '00000019-0000-4000-8000-000000000001 final 2026-11-15T23:59:12.452Z in /home/dev/proj/demo',
    '00000019-0000-4000-8000-000000000002 final 2026-11-15T23:59:13.606Z in /home/dev/proj/demo',
  ],
  'claude-code-older/1.0.128': [
    '0000000a-0000-4000-8000-000000000001 final 2026-11-16T00:04:20.900Z in /home/dev/proj/demo',
  ],
  'claude-code-older/2.0.77': [
    '0000000a-0000-4000-8000-000000000001 final 2026-11-16T00:04:48.663Z in /home/dev/proj/demo',
  ],
  'codex-0.166.0/01-plain': [
    '01a1e1a9-708a-7730-903b-653604b0d5ea final 2026-11-16T00:02:20.651Z in /home/dev/proj/demo',
  ],
  'codex-0.166.0/02-tools-hooks': [
    '01a1e1a9-79fe-7373-ab22-17d3788f74da final 2026-11-16T00:02:25.950Z in /home/dev/proj/demo',
  ],
  'codex-0.166.0/04-resume-fork': [
    '01a1e1a9-910b-7563-9f2d-1ed4cf19e992 final 2026-11-16T00:02:32.433Z in /home/dev/proj/demo',
    '01a1e1a9-a02e-7f42-becb-8edabb2565a7 final 2026-11-16T00:02:34.495Z in /home/dev/proj/demo',
  ],
  'codex-0.166.0/06-subagent': [
    '01a1e1a9-b9ce-7163-a781-d563a8047d00 final 2026-11-16T00:02:44.522Z in /home/dev/proj/demo',
  ],
  'codex-0.166.0/07-unicode': [
    '01a1e1a9-d42a-7931-96d7-93829d26cc1f final 2026-11-16T00:02:47.969Z in /home/dev/proj/demo',
  ],
  'gemini-cli-0.61.0/01-hooks-resume': [
    '973b8a0a-03d8-4f1a-a4e0-657cb4d97448 settling 2026-11-16T00:03:59.466Z in /home/dev/proj/demo',
  ],
  'pi/01-tree': ['7d0c1f52-8a41-4f0e-9f0f-5b1f6f2f0a01 final 2026-11-16T00:12:04.000Z in /home/dev/proj/demo'],
}

async function endsIn(client: string, scenario: string): Promise<string[]> {
  const rig = await ingestRig()
  cpSync(join(FIXTURES, client, scenario), rig.root, { recursive: true })
  const ends: string[] = []
  for (const { harness, path } of recordings().filter((one) => one.client === client && one.scenario === scenario)) {
    const progress = await rig.read(harness, path)
    if (!('ended' in progress) || !progress.ended) continue
    const { sessionId, end, at = 0, cwd, project, harness: by, ...rest } = progress.ended
    expect([by, project, rest]).toEqual([harness, cwd, {}])
    ends.push(`${sessionId} ${end} ${new Date(at).toISOString()} in ${cwd}`)
  }
  return ends
}

const scenarios = [...new Set(recordings().map(({ client, scenario }) => `${client}/${scenario}`))]

it('expects the end of every recording', () => {
  expect(Object.keys(expected).sort()).toEqual(scenarios.toSorted())
})

it.each(scenarios)('tells of the end of the last turn in %s, and of no sub-agent', async (name) => {
  const [client = '', scenario = ''] = name.split('/')
  expect(await endsIn(client, scenario)).toEqual(expected[name])
})
