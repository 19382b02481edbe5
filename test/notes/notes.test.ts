import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Agent, RunReport } from '../../daemon/agent/agent.ts'
import { daemonPrefix } from '../../daemon/agent/prefix.ts'
import type { Task } from '../../daemon/agent/task.ts'
import type { Claimed } from '../../daemon/jobs/job.ts'
import type { Models } from '../../daemon/models/models.ts'
import { blockTokens, contextTokens, createNotes, dueNow, sinceUsage } from '../../daemon/notes/notes.ts'
import { createNotesFile } from '../../daemon/notes/notes-file.ts'
import { createProjects } from '../../daemon/projects/projects.ts'
import type { MessageTable } from '../../daemon/sessions/message-table.ts'
import { manualTime } from '../support/clock.ts'
import { testCore } from '../support/core.ts'

const NOW = Date.UTC(2026, 10, 16, 12)
const failed = (failure: RunReport['failure']) =>
  ({ ended: 'failed', why: 'no luck', failure, text: '', files: [], turns: 1, denials: 0 }) as unknown as RunReport

/** A session of one turn in a transcript of two lines; the model's run does what the test says. */
async function ground(
  given: { run?: (task: Task) => Promise<RunReport>; interactive?: 0 | 1 | null; at?: number } = {},
) {
  const { core, home } = await testCore({ time: manualTime(NOW) })
  const path = join(home.dir, 't.jsonl')
  const at = given.at ?? NOW
  const lines = [
    { type: 'user', id: 'u1', text: 'The ask' },
    { type: 'assistant', id: 'u2', text: 'The answer' },
  ].map((line) => JSON.stringify(line))
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
  const place = { harness: 'generic', path, at, toolCalls: 0 }
  const [first = '', second = ''] = lines
  const part = [
    {
      ...place,
      id: 1,
      uid: 'u1',
      by: 'person',
      offset: 0,
      length: first.length,
      startsTurn: 1,
      ends: null,
      tokens: null,
    },
    {
      ...{ ...place, id: 2, uid: 'u2', by: 'agent', offset: first.length + 1, length: second.length },
      ...{ startsTurn: 0, ends: 'final', tokens: 12_000 },
    },
  ]
  const tasks: Task[] = []
  const notes = createNotes(
    core,
    createProjects(core),
    {
      session: () => ({ row: 1, cwd: home.dir, interactive: given.interactive ?? null }),
      talkAfter: (_row: number, reached: unknown) => (reached ? [] : part),
    } as unknown as MessageTable,
    {
      sessionPrefix: async () => ({
        prefix: daemonPrefix({ key: 's', model: 'm', keep: '5m' }),
        names: new Map([
          ['m1', 'u1'],
          ['m2', 'u2'],
        ]),
      }),
      run: async (task: Task) => {
        tasks.push(task)
        return given.run ? given.run(task) : failed(undefined)
      },
      reachOf: (memoryDir: string, readable: string[]) => ({ memoryDir, readable, closed: [] }),
    } as unknown as Agent,
    { waits: () => undefined } as unknown as Models,
  )
  const key = { harness: 'h', sessionId: 's' }
  let ours = true
  const run = (attempts = 1) =>
    notes.job.run({ input: { harness: 'h', sessionId: 's' }, attempts } as Claimed, {
      signal: new AbortController().signal,
      ownsLease: () => ours,
      progress: () => {},
    })
  return { run, file: createNotesFile(core), key, tasks, notes, lose: () => (ours = false) }
}

const overloaded = { failed: 'overloaded', message: 'busy', permanent: false, retryAfterMs: 7 } as const

