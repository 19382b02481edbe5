import { appendFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createTurnEnds, type EndedTurn, type TurnEnd } from '../../daemon/transcripts/ingest.ts'
import { manualTime } from '../support/clock.ts'
import { ingestRig } from './ingest-rig.ts'
import { samples } from './samples.ts'

const json = (value: unknown) => JSON.stringify(value)
const NAMES: Record<string, string> = {
  'claude-code': '-work/s.jsonl',
  codex: '2026/rollout-0a1e1a9d-b9ce-7163-a781-d563a8047d00.jsonl',
  gemini: 'slug/chats/session-s.jsonl',
  pi: '--work--/t_s.jsonl',
  generic: 's.jsonl',
}

describe.each(samples)('ingestion of $harness', ({ harness, begin, asks, answers }) => {
  const name = NAMES[harness] as string
  const first = [
    ...begin,
    asks({ id: 'q1', after: null, text: 'one?' }),
    ...answers({ id: 'a1', after: 'q1', text: 'one' }),
  ]
  const second = [asks({ id: 'q2', after: 'a1', text: 'two?' }), ...answers({ id: 'a2', after: 'q2', text: 'two' })]

  it('has one row for each message, whose place gives back its line, and the words of each', async () => {
    const rig = await ingestRig()
    rig.write(name, first)
    expect(await rig.read(harness, name)).toMatchObject({ state: 'read', unreadBytes: 0, ended: { sessionId: 's' } })
    rig.append(name, second)
    rig.restart()
    await rig.read(harness, name)
    const lines = [...first, ...second]
    for (const place of rig.places()) expect(lines).toContain(place)
    expect([...rig.words.values()]).toEqual(['one?', 'one', 'two?', 'two'])
    expect(rig.messages().filter(({ by }) => by === 'person' || by === 'agent')).toEqual([
      { session: 's', uid: 'q1', by: 'person', copied: 0, rewound: 0, gone: 0 },
      { session: 's', uid: 'a1', by: 'agent', copied: 0, rewound: 0, gone: 0 },
      { session: 's', uid: 'q2', by: 'person', copied: 0, rewound: 0, gone: 0 },
      { session: 's', uid: 'a2', by: 'agent', copied: 0, rewound: 0, gone: 0 },
    ])
  })

  it('has the same rows after the file was rewritten', async () => {
    const rig = await ingestRig()
    rig.write(name, [...first, ...second])
    await rig.read(harness, name)
    const before = rig.messages()
    rig.write(`${name}.new`, [...begin, ...begin, ...first, ...second])
    renameSync(join(rig.root, `${name}.new`), join(rig.root, name))
    await rig.read(harness, name)
    expect(rig.messages()).toEqual(before)
    expect([...rig.words.values()].sort()).toEqual(['one', 'one?', 'two', 'two?'])
    for (const place of rig.places()) expect([...first, ...second]).toContain(place)
  })
})

