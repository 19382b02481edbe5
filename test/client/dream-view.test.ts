import { describe, expect, it } from 'vitest'
import { frame, gateLines, reportLines } from '../../client/cli/dream-view.ts'
import type { DreamLive } from '../../schema/dream.ts'

const live: DreamLive = {
  jobId: 'dream-1',
  beganAt: '2026-06-01T03:00:00.000Z',
  state: 'running',
  phase: 'updating',
  sessions: 7,
  turnCount: 3,
  turns: [
    {
      turn: 1,
      text: 'I will read what seems to be about the same thing first.',
      tools: ['Read', 'Read', 'Grep'],
      files: [],
    },
    { turn: 2, text: '', tools: ['Edit', 'Write'], files: [] },
    {
      turn: 3,
      text: 'The two memories about the release train say the same, so one of them goes.\nThe dates of the demos are written out now; 发布列车每周二出发，因为那时团队都在，所以不要在周五合并任何东西。',
      tools: [],
      files: ['train.md', 'demo.md'],
    },
  ],
  files: ['train.md', 'demo.md'],
  spent: { calls: 3, input: 1_200, cacheRead: 34_000, cacheWrite: 5_000, output: 980, usd: 0.02345 },
}
const view = {
  project: '/home/any-user/work/a-project-with-a-name',
  live,
  nowMs: Date.parse('2026-06-01T03:01:05Z'),
  asking: false,
}
const shown = (columns: number, over: Partial<typeof view> = {}, rows = 24) =>
  frame({ ...view, ...over }, { columns, rows }).join('\n')

describe('a dream on a terminal', () => {
  it('fits 80 columns', () => {
    expect(shown(80)).toMatchInlineSnapshot(`
      "dream  /home/any-user/work/a-project-with-a-name                 updating  01:05
      --------------------------------------------------------------------------------
      7 sessions   turn 3 of 30   2 files touched
      40.2k tokens in (85 % from a cache), 980 out, $0.0234

        1  Read ×2, Grep
           I will read what seems to be about the same thing first.
        2  Edit, Write
        3  says
           The two memories about the release train say the same, so one of them goes…

      files: train.md, demo.md

      Ctrl-C to leave or stop it"
    `)
  })

  it('uses 160 columns', () => {
    expect(shown(160)).toMatchInlineSnapshot(`
      "dream  /home/any-user/work/a-project-with-a-name                                                                                                 updating  01:05
      ----------------------------------------------------------------------------------------------------------------------------------------------------------------
      7 sessions   turn 3 of 30   2 files touched   40.2k tokens in (85 % from a cache), 980 out, $0.0234

        1  Read ×2, Grep
           I will read what seems to be about the same thing first.
        2  Edit, Write
        3  says
           The two memories about the release train say the same, so one of them goes. The dates of the demos are written out now; 发布列车每周二出发，因为那时团队都…

      files: train.md, demo.md

      Ctrl-C to leave or stop it"
    `)
  })

  it('asks what Ctrl-C means', () => {
    expect(shown(80, { asking: true }).split('\n').at(-1)).toBe(
      'd: leave it running   k: stop it, nothing is changed   any other key: go on',
    )
  })

  it('is shown before its first turn, and after its end with why', () => {
    const nothing = { calls: 0, input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }
    const young = { ...live, phase: 'starting' as const, turns: [], turnCount: 0, files: [], spent: nothing }
    expect(shown(80, { live: young })).toMatchInlineSnapshot(`
      "dream  /home/any-user/work/a-project-with-a-name                 starting  01:05
      --------------------------------------------------------------------------------
      7 sessions   turn 0 of 30   0 files touched   no model asked

        0  reads what there is

      Ctrl-C to leave or stop it"
    `)
    const over = { ...live, state: 'failed' as const, why: 'the limit of 30 turns was reached' }
    expect(shown(80, { live: over }).split('\n').slice(-3)).toEqual([
      'the limit of 30 turns was reached',
      '',
      'it is over',
    ])
  })

  it('never leaves its columns or its rows, whatever is in it', () => {
    const turns = Array.from({ length: 30 }, (_, n) => ({
      turn: n + 1,
      text: '语'.repeat(500),
      tools: ['Read'],
      files: [],
    }))
    for (const columns of [40, 79, 80, 81, 160, 300])
      for (const rows of [14, 24, 60]) {
        const lines = frame({ ...view, live: { ...live, turns, turnCount: 30 } }, { columns, rows })
        expect(lines.length).toBeLessThanOrEqual(rows)
        for (const line of lines)
          expect([...line].length + (line.match(/语/g)?.length ?? 0)).toBeLessThanOrEqual(columns)
      }
  })
})

describe('what came of a dream, in words', () => {
  it('has every number and what differs', () => {
    const lines = reportLines(
      {
        runId: 'dream-20260601T030000Z-0a1b2c3d',
        trigger: 'nightly',
        beganAt: '2026-06-01T03:00:00.000Z',
        endedAt: '2026-06-01T03:01:05.500Z',
        outcome: 'applied',
        mode: 'model',
        sessions: 7,
        drifted: 1,
        logs: 2,
        turns: 3,
        denials: 1,
        spent: live.spent,
        created: 0,
        merged: 1,
        updated: 1,
        removed: 0,
        repairs: { dangling: 1, duplicate: 0, orphan: 2, long: 0 },
        index: { before: { lines: 61, bytes: 5_300 }, after: { lines: 60, bytes: 5_100 } },
        files: [{ file: 'demo.md', op: 'update', diff: '- The demo is next Tuesday\n+ The demo is on 2026-06-09' }],
        undone: false,
      },
      'memoryd',
    )
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "dream-20260601T030000Z-0a1b2c3d was applied
        when      2026-06-01 03:00:00, for 65.5 s, at night
        memories  0 created, 1 merged, 1 updated, 0 removed
        index     61 → 60 lines, 5300 → 5100 bytes
        mended    1 dead pointer, 0 double, 2 missing, 0 long lines
        about     7 sessions, 2 daily logs, 1 that name what is gone
        model     3 turns, 1 denied, 40.2k tokens in (85 % from a cache), 980 out, $0.0234

      update demo.md
        - The demo is next Tuesday
        + The demo is on 2026-06-09

      to take all of it back: memoryd undo --run dream-20260601T030000Z-0a1b2c3d"
    `)
    expect(reportLines(undefined, 'memoryd')).toEqual(['there was no dream here yet'])
  })

  it('says which gate is closed, with all numbers', () => {
    const lines = gateLines({
      started: false,
      gate: 'time',
      why: 'the last one was 3.5 hours ago, and 24 must pass',
      facts: {},
      gates: [
        { gate: 'enabled', facts: { dream: 'on', memory: 'on' } },
        { gate: 'time', facts: { hours: 3.5, minHours: 24 }, why: 'x' },
      ],
      lastCheck: { at: '2026-06-01T03:00:00.000Z', trigger: 'turn', gate: 'time', gates: [] },
    })
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "none would start now: the last one was 3.5 hours ago, and 24 must pass
        enabled  open    dream on, memory on
        time     closed  hours 3.5, minHours 24
      last looked at 2026-06-01 03:00:00, after a turn: time"
    `)
  })
})
