import { describe, expect, it } from 'vitest'
import type { JobKind } from '../../daemon/jobs/job.ts'
import { endingOf } from '../../daemon/jobs/runner.ts'
import { MemoryError } from '../../schema/errors.ts'
import { due, heldKind, type JobRig, jobRig, START_MS, settled } from '../support/jobs.ts'

const SECOND = 1_000
const MINUTE = 60_000

const states = ({ jobs }: JobRig) =>
  jobs
    .list({ limit: 99 })
    .jobs.map(({ key, watermark, state }) => `${key} ${watermark} ${state}`)
    .reverse()

/** A kind that ends its runs with these, one after the other. */
function scripted(outcomes: Awaited<ReturnType<JobKind['run']>>[]): { kind: JobKind; seen: string[] } {
  const seen: string[] = []
  const run: JobKind['run'] = async ({ watermark }) => {
    seen.push(watermark)
    return outcomes.shift() ?? { done: null }
  }
  return { kind: { name: 'plain', model: 'never', run }, seen }
}

describe('a run', () => {
  it('that waits for nothing keeps no other run waiting, however many are due', async () => {
    const { kind, seen } = scripted([])
    const rig = await jobRig([kind])
    for (let n = 0; n < 100; n++) rig.runner.enqueue(due(`s${n}`, `m${n}`))
    rig.runner.start()
    await settled()
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.length).toBeLessThan(20)
  })

  it('is begun only after the rest that the one before it has to be followed by', async () => {
    const { kind, runs } = heldKind('plain')
    const rig = await jobRig([kind])
    rig.others.restMs = 250
    rig.runner.start()
    rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    await runs[0]?.end({ done: null })
    rig.runner.enqueue(due('s2', 'm2'))
    rig.time.pass(249)
    await settled()
    expect(runs).toHaveLength(1)
    rig.time.pass(1)
    await settled()
    expect(runs.map(({ job }) => job.key)).toEqual(['s1', 's2'])
  })

  it('is looked for once, however many say at once that something may be due', async () => {
    const { kind, runs } = heldKind('plain')
    const rig = await jobRig([kind])
    rig.runner.start()
    const looks = rig.looks.times
    rig.jobs.enqueue(due('s1', 'm1'), START_MS)
    for (let n = 0; n < 20; n++) rig.runner.wake()
    await settled()
    expect(runs).toHaveLength(1)
    // The one that found it, and the one after that found nothing more.
    expect(rig.looks.times - looks).toBe(2)
  })

  it('is given its job, and its end is on record', async () => {
    const { kind, runs } = heldKind('plain')
    const rig = await jobRig([kind])
    const { id } = rig.runner.enqueue(due('s1', 'm1', { dir: '/d' }))
    expect(rig.jobs.get(id)?.state).toBe('queued')
    rig.runner.start()
    await settled()
    expect(runs.map(({ job }) => job)).toMatchObject([
      { id, kind: 'plain', key: 's1', dir: '/d', watermark: 'm1', input: { upTo: 'm1' }, attempts: 1 },
    ])
    runs[0]?.context.progress('half way')
    expect(rig.runner.progressOf(id)).toBe('half way')
    rig.time.pass(SECOND)
    await runs[0]?.end({ done: { files: 2 }, runId: 'r1', truncated: true })
    expect(rig.jobs.get(id)).toMatchObject({
      state: 'done',
      result: { files: 2 },
      runId: 'r1',
      truncated: true,
      startedMs: START_MS,
      endedMs: START_MS + SECOND,
      error: undefined,
    })
    expect(rig.runner.progressOf(id)).toBeUndefined()
    expect(rig.news).toEqual(['s1 queued', 's1 running', 's1 half way', 's1 done'])
  })

  it('is followed by one more when something came due meanwhile, never beside it', async () => {
    const { kind, runs } = heldKind('plain')
    const rig = await jobRig([kind])
    rig.runner.start()
    for (const watermark of ['m1', 'm2', 'm3']) rig.runner.enqueue(due('s1', watermark))
    await settled()
    expect(runs).toHaveLength(1)
    await runs[0]?.end({ done: null })
    expect(runs.map(({ job }) => job.watermark)).toEqual(['m1', 'm3'])
    await runs[1]?.end({ done: null })
    expect(states(rig)).toEqual(['s1 m1 done', 's1 m3 done'])
  })

  it('does not begin where history already covers the watermark', async () => {
    const { kind, runs } = heldKind('plain')
    const rig = await jobRig([{ ...kind, alreadyDone: ({ watermark }) => watermark === 'm1' }])
    rig.runner.start()
    for (const key of ['s1', 's2']) rig.runner.enqueue(due(key, key === 's1' ? 'm1' : 'm2'))
    await settled()
    expect(runs.map(({ job }) => job.key)).toEqual(['s2'])
    expect(states(rig)).toEqual(['s1 m1 done', 's2 m2 running'])
  })

  it('of a kind that gives way is alone of its kind, and keeps no caller waiting', async () => {
    const low = heldKind('low')
    const plain = heldKind('plain')
    const rig = await jobRig([{ ...low.kind, low: true }, plain.kind])
    for (const key of ['s1', 's2', 's3', 's4', 's5']) rig.runner.enqueue(due(key, 'm1', { kind: 'low' }))
    rig.runner.enqueue(due('s6', 'm1'))
    rig.runner.start()
    await settled()
    const keys = ({ runs }: typeof low) => runs.map(({ job }) => job.key)
    expect({ low: keys(low), plain: keys(plain) }).toEqual({ low: ['s1'], plain: ['s6'] })
    await low.runs[0]?.end({ done: null })
    expect(keys(low)).toEqual(['s1', 's2'])
  })

  it('of a kind that this version does not know is left alone', async () => {
    const rig = await jobRig([heldKind('plain').kind])
    rig.runner.start()
    rig.runner.enqueue(due('s1', 'm1', { kind: 'of a later version' }))
    await settled()
    rig.time.pass(10 * MINUTE)
    expect(states(rig)).toEqual(['s1 m1 queued'])
  })
})