describe('ingestion', () => {
  it('tells lines without an id apart by what they say and how often they said it', async () => {
    const rig = await ingestRig()
    const yes = json({ type: 'user', text: 'yes' })
    rig.write('s.jsonl', [yes, yes])
    await rig.read('generic', 's.jsonl')
    rig.append('s.jsonl', [yes])
    await rig.read('generic', 's.jsonl')
    const before = rig.messages().map(({ uid }) => uid)
    expect(before.map((uid) => uid.slice(-2))).toEqual(['.1', '.2', '.3'])
    rig.write('s.jsonl', [yes, yes])
    await rig.read('generic', 's.jsonl')
    expect(rig.messages().map(({ uid, gone }) => [uid, gone])).toEqual([
      [before[0], 0],
      [before[1], 0],
      [before[2], 1],
    ])
  })

  it.each([
    ['after its origin', ['one', 'two']],
    ['before its origin', ['two', 'one']],
  ])('marks what a fork repeats, and names its origin: read %s', async (_when, order) => {
    const rig = await ingestRig()
    const [u1, u2] = ['0f8d7a52-6a1c-4d0e-9f6b-1c2d3e4f5a61', '0f8d7a52-6a1c-4d0e-9f6b-1c2d3e4f5a62'] as const
    const line = (session: string, id: string, text: string) =>
      json({
        type: 'user',
        uuid: id,
        parentUuid: null,
        sessionId: session,
        cwd: '/work',
        timestamp: '2026-11-16T10:00:00Z',
        message: { content: text },
      })
    rig.write('-work/one.jsonl', [line('one', u1, 'first')])
    // Times of birth are of the kernel's clock, which has ticks.
    const born = Date.now()
    while (Date.now() < born + 20);
    rig.write('-work/two.jsonl', [line('two', u1, 'first'), line('two', u2, 'second')])
    for (const name of order) await rig.read('claude-code', `-work/${name}.jsonl`)
    const rows = rig.messages().map(({ session, uid, copied }) => [session, uid, copied])
    expect(rows.sort()).toEqual([
      ['one', u1, 0],
      ['two', u1, 1],
      ['two', u2, 0],
    ])
    expect(rig.sessionRows()).toHaveLength(2)
    expect(rig.sessionRows()).toEqual(
      expect.arrayContaining([
        { harness: 'claude-code', session: 'one', fork_of: null, cwd: '/work', project: '/work' },
        { harness: 'claude-code', session: 'two', fork_of: 'one', cwd: '/work', project: '/work' },
      ]),
    )
  })

  it('does not take sessions that number their messages for copies of each other', async () => {
    const rig = await ingestRig()
    rig.write('a.jsonl', [json({ type: 'user', id: '1', text: 'apples' })])
    rig.write('b.jsonl', [json({ type: 'user', id: '1', text: 'pears' })])
    for (const name of ['a.jsonl', 'b.jsonl']) await rig.read('generic', name)
    expect(rig.messages().map(({ copied }) => copied)).toEqual([0, 0])
  })

  it('finds both of two messages that have the same short id at the same time, unless one session names the other', async () => {
    const rig = await ingestRig()
    const timestamp = '2026-11-16T10:00:00Z'
    const file = (id: string, text: string, parentSession?: string) => [
      json({ type: 'session', version: 3, id, timestamp, cwd: '/work', parentSession }),
      json({ type: 'message', id: 'a1', parentId: null, timestamp, message: { role: 'user', content: text } }),
    ]
    rig.write('--work--/t_one.jsonl', file('one', 'apples'))
    rig.write('--work--/t_two.jsonl', file('two', 'pears!'))
    rig.write('--work--/t_fork.jsonl', file('fork', 'apples', '/elsewhere/t_one.jsonl'))
    for (const name of ['one', 'two', 'fork']) await rig.read('pi', `--work--/t_${name}.jsonl`)
    expect(rig.messages().map(({ session, copied }) => [session, copied])).toEqual([
      ['one', 0],
      ['two', 0],
      ['fork', 1],
    ])
  })

  it.each([
    ['that name no origin', undefined, 0],
    ['of which one names the other', 'a', 1],
  ])(
    'takes equal lines without ids, in the same second in two sessions %s, for copies or not',
    async (_, forkOf, copied) => {
      const rig = await ingestRig()
      const at = '2026-11-16T10:00:00Z'
      const lines = (id: string, own: string) => [
        json({ type: 'session', id, cwd: '/work', ...(id === 'b' && { forkOf }) }),
        json({ type: 'user', text: own, at: `2026-11-16T09:59:5${own.length}Z` }),
        json({ type: 'assistant', text: 'Done.', end: 'final', at }),
      ]
      rig.write('a.jsonl', lines('a', 'apples'))
      rig.write('b.jsonl', lines('b', 'pears'))
      for (const name of ['a.jsonl', 'b.jsonl']) await rig.read('generic', name)
      expect(rig.sessionRows()).toMatchObject([{ fork_of: null }, { fork_of: forkOf ?? null }])
      expect(rig.messages().map(({ session, by, copied }) => [session, by, copied])).toEqual([
        ['a', 'person', 0],
        ['a', 'agent', 0],
        ['b', 'person', 0],
        ['b', 'agent', copied],
      ])
      const { row = 0 } = rig.sessions.session('generic', 'b') ?? {}
      expect([...rig.sessions.after(row, undefined)].flatMap(({ part }) => part)).toHaveLength(2 - 2 * copied)
    },
  )

  it.each([
    ['from a message on', { type: 'rewind', from: 'q2' }],
    ['the last turn', { type: 'rewind', turns: 1 }],
  ])('marks what was rewound: %s', async (_what, rewind) => {
    const rig = await ingestRig()
    const said = (id: string) => json({ type: id.startsWith('q') ? 'user' : 'assistant', id, text: id })
    rig.write('s.jsonl', [said('q1'), said('a1'), said('q2'), said('a2'), json(rewind), said('q3')])
    await rig.read('generic', 's.jsonl')
    const rewound = () => rig.messages().flatMap((row) => (row.rewound ? [row.uid] : []))
    expect(rewound()).toEqual(['q2', 'a2'])
    rig.write('s.jsonl', [said('q1'), said('a1'), said('q2'), said('a2'), said('q3')])
    await rig.read('generic', 's.jsonl')
    expect(rewound()).toEqual([])
  })

  it('keeps the rows of a deleted file, and knows them again when it comes back', async () => {
    const rig = await ingestRig()
    rig.write('s.jsonl', [json({ type: 'user', id: 'q', text: 'hello' })])
    await rig.read('generic', 's.jsonl')
    rmSync(join(rig.root, 's.jsonl'))
    expect(await rig.read('generic', 's.jsonl')).toEqual({ state: 'gone' })
    const gone = () => rig.column('SELECT gone FROM files')
    expect([gone(), rig.messages().length]).toEqual([[1], 1])
    rig.write('s.jsonl', [json({ type: 'user', id: 'q', text: 'hello' })])
    await rig.read('generic', 's.jsonl')
    expect([gone(), rig.messages().length]).toEqual([[0], 1])
  })

  it('finds the messages of a moved file in its new place, whichever of the two is looked at first', async () => {
    const rig = await ingestRig()
    const said = (id: string) => json({ type: 'user', id, text: id })
    rig.write('a/s.jsonl', [json({ type: 'session', id: 's' }), said('q1'), said('q2')])
    await rig.read('generic', 'a/s.jsonl')
    rig.write('b/s.jsonl', [json({ type: 'session', id: 's' }), said('q1'), said('q2')])
    rmSync(join(rig.root, 'a'), { recursive: true })
    await rig.read('generic', 'b/s.jsonl')
    expect(rig.again()).toEqual([])
    await rig.read('generic', 'a/s.jsonl')
    expect(rig.again()).toEqual(['b/s.jsonl'])
    rig.restart()
    await rig.read('generic', 'b/s.jsonl')
    expect(rig.standing()).toEqual(['q1 b/s.jsonl', 'q2 b/s.jsonl'])
    expect([...rig.words.values()]).toEqual(['q1', 'q2'])
    expect(await rig.read('generic', 'b/s.jsonl')).toEqual({ state: 'read', lines: 0, unreadBytes: 0 })

    // And back: what is there as it was is read again as well.
    rig.write('a/s.jsonl', [json({ type: 'session', id: 's' }), said('q1'), said('q2')])
    await rig.read('generic', 'a/s.jsonl')
    rmSync(join(rig.root, 'b/s.jsonl'))
    await rig.read('generic', 'b/s.jsonl')
    expect(rig.again()).toEqual(['a/s.jsonl'])
    await rig.read('generic', 'a/s.jsonl')
    expect(rig.standing()).toEqual(['q1 a/s.jsonl', 'q2 a/s.jsonl'])
  })

  it('finds in a copy what the original does not hold any more, and sends no file back and forth', async () => {
    const rig = await ingestRig()
    const lines = ['q1', 'q2', 'q3'].map((id) => json({ type: 'user', id, text: id }))
    const begin = json({ type: 'session', id: 's' })
    rig.write('a.jsonl', [begin, ...lines])
    rig.write('copy.jsonl', [begin, ...lines])
    await rig.read('generic', 'a.jsonl')
    await rig.read('generic', 'copy.jsonl')
    rig.write('a.jsonl', [begin, ...lines.slice(0, 1)])
    await rig.read('generic', 'a.jsonl')
    expect([rig.again(), rig.standing()]).toEqual([['copy.jsonl'], ['q1 a.jsonl']])
    await rig.read('generic', 'copy.jsonl')
    expect([rig.again(), rig.standing()]).toEqual([[], ['q1 a.jsonl', 'q2 copy.jsonl', 'q3 copy.jsonl']])
    rig.write('copy.jsonl', [begin])
    await rig.read('generic', 'copy.jsonl')
    expect(rig.again()).toEqual(['a.jsonl'])
    await rig.read('generic', 'a.jsonl')
    expect([rig.again(), rig.standing()]).toEqual([[], ['q1 a.jsonl']])
  })

  it('knows the project of a session from its sub-agents until its own transcript tells it', async () => {
    const rig = await ingestRig()
    const said = (id: string, cwd: string, more: object = {}) =>
      json({ type: 'user', uuid: id, parentUuid: null, sessionId: 's', cwd, message: { content: id }, ...more })
    const places = () => rig.column(`SELECT cwd || ', ' || project FROM sessions`)
    const helper = { isSidechain: true, agentId: 'x' }
    rig.write('-work/s/subagents/agent-x.jsonl', [said('one', '/work/tree', helper)])
    await rig.read('claude-code', '-work/s/subagents/agent-x.jsonl')
    expect(places()).toEqual(['/work/tree, /work/tree'])
    rig.write('-work/s.jsonl', [said('two', '/work'), said('three', '/elsewhere')])
    await rig.read('claude-code', '-work/s.jsonl')
    rig.append('-work/s/subagents/agent-x.jsonl', [said('four', '/work/tree', helper)])
    await rig.read('claude-code', '-work/s/subagents/agent-x.jsonl')
    expect(places()).toEqual(['/work, /work'])
  })

  it('counts what it cannot use, and anew when the file is rewritten', async () => {
    const rig = await ingestRig()
    rig.write('s.jsonl', ['{broken', json({ type: 'never-seen' }), 'nul \0'])
    await rig.read('generic', 's.jsonl')
    const skipped = () => rig.column(`SELECT reason || ' ' || count FROM skipped_lines ORDER BY reason`)
    expect(skipped()).toEqual(['broken 1', 'nul 1', 'unknown 1'])
    rig.write('s.jsonl', ['{broken'])
    await rig.read('generic', 's.jsonl')
    expect(skipped()).toEqual(['broken 1'])
  })

  it('stores nothing of a private session but its cursor, from its first line on and after a restart', async () => {
    const rig = await ingestRig({ privatePaths: ['/secret'] })
    rig.write('s.jsonl', [
      json({ type: 'user', text: 'before it says where' }),
      json({ type: 'session', id: 's', cwd: '/secret/plan', branch: 'hush' }),
      json({ type: 'user', text: 'inside' }),
    ])
    await rig.read('generic', 's.jsonl')
    rig.restart()
    rig.append('s.jsonl', [json({ type: 'assistant', text: 'still inside', end: 'final' })])
    expect(await rig.read('generic', 's.jsonl')).toEqual({ state: 'read', lines: 1, unreadBytes: 0 })
    expect([rig.messages(), rig.sessionRows(), rig.words.size]).toEqual([[], [], 0])
    expect(rig.column('SELECT known FROM files')).toEqual([json({ session: { sessionId: 's' }, hidden: true })])
    rig.append('s.jsonl', [json({ type: 'session', cwd: '/open' }), json({ type: 'user', id: 'q', text: 'outside' })])
    await rig.read('generic', 's.jsonl')
    expect([...rig.words.values()]).toEqual(['outside'])
  })

  it('indexes what redaction leaves, and only that', async () => {
    const rig = await ingestRig()
    rig.write('s.jsonl', [json({ type: 'user', id: 'q', text: 'export DB_PASSWORD=hunter2hunter3' })])
    await rig.read('generic', 's.jsonl')
    expect([...rig.words.values()]).toEqual(['export DB_PASSWORD=[redacted:password]'])
  })

  it('leaves nothing of a slice that could not be stored as a whole, and reads it again', async () => {
    const rig = await ingestRig()
    rig.write('s.jsonl', [
      json({ type: 'user', id: 'q', text: 'hello' }),
      json({ type: 'user', id: 'r', text: 'again' }),
    ])
    rig.exec(`CREATE TRIGGER full BEFORE INSERT ON messages WHEN new.uid = 'r' BEGIN SELECT raise(ABORT, 'full'); END`)
    await expect(rig.read('generic', 's.jsonl')).rejects.toThrow('full')
    const rows = () => rig.column('SELECT count(*) FROM files UNION ALL SELECT count(*) FROM messages')
    expect(rows()).toEqual([0, 0])
    rig.exec('DROP TRIGGER full')
    rig.words.clear()
    await rig.read('generic', 's.jsonl')
    expect(rows()).toEqual([1, 2])
  })

  it('tells of the end of a turn once, when all is read', async () => {
    const rig = await ingestRig()
    rig.write('s.jsonl', [
      json({ type: 'session', id: 's', cwd: '/work' }),
      json({ type: 'user', text: 'q' }),
      json({ type: 'assistant', text: 'a', end: 'final', at: '2026-11-16T10:00:00Z' }),
    ])
    const at = Date.parse('2026-11-16T10:00:00Z')
    expect(await rig.read('generic', 's.jsonl')).toEqual({
      state: 'read',
      lines: 3,
      unreadBytes: 0,
      told: { sessions: ['generic s'], turns: 1, skipped: {} },
      ended: { end: 'final', sessionId: 's', at, cwd: '/work', harness: 'generic', project: '/work' },
    })
    appendFileSync(join(rig.root, 's.jsonl'), `${json({ type: 'user', text: 'more' })}\n`)
    const told = { sessions: ['generic s'], turns: 1, skipped: {} }
    expect(await rig.read('generic', 's.jsonl')).toEqual({ state: 'read', lines: 1, unreadBytes: 0, told })
  })

  it('reads a long file in slices, each of them stored', async () => {
    const rig = await ingestRig()
    const lines = Array.from({ length: 400 }, (_, at) => json({ type: 'user', id: `q${at}`, text: 'x'.repeat(1_000) }))
    rig.write('s.jsonl', lines)
    expect(await rig.slice('generic', 's.jsonl')).toMatchObject({ state: 'more', unreadBytes: expect.any(Number) })
    expect(rig.messages().length).toBeGreaterThan(100)
    rig.restart()
    await rig.read('generic', 's.jsonl')
    expect(rig.messages().map(({ uid }) => uid)).toEqual(lines.map((_, at) => `q${at}`))
  })
})

