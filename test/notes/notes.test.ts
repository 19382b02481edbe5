import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { contextTokens, dueNow, sinceUsage } from '../../daemon/notes/notes.ts'
import { learner } from '../support/learner.ts'
import { calls, overloaded } from '../support/messages-api/answers.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'

/** A session of one turn that has filled twelve thousand tokens. */
async function ground({ interactive }: { interactive?: boolean } = {}) {
  const api = await startMessagesApi()
  const rig = await learner({ url: api.url, ...(interactive !== undefined && { interactive }) })
  const { say, run, notes, session } = rig
  await say(
    { type: 'user', text: 'The ask' },
    { type: 'assistant', text: 'The answer', end: 'final', usage: { input: 11_000, output: 1_000 } },
  )
  return { ...rig, api, update: (attempts?: number) => run(notes.job, attempts), read: () => notes.file.read(session) }
}
const BY_RULES = { done: { by: 'rules', tokens: 12_000 } }

describe('an update of notes', () => {
  it('is tried again when a model fails for now, and done by rules when it fails for the third time', async () => {
    const { api, update, read } = await ground()
    api.script(() => overloaded)
    expect(await update(1)).toHaveProperty('failed')
    expect(await update(2)).toHaveProperty('failed')
    expect(read()?.covers).toBeUndefined()
    expect(await update(3)).toEqual(BY_RULES)
    expect(read()).toMatchObject({ text: expect.stringContaining('- The ask'), covers: { message: 'u2' } })
  })

  it('asks no model for a session without a person, or one that stands still', async () => {
    const alone = await ground({ interactive: false })
    expect(await alone.update()).toEqual(BY_RULES)
    const left = await ground()
    left.time.pass(3_600_001)
    expect(await left.update()).toEqual(BY_RULES)
    expect([...alone.api.requests, ...left.api.requests]).toEqual([])
    const there = await ground({ interactive: true })
    there.api.script(() => overloaded)
    there.time.pass(3_600_000)
    expect(await there.update()).toHaveProperty('failed')
    expect(there.api.requests).toHaveLength(1)
  })

  it('leaves what a person, or a purge, put there meanwhile', async () => {
    const { api, update, read, notes, session } = await ground()
    const answers = [
      calls({
        id: 'e1',
        name: 'Edit',
        input: { file_path: 'notes.md', old_string: '# Worklog', new_string: '# Worklog\n- done' },
      }),
      overloaded,
    ]
    api.script(() => {
      writeFileSync(join(notes.file.folderOf(session), 'notes.md'), 'mine')
      return answers.shift() ?? overloaded
    })
    expect(await update()).toHaveProperty('failed')
    expect(read()?.text).toBe('mine')
    writeFileSync(join(notes.file.folderOf(session), 'notes.md'), '')
    // And rules, which come after a model that failed, leave it as well.
    expect(await update(3)).toEqual({ failed: 'another run has taken it over' })
    expect(read()?.text).toBe('mine')
  })

  it('leaves no trace when another run has its job', async () => {
    const { update, read, loseLease } = await ground({ interactive: false })
    loseLease()
    expect(await update()).toEqual({ failed: 'another run has taken it over' })
    expect(read()).toBeUndefined()
  })

  it('is known for as long as it runs, and no longer', async () => {
    const { api, update, notes, session, core } = await ground()
    let since: number | undefined
    api.script(() => {
      since = notes.notesFor(session).runningSinceMs
      return overloaded
    })
    await update()
    expect(since).toBe(core.clock.now())
    expect(notes.notesFor(session).runningSinceMs).toBeUndefined()
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

  it('grow from the least there was since: after a compaction the session begins again from little', () => {
    expect(contextTokens(used(150_000, 12_000, 17_000), 0, 140_000)).toEqual({ now: 17_000, least: 12_000 })
  })
})