describe('a failed run', () => {
  it('is tried again after 30 s and two minutes, then the breaker of its key opens', async () => {
    const { kind, seen } = scripted([{ failed: 'one' }, { failed: 'two' }, { failed: 'three' }])
    const rig = await jobRig([kind])
    rig.runner.start()
    const { id } = rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    expect(rig.jobs.get(id)).toMatchObject({ state: 'queued', failures: 1, error: 'one', readyMs: START_MS + 30_000 })
    rig.time.pass(30 * SECOND - 1)
    await settled()
    expect(seen).toHaveLength(1)
    rig.time.pass(1)
    await settled()
    const second = { state: 'queued', failures: 2, error: 'two', readyMs: START_MS + 150_000 }
    expect(rig.jobs.get(id)).toMatchObject(second)
    rig.time.pass(2 * MINUTE)
    await settled()
    expect(rig.jobs.get(id)).toMatchObject({ state: 'failed', failures: 3, attempts: 3, error: 'three' })
    rig.time.pass(600 * MINUTE)
    rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    expect([seen.length, rig.jobs.counts().failed]).toEqual([3, 1])
  })

  it('waits as long as it was told to', async () => {
    const { kind } = scripted([{ failed: 'rate limit', afterMs: 7 * MINUTE }])
    const rig = await jobRig([kind])
    rig.runner.start()
    const { id } = rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    expect(rig.jobs.get(id)?.readyMs).toBe(START_MS + 7 * MINUTE)
    rig.time.pass(7 * MINUTE)
    await settled()
    expect(rig.jobs.get(id)?.state).toBe('done')
  })

  it('goes on with the newest input, and a trigger does not shorten its wait', async () => {
    const { kind, seen } = scripted([{ failed: 'one' }])
    const rig = await jobRig([kind])
    rig.runner.start()
    rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    rig.runner.enqueue(due('s1', 'm2'))
    await settled()
    expect(seen).toEqual(['m1'])
    rig.time.pass(30 * SECOND)
    await settled()
    expect([seen, states(rig)]).toEqual([['m1', 'm2'], ['s1 m2 done']])
  })

  it.each([
    ['a newer watermark', (rig: JobRig) => rig.runner.enqueue(due('s1', 'm2')), ['s1 m1 failed', 's1 m2 done']],
    ['a person', (rig: JobRig, id: string) => rig.runner.retry(id), ['s1 m1 done']],
  ])('whose breaker is open is closed by %s', async (_who, close, after) => {
    const { kind } = scripted([{ failed: 'x' }, { failed: 'x' }, { failed: 'x' }])
    const rig = await jobRig([kind])
    rig.runner.start()
    const { id } = rig.runner.enqueue(due('s1', 'm1'))
    for (let n = 0; n < 3; n++) {
      await settled()
      rig.time.pass(2 * MINUTE)
    }
    expect(states(rig)).toEqual(['s1 m1 failed'])
    close(rig, id)
    await settled()
    expect([states(rig), rig.jobs.counts().failed]).toEqual([after, 0])
  })

  it('that opens the breaker while newer input waits lets that run, after its time', async () => {
    const { kind, runs } = heldKind('plain')
    const rig = await jobRig([kind])
    rig.runner.start()
    rig.runner.enqueue(due('s1', 'm1'))
    for (let n = 0; n < 2; n++) {
      await settled()
      await runs[n]?.end({ failed: 'x' })
      rig.time.pass(2 * MINUTE)
    }
    await settled()
    rig.runner.enqueue(due('s1', 'm2'))
    await runs[2]?.end({ failed: 'x' })
    expect(states(rig)).toEqual(['s1 m1 failed', 's1 m2 queued'])
    rig.time.pass(8 * MINUTE - 1)
    await settled()
    expect(runs).toHaveLength(3)
    rig.time.pass(1)
    await settled()
    expect(runs[3]?.job).toMatchObject({ watermark: 'm2', attempts: 1 })
  })

  it('that was refused for good is not tried again by itself', async () => {
    const { kind, seen } = scripted([{ rejected: 'bad request' }])
    const rig = await jobRig([kind])
    rig.runner.start()
    const { id } = rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    rig.time.pass(600 * MINUTE)
    await settled()
    expect([seen.length, rig.jobs.get(id)]).toMatchObject([1, { state: 'failed', error: 'bad request', failures: 1 }])
  })

  it('that threw is a failure like any other, and said so', async () => {
    const broken = new Error('a bug')
    const rig = await jobRig([{ name: 'plain', model: 'never', run: () => Promise.reject(broken) }])
    rig.runner.start()
    const { id } = rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    expect(rig.jobs.get(id)).toMatchObject({ state: 'queued', error: 'a bug', failures: 1 })
    expect(rig.logged()).toContain('a bug')
  })

  it('that could not read what it needs is tried again after 5 s, then every minute, and is never given up', async () => {
    const run = () => Promise.reject(new MemoryError('DEGRADED', 's.jsonl cannot be read (EMFILE)'))
    const rig = await jobRig([{ name: 'plain', model: 'never', run }])
    rig.runner.start()
    const { id } = rig.runner.enqueue(due('s1', 'm1'))
    const waits: number[] = []
    for (let n = 0, nowMs = START_MS; n < 5; n++) {
      await settled()
      const { state, failures, readyMs } = rig.jobs.get(id) as { state: string; failures: number; readyMs: number }
      expect({ state, failures }).toEqual({ state: 'waiting', failures: 0 })
      waits.push(readyMs - nowMs)
      rig.time.pass(readyMs - nowMs)
      nowMs = readyMs
    }
    expect(waits).toEqual([5_000, 60_000, 60_000, 60_000, 60_000])
  })

  it('begins once, not in a burst, after the machine slept through many of its times', async () => {
    const { kind, seen } = scripted(Array.from({ length: 9 }, () => ({ postponed: 'budget', untilMs: 0 })))
    const rig = await jobRig([kind])
    rig.runner.start()
    rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    rig.time.sleep(24 * 60 * MINUTE)
    rig.time.pass(30 * SECOND)
    await settled()
    expect(seen).toHaveLength(2)
  })
})