function listening() {
  const time = manualTime()
  const told: EndedTurn[] = []
  const ends = createTurnEnds(time.clock, (turn) => told.push(turn))
  const ended = (end: TurnEnd['end'], at?: number): TurnEnd => ({
    end,
    sessionId: 's',
    harness: 'generic',
    ...(at !== undefined && { at }),
  })
  return { time, told, ends, ended }
}

const turn = { sessionId: 's', harness: 'generic' }

describe('the end of a turn', () => {
  it('is told at once where the harness marks it', () => {
    const { told, ends, ended } = listening()
    ends.read('/s', ended('aborted'))
    expect(told).toEqual([{ ...turn, end: 'aborted' }])
  })

  it('is told after a while where it only seems so, unless more is written', () => {
    const { time, told, ends, ended } = listening()
    ends.read('/s', ended('settling'))
    time.pass(4_999)
    ends.read('/s', undefined)
    time.pass(60_000)
    expect(told).toEqual([])
    ends.read('/s', ended('settling'))
    time.pass(5_000)
    expect(told).toEqual([{ ...turn, end: 'final' }])
  })

  it('is no news when it was long ago', () => {
    const { time, told, ends, ended } = listening()
    ends.read('/s', ended('final', time.clock.now() - 11 * 60_000))
    expect(told).toEqual([])
  })
})