describe('an update of notes', () => {
  it('is tried again when a model fails for now, and done by rules when it fails for the third time', async () => {
    const { run, file, key } = await ground({ run: async () => failed(overloaded) })
    expect(await run(1)).toEqual({ failed: 'no luck', afterMs: 7 })
    expect(await run(2)).toEqual({ failed: 'no luck', afterMs: 7 })
    expect(file.read(key)?.covers).toBeUndefined()
    expect(await run(3)).toEqual({ done: { by: 'rules', tokens: 12_000 } })
    expect(file.read(key)).toMatchObject({ text: expect.stringContaining('- The ask'), covers: { message: 'u2' } })
  })

  it('asks no model for a session without a person, or one that stands still', async () => {
    for (const given of [{ interactive: 0 as const }, { at: NOW - 3_600_001 }]) {
      const { run, tasks } = await ground(given)
      expect(await run()).toEqual({ done: { by: 'rules', tokens: 12_000 } })
      expect(tasks).toEqual([])
    }
    const { run, tasks } = await ground({ interactive: 1, at: NOW - 3_600_000, run: async () => failed(overloaded) })
    expect(await run()).toHaveProperty('failed')
    expect(tasks).toMatchObject([{ policy: { may: 'notes', file: 'notes.md' }, atTurnLimit: 'fail' }])
  })

  it('leaves what a person, or a purge, put there meanwhile', async () => {
    const during = (act: () => void) => async (task: Task) => {
      act()
      await task.apply([
        { file: 'notes.md', content: 'by a model', expect: null, because: { reason: '', evidence: [] } },
      ])
      return failed(undefined)
    }
    const { run, file, key } = await ground({ run: (task) => during(() => file.write(key, 'mine', undefined))(task) })
    await expect(run()).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(file.read(key)?.text).toBe('mine')
  })

  it('leaves no trace when it is no longer ours', async () => {
    const { run, file, key, lose } = await ground({ interactive: 0 })
    lose()
    expect(await run()).toEqual({ failed: 'another run has taken it over' })
    expect(file.read(key)).toBeUndefined()
  })

  it('is known for as long as it runs, and no longer', async () => {
    let since: number | undefined
    const made = await ground({
      run: async () => {
        since = made.notes.notesFor(made.key).runningSinceMs
        return failed(overloaded)
      },
    })
    await made.run()
    expect(since).toBe(NOW)
    expect(made.notes.notesFor(made.key).runningSinceMs).toBeUndefined()
  })
})

const at = { initTokens: 10_000, updateTokens: 5_000, toolCalls: 3 }
const later = (grown: number, toolCalls: number, lastTurnToolCalls: number) =>
  dueNow({ tokens: 40_000 + grown, since: { tokens: 40_000, toolCalls }, lastTurnToolCalls }, at)

describe('notes are due', () => {
  it.each([
    [9_999, { skip: 'there is too little in it yet' }],
    [10_000, { due: 'first' }],
    [10_001, { due: 'first' }],
  ])('first with %i tokens: %o', (tokens, verdict) => {
    expect(dueNow({ tokens, since: undefined, lastTurnToolCalls: 1 }, at)).toEqual(verdict)
  })

  it.each([
    [4_999, 3, 1, { skip: 'too little was said since' }],
    [5_000, 3, 1, { due: 'again' }],
    [5_000, 2, 2, { skip: 'the agent is in the middle of it' }],
    [5_000, 2, 0, { due: 'again' }],
    [5_000, 0, 0, { due: 'again' }],
    // The tokens are required, whatever else was done.
    [4_999, 100, 0, { skip: 'too little was said since' }],
    [-20_000, 100, 0, { skip: 'too little was said since' }],
  ])('again when they grew by %i with %i calls, %i in the last turn: %o', (grown, calls, last, verdict) => {
    expect(later(grown, calls, last)).toEqual(verdict)
  })

  it('by other numbers where the settings have them', () => {
    const own = { initTokens: 0, updateTokens: 1, toolCalls: 0 }
    expect(dueNow({ tokens: 0, since: undefined, lastTurnToolCalls: 0 }, own)).toEqual({ due: 'first' })
    expect(dueNow({ tokens: 8, since: { tokens: 7, toolCalls: 0 }, lastTurnToolCalls: 5 }, own)).toEqual({
      due: 'again',
    })
    expect(dueNow({ tokens: 7, since: { tokens: 7, toolCalls: 9 }, lastTurnToolCalls: 0 }, own)).toHaveProperty('skip')
  })
})

const used = (...tokens: (number | null)[]) => tokens.map((each) => ({ tokens: each }))

describe('the tokens in a context', () => {
  it('are what the last answer used, and an estimate of what came after it', () => {
    expect(sinceUsage(used(5, null, 900, null, null))).toBe(2)
    expect(contextTokens(used(5_000, null, 900, null), 30, 400)).toEqual({ now: 930, least: 400 })
  })

  it('are estimated a third higher where no answer says what it used', () => {
    expect(sinceUsage(used(null, 0))).toBe(2)
    expect(contextTokens(used(null, 0), 301, undefined)).toEqual({ now: 402, least: Number.POSITIVE_INFINITY })
    expect(contextTokens(used(null), 301, 1_000)).toEqual({ now: 1_402, least: 1_000 })
  })

  it('grow from the least there was since: whoever compacts begins again from little', () => {
    expect(contextTokens(used(150_000, 12_000, 17_000), 0, 140_000)).toEqual({ now: 17_000, least: 12_000 })
  })

  it('are four bytes each, two in JSON, rounded up', () => {
    expect(['', 'abcd', 'abcde', 'éé', '{"a":1}', '[1,2]', '{broken', '{}x'].map(blockTokens)).toEqual([
      0, 1, 2, 1, 4, 3, 2, 1,
    ])
  })
})