describe('a job that needs a model', () => {
  it('waits without failing while there is none, and goes on when there is', async () => {
    const { kind, runs } = heldKind('plain', { model: 'always' })
    const rig = await jobRig([kind])
    rig.model.waits = { postponed: 'offline' }
    rig.runner.start()
    const { id } = rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    const waiting = { state: 'waiting', error: 'offline', attempts: 0, failures: 0, readyMs: Number.POSITIVE_INFINITY }
    expect(rig.jobs.get(id)).toMatchObject(waiting)
    expect(rig.jobs.counts()).toEqual({ queued: 0, waiting: 1, running: 0, failed: 0 })
    rig.runner.enqueue(due('s1', 'm2'))
    rig.time.pass(600 * MINUTE)
    await settled()
    expect([runs.length, rig.jobs.get(id)]).toMatchObject([0, waiting])
    rig.model.waits = undefined
    rig.runner.resume()
    await settled()
    expect(runs[0]?.job).toMatchObject({ id, watermark: 'm2', attempts: 1 })
  })

  it('waits for the next day when the budget is used up', async () => {
    const { kind, runs } = heldKind('plain', { model: 'always' })
    const rig = await jobRig([kind])
    rig.runner.start()
    const { id } = rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    const untilMs = START_MS + 24 * 60 * MINUTE
    await runs[0]?.end({ postponed: 'budget', untilMs })
    expect(rig.jobs.get(id)).toMatchObject({ state: 'waiting', error: 'budget', readyMs: untilMs, failures: 0 })
    rig.time.pass(24 * 60 * MINUTE - 1)
    await settled()
    expect(runs).toHaveLength(1)
    rig.time.pass(1)
    await settled()
    expect(runs).toHaveLength(2)
  })

  it('runs beside one other at most, and others do not wait for it', async () => {
    const models = heldKind('model', { model: 'always' })
    const other = heldKind('plain')
    const rig = await jobRig([models.kind, other.kind])
    rig.runner.start()
    for (const key of ['1', '2', '3']) rig.runner.enqueue(due(key, 'm', { kind: 'model' }))
    rig.runner.enqueue(due('1', 'm'))
    await settled()
    expect([models.runs.map(({ job }) => job.key), other.runs.length]).toEqual([['1', '2'], 1])
    await models.runs[1]?.end({ done: null })
    expect(models.runs.map(({ job }) => job.key)).toEqual(['1', '2', '3'])
  })

  it('is alone with its memory directory, among all kinds', async () => {
    const models = heldKind('model', { model: 'always' })
    const other = heldKind('plain')
    const rig = await jobRig([models.kind, other.kind])
    rig.runner.start()
    rig.runner.enqueue(due('1', 'm', { kind: 'model', dir: '/a' }))
    rig.runner.enqueue(due('2', 'm', { kind: 'model', dir: '/a' }))
    rig.runner.enqueue(due('3', 'm', { dir: '/a' }))
    rig.runner.enqueue(due('4', 'm', { kind: 'model', dir: '/b' }))
    await settled()
    expect([models.runs.map(({ job }) => job.key), other.runs.length]).toEqual([['1', '4'], 0])
    await models.runs[0]?.end({ done: null })
    expect([models.runs.map(({ job }) => job.key), other.runs.length]).toEqual([['1', '4', '2'], 0])
    await models.runs[2]?.end({ done: null })
    expect(other.runs.map(({ job }) => job.key)).toEqual(['3'])
  })
})

