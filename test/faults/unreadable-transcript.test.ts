import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, type TestContext } from 'vitest'
import { claudeSession } from '../support/claude-session.ts'
import { type FaultRule, faultsIn } from '../support/faults.ts'
import { type Home, makeHome } from '../support/home.ts'
import { learningHome, topics, written } from '../support/learning.ts'
import { calls, says } from '../support/messages-api/answers.ts'
import type { Script } from '../support/messages-api/server.ts'

const WORDS = 'Please always run check-one before you commit, because CI is strict.'
const saveIt = calls(written('feedback_check.md', 'feedback', 'Always run check-one before a commit.', ['m1']))
/** Longer than a job that failed waits before it is tried again. */
const PATIENCE = { timeout: 45_000, interval: 100 }
const LONG = { timeout: 120_000 }

/** A home with one or both of the jobs. */
function ground(context: TestContext, jobs: readonly string[] = ['extract', 'notes']) {
  const home = makeHome()
  const isOn = (kind: string) => ({ enabled: jobs.includes(kind) })
  const settings = { sweepSeconds: 1, extraction: isOn('extract'), notes: isOn('notes') }
  writeFileSync(home.places.configFile, JSON.stringify(settings), { mode: 0o600 })
  return { ...faultsIn(context, home), ...converse(home, 'one') }
}

/** A session of one turn that no daemon has seen yet, in a project of its own. */
function converse(home: Home, name: string) {
  const session = claudeSession(home, `session-${name}`, name)
  const { message, ...line } = session.answer('Done.')
  const usage = { input_tokens: 20_000, output_tokens: 0 }
  session.write(session.person(WORDS), { ...line, message: { ...message, usage } })
  const file = join(home.places.stateDir, 'sessions', session.id, 'notes.md')
  const saved = () => topics(session.memories)
  const notes = () => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  const made: Record<string, () => Promise<void>> = {
    extract: () => expect.poll(saved, PATIENCE).toHaveLength(1),
    notes: () => expect.poll(notes, PATIENCE).toContain(WORDS),
  }
  return { session, saved, isMade: (kind: string) => made[kind]?.() }
}

/** Jobs look at what was said on the main thread; another one has read the transcript before that. */
const ofJobs = { ends: '.jsonl', thread: 'main' } as const

const kinds = ['extract', 'notes'] as const
const troubles: readonly [string, FaultRule][] = [
  ['too many files are open', { calls: 'open-read', ...ofJobs, error: 'EMFILE' }],
  ['permission is denied', { calls: 'open-read', ...ofJobs, error: 'EACCES' }],
  ['the disk fails as it is opened', { calls: 'open-read', ...ofJobs, error: 'EIO' }],
  ['the disk fails as it is read', { calls: 'read', ...ofJobs, error: 'EIO' }],
]

describe('what was said in a transcript that cannot be read when a job looks at it', () => {
  it.for(kinds)(
    'is the input of %s all the same, where once too many files are open, permission is denied or the disk fails',
    LONG,
    async (kind, context) => {
      const { start, fail, home } = ground(context, [kind])
      // Each fails in a session of its own, beside the others: to try a job again takes a while.
      const all = troubles.map(([trouble, rule], n) => {
        const { session, isMade } = converse(home, `trouble-${n}`)
        return { trouble, fault: fail({ ...rule, ends: `/${session.id}.jsonl` }), isMade }
      })
      await start()
      for (const { trouble, fault, isMade } of all) {
        await expect.poll(fault.hits, { ...PATIENCE, message: trouble }).toBe(1)
        await isMade(kind)
      }
    },
  )

  it('is saved and noted once it can be read, and no job is done before that', LONG, async (context) => {
    const { start, fail, heal, isMade } = ground(context)
    fail({ calls: 'open-read', ...ofJobs, error: 'EACCES', times: 'lasting' })
    const { client } = await start()
    const jobs = async () => (await client.jobs({})).items.filter(({ kind }) => kinds.some((each) => each === kind))
    const tried = async () => (await jobs()).filter(({ error, endedAt }) => (error ?? endedAt) !== undefined).length
    await expect.poll(tried, PATIENCE).toBe(2)
    const done = (await jobs()).filter(({ state }) => state === 'done').map(({ kind }) => kind)
    expect(done).toEqual([])
    heal()
    for (const kind of kinds) await isMade(kind)
  })

  it('is saved and noted by the next daemon, where this one never could', LONG, async (context) => {
    const { start, fail, heal, isMade } = ground(context)
    const fault = fail({ calls: 'open-read', ...ofJobs, error: 'EIO', times: 'lasting' })
    const first = await start()
    await expect.poll(fault.hits, PATIENCE).toBeGreaterThan(1)
    expect(await first.stop()).toMatchObject({ code: 0 })
    heal()
    await start()
    for (const kind of kinds) await isMade(kind)
  })

  it('is told to a model once it can be read', LONG, async (context) => {
    const script: Script = ({ body }) => (JSON.stringify(body).includes(WORDS) ? saveIt : says('Nothing to save.'))
    const { home, session } = await learningHome({ script })
    const { start, fail, heal } = faultsIn(context, home)
    session.say(WORDS)
    const fault = fail({ calls: 'open-read', ...ofJobs, error: 'EMFILE', times: 'lasting' })
    const { client } = await start()
    await expect.poll(fault.hits, PATIENCE).toBeGreaterThan(0)
    const extract = async () => (await client.jobs({})).items.find(({ kind }) => kind === 'extract')
    await expect.poll(async () => (await extract())?.state, PATIENCE).not.toBe('running')
    expect(await extract()).not.toMatchObject({ state: 'done' })
    heal()
    await expect.poll(() => topics(session.memories), PATIENCE).toEqual(['feedback_check.md'])
  })

  it('is an error of a search and of a question for its turns, not of the list of sessions', LONG, async (context) => {
    const { start, fail, heal, session } = ground(context, [])
    const { client } = await start()
    const { cwd } = session
    const search = () => client.search({ cwd, q: 'check-one' })
    await expect.poll(async () => (await search()).items.length, PATIENCE).toBe(1)
    fail({ calls: 'open-read', ends: '.jsonl', error: 'EIO', times: 'lasting' })
    const refused = { code: 'DEGRADED', message: expect.stringContaining('.jsonl cannot be read (EIO)') }
    await expect(search()).rejects.toMatchObject(refused)
    await expect(client.session({ id: session.id })).rejects.toMatchObject(refused)
    expect((await client.sessions({ cwd })).items).toMatchObject([{ id: session.id, turns: 1 }])
    heal()
    expect((await search()).items).toHaveLength(1)
    expect(await client.session({ id: session.id })).toMatchObject({ id: session.id })
  })

  it('is not saved beside what the agent wrote of it, where only that could not be read', LONG, async (context) => {
    const { start, fail, session, saved } = ground(context, ['extract'])
    const file = join(session.memories, 'feedback_check.md')
    session.write(session.person('Please always run check-two as well, because CI is strict.'))
    session.write(...session.call('Write', { file_path: file, content: 'Always run check-one and check-two.' }))
    session.write(session.answer('Noted.'))
    // The words are read, then what the agent did.
    const fault = fail({ calls: 'open-read', ...ofJobs, error: 'EIO', first: 2 })
    const { client } = await start()
    await expect.poll(fault.hits, PATIENCE).toBe(1)
    const extract = async () => (await client.jobs({})).items.find(({ kind }) => kind === 'extract')
    await expect.poll(async () => (await extract())?.state, PATIENCE).toBe('done')
    expect(saved()).toEqual([])
  })
})