it('lets what gives way wait while others are busy, and nothing else', async () => {
  const { kind: plain, runs: plainRuns } = heldKind('plain')
  const { kind, runs } = heldKind('low')
  const rig = await jobRig([plain, { ...kind, low: true }])
  rig.others.busy = true
  rig.runner.start()
  rig.runner.enqueue({ ...due('s1', 'm1'), kind: 'low' })
  rig.runner.enqueue(due('s2', 'm1'))
  await settled()
  expect([runs.length, plainRuns.length]).toEqual([0, 1])
  rig.others.busy = false
  rig.time.pass(MINUTE)
  await settled()
  expect(runs.length).toBe(1)
})

describe('a kill', () => {
  it('aborts at once what runs, and what it still brings does not count', async () => {
    const { kind, runs } = heldKind('plain')
    const rig = await jobRig([kind])
    rig.runner.start()
    const { id } = rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    expect(rig.runner.kill(id)).toMatchObject({ id, state: 'killed', endedMs: START_MS })
    expect([runs[0]?.context.signal.aborted, runs[0]?.context.ownsLease()]).toEqual([true, false])
    await runs[0]?.end({ done: 'too late' })
    expect(rig.jobs.get(id)).toMatchObject({ state: 'killed', result: undefined })
    expect(rig.runner.kill(id)).toBeUndefined()
  })

  it('is told to the kind, so that nothing of it is taken up in another way', async () => {
    const { kind } = heldKind('plain')
    const given: string[] = []
    const rig = await jobRig([{ ...kind, killed: ({ key }) => given.push(key) }])
    rig.runner.start()
    for (const key of ['s1', 's2']) rig.runner.kill(rig.runner.enqueue(due(key, 'm1')).id)
    expect(given).toEqual(['s1', 's2'])
  })

  it('keeps what waits from ever running, until a person wants it', async () => {
    const { kind, seen } = scripted([{ failed: 'x' }])
    const rig = await jobRig([kind])
    rig.runner.start()
    const { id } = rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    rig.runner.kill(id)
    rig.runner.enqueue(due('s1', 'm1'))
    rig.time.pass(600 * MINUTE)
    await settled()
    expect([seen.length, states(rig)]).toEqual([1, ['s1 m1 killed']])
    expect(rig.runner.retry(id)).toMatchObject({ retried: { id } })
    await settled()
    expect(states(rig)).toEqual(['s1 m1 done'])
  })

  it('lets nothing begin at the same key or directory before the run has really ended', async () => {
    const { kind, runs } = heldKind('plain')
    const rig = await jobRig([kind])
    rig.runner.start()
    const { id } = rig.runner.enqueue(due('s1', 'm1', { dir: '/a' }))
    await settled()
    rig.runner.enqueue(due('s1', 'm2', { dir: '/a' }))
    rig.runner.enqueue(due('s2', 'm1', { dir: '/a' }))
    rig.runner.kill(id)
    await settled()
    expect([runs.length, states(rig)]).toEqual([1, ['s1 m1 killed', 's2 m1 queued', 's1 m2 queued']])
    await runs[0]?.end({ failed: 'aborted' })
    expect(runs).toHaveLength(2)
  })

  it('that is taken back while the run ends does not let it run twice at once', async () => {
    const { kind, runs } = heldKind('plain')
    const rig = await jobRig([kind])
    rig.runner.start()
    const { id } = rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    rig.runner.kill(id)
    rig.runner.retry(id)
    await settled()
    expect([runs.length, states(rig)]).toEqual([1, ['s1 m1 queued']])
    await runs[0]?.end({ done: 'of the killed one' })
    expect(runs).toHaveLength(2)
    await runs[1]?.end({ done: 'of the second' })
    expect(rig.jobs.get(id)).toMatchObject({ state: 'done', result: 'of the second' })
  })
})

describe('two that share the queue', () => {
  it('never run the same job, and one whose lease is lost is told', async () => {
    const { kind, runs } = heldKind('plain')
    const rig = await jobRig([kind])
    const other = rig.newRunner()
    rig.runner.start()
    rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    other.wake()
    await settled()
    expect(runs).toHaveLength(1)
    // A start takes over every lease: it assumes that no other process is alive.
    other.start()
    await settled()
    expect(runs.map(({ context }) => context.ownsLease())).toEqual([false, true])
    rig.time.pass(20 * SECOND)
    expect(runs.map(({ context }) => context.signal.aborted)).toEqual([true, false])
    await runs[0]?.end({ done: 'of the first' })
    await runs[1]?.end({ done: 'of the second' })
    expect(rig.jobs.list({ limit: 9 }).jobs).toMatchObject([{ state: 'done', result: 'of the second', attempts: 2 }])
  })

  it('leave each other alone for as long as leases are kept', async () => {
    const { kind, runs } = heldKind('plain')
    const rig = await jobRig([kind])
    const other = rig.newRunner()
    rig.runner.start()
    other.start()
    rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    rig.time.pass(600 * MINUTE)
    await settled()
    expect(runs.map(({ context }) => context.ownsLease())).toEqual([true])
  })
})

describe('a stop', () => {
  it('begins nothing more and waits for what runs', async () => {
    const { kind, runs } = heldKind('plain')
    const rig = await jobRig([kind])
    rig.runner.start()
    rig.runner.enqueue(due('s1', 'm1'))
    await settled()
    const stopped = rig.runner.stop(new AbortController().signal)
    rig.runner.enqueue(due('s2', 'm1'))
    rig.runner.enqueue(due('s1', 'm2'))
    await runs[0]?.end({ done: null })
    await stopped
    expect([runs.length, states(rig)]).toEqual([1, ['s1 m1 done', 's2 m1 queued', 's1 m2 queued']])
  })

  it('aborts what is not done in time and gives it back, as if it had not been begun', async () => {
    const { kind, runs } = heldKind('plain')
    const rig = await jobRig([kind])
    rig.runner.start()
    for (const key of ['ends', 'finishes', 'deaf']) rig.runner.enqueue(due(key, 'm1'))
    await settled()
    const drain = new AbortController()
    const stopped = rig.runner.stop(drain.signal)
    expect(runs.map(({ context }) => context.signal.aborted)).toEqual([false, false, false])
    drain.abort()
    await settled()
    expect(runs.map(({ context }) => context.signal.aborted)).toEqual([true, true, true])
    await runs[0]?.end({ failed: 'aborted' })
    await runs[1]?.end({ done: null })
    await stopped
    expect(states(rig)).toEqual(['ends m1 queued', 'finishes m1 done', 'deaf m1 queued'])
    expect(rig.jobs.list({ limit: 9, state: 'queued' }).jobs).toMatchObject([
      { attempts: 0, failures: 0 },
      { attempts: 0, failures: 0 },
    ])
    // No runner holds them: the next one claims them at once.
    const next = rig.newRunner()
    next.wake()
    next.start()
    await settled()
    expect(runs.slice(3).map(({ job }) => job.key)).toEqual(['ends', 'deaf'])
  })
})

it('starts where nothing can be written, and begins when it can be', async () => {
  const { kind, runs } = heldKind('plain')
  const rig = await jobRig([kind])
  rig.runner.enqueue(due('s1', 'm1'))
  rig.claims.claim({
    owner: 'dead',
    nowMs: START_MS,
    sorts: [{ kinds: ['plain'], atOnce: 1 }],
    low: [],
    dirOf: () => undefined,
    busy: [],
  })
  rig.store.index().pragma('query_only = 1')
  rig.runner.start()
  rig.runner.resume()
  await settled()
  expect([rig.core.health.list(), runs]).toMatchObject([[{ code: 'disk' }], []])
  rig.store.index().pragma('query_only = 0')
  rig.time.pass(30 * SECOND)
  await settled()
  expect(runs.map(({ job }) => job.key)).toEqual(['s1'])
})

it('writes the end of a run when it can, if it cannot at once', async () => {
  const { kind, runs } = heldKind('plain')
  const rig = await jobRig([kind])
  rig.runner.start()
  const { id } = rig.runner.enqueue(due('s1', 'm1'))
  await settled()
  rig.store.index().pragma('query_only = 1')
  await runs[0]?.end({ done: 'kept' })
  expect(rig.core.health.list()).toMatchObject([{ code: 'disk' }])
  rig.store.index().pragma('query_only = 0')
  rig.time.pass(30 * SECOND)
  expect(rig.jobs.get(id)).toMatchObject({ state: 'done', result: 'kept' })
})

it('counts a job that may ask a model among those that do while there is one, and lets it wait for none', async () => {
  const { kind, runs } = heldKind('sum')
  const rig = await jobRig([{ ...kind, model: 'optional' }])
  const enqueue = (key: string) => rig.runner.enqueue(due(key, 'm1', { kind: 'sum' }))
  rig.model.waits = { postponed: 'the day is over', untilMs: START_MS + MINUTE }
  for (const key of ['s1', 's2', 's3', 's4']) enqueue(key)
  rig.runner.start()
  await settled()
  expect(runs.map(({ job }) => job.key)).toEqual(['s1', 's2'])
  rig.model.online = false
  rig.runner.wake()
  await settled()
  expect(runs.map(({ job }) => job.key)).toEqual(['s1', 's2', 's3', 's4'])
})

describe('a job that uses a model only while there is one', () => {
  const learning = async (dirs: Record<string, string> = {}) => {
    const { kind, runs } = heldKind('learn')
    const rig = await jobRig([{ ...kind, model: 'if-online', low: true, dirOf: ({ key }) => dirs[key] }])
    return { rig, runs, keys: () => runs.map(({ job }) => job.key) }
  }
  const enqueue = (rig: JobRig, key: string, at?: number) =>
    rig.runner.enqueue(due(key, 'm1', { kind: 'learn', ...(at !== undefined && { input: { at } }) }))

  it('is one of two runs of a model, and one of those that give way without', async () => {
    const online = await learning()
    for (const key of ['s1', 's2', 's3']) enqueue(online.rig, key)
    online.rig.runner.start()
    await settled()
    expect(online.keys()).toEqual(['s1', 's2'])
    const offline = await learning()
    offline.rig.model.online = false
    offline.rig.model.waits = { postponed: 'offline' }
    for (const key of ['s1', 's2', 's3']) enqueue(offline.rig, key)
    offline.rig.runner.start()
    await settled()
    expect(offline.keys()).toEqual(['s1'])
  })

  it('waits where there is a model that may not be asked', async () => {
    const { rig, keys } = await learning()
    rig.model.waits = { postponed: 'the day is over', untilMs: START_MS + MINUTE }
    enqueue(rig, 's1')
    rig.runner.start()
    await settled()
    expect(keys()).toEqual([])
    expect(states(rig)).toEqual(['s1 m1 waiting'])
  })

  it('has a memory directory to itself, though the caller did not know which it is before', async () => {
    const { rig, runs, keys } = await learning({ s1: '/a', s2: '/a', s3: '/b' })
    for (const key of ['s1', 's2', 's3']) enqueue(rig, key)
    rig.runner.start()
    await settled()
    expect(keys()).toEqual(['s1', 's3'])
    await runs[1]?.end({ done: null })
    expect(keys()).toEqual(['s1', 's3'])
    await runs[0]?.end({ done: null })
    expect(keys()).toEqual(['s1', 's3', 's2'])
    expect(runs[2]?.job.attempts).toBe(1)
  })

  it('is done for the newest first', async () => {
    const { rig, runs, keys } = await learning({ old: '/a', new: '/a', middle: '/a' })
    enqueue(rig, 'old', 1)
    enqueue(rig, 'new', 3)
    enqueue(rig, 'middle', 2)
    rig.runner.start()
    for (let n = 0; n < 3; n++) {
      await settled()
      await runs[n]?.end({ done: null })
    }
    expect(keys()).toEqual(['new', 'middle', 'old'])
  })
})

const NOW = 1_000_000
const retryIn = (failures: number, random: number, afterMs?: number) => {
  const ending = endingOf({ failed: 'x', afterMs }, { failures, nowMs: NOW, random: () => random })
  return 'retryAt' in ending ? ending.retryAt - NOW : undefined
}

it('spreads retries over the second half of a time that grows fourfold, up to a quarter of an hour', () => {
  expect([0, 1, 2, 3, 9].map((failures) => [retryIn(failures, 0), retryIn(failures, 1)])).toEqual([
    [15_000, 30_000],
    [60_000, 120_000],
    [240_000, 480_000],
    [450_000, 900_000],
    [450_000, 900_000],
  ])
})

it('comes no earlier than it was told, and no earlier than it would by itself', () => {
  expect([retryIn(0, 1, 500_000), retryIn(0, 1, 5)]).toEqual([500_000, 30_000])
})

it('does not ask again at once when the moment to wait for has passed', () => {
  expect(endingOf({ postponed: 'budget', untilMs: NOW - 5 }, { failures: 2, nowMs: NOW, random: () => 0 })).toEqual({
    to: 'waiting',
    error: 'budget',
    retryAt: NOW + 1_000,
  })
})
