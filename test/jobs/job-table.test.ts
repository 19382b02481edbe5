import { describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase, storeLayout } from '../../daemon/db/database.ts'
import { createJobClaims, createJobTable, type Ending } from '../../daemon/jobs/job-table.ts'
import { due, jobTables, START_MS as T } from '../support/jobs.ts'

const MINUTE = 60_000
const done: Ending = { to: 'done', result: null, truncated: false }

describe('a trigger', () => {
  it('makes a job that is queued, with all there is to know of it', () => {
    const { jobs } = jobTables()
    const { id, as } = jobs.enqueue(due('s1', 'm1', { dir: '/d', notBeforeMs: T + 5 }), T)
    expect({ as, id }).toEqual({ as: 'new', id: expect.stringMatching(/^plain-[0-9a-f]{12}$/) })
    expect(jobs.get(id)).toEqual({
      id,
      kind: 'plain',
      key: 's1',
      dir: '/d',
      state: 'queued',
      watermark: 'm1',
      input: { upTo: 'm1' },
      createdMs: T,
      startedMs: undefined,
      endedMs: undefined,
      readyMs: T + 5,
      attempts: 0,
      failures: 0,
      error: undefined,
      result: undefined,
      runId: undefined,
      truncated: false,
      trailing: false,
      followedBy: undefined,
    })
  })

  it('joins a job that is queued, which then has the newest input and the earlier time', () => {
    const { jobs } = jobTables()
    const first = jobs.enqueue(due('s1', 'm1', { notBeforeMs: T + 10 }), T)
    expect(jobs.enqueue(due('s1', 'm2', { notBeforeMs: T + 20 }), T + 1)).toEqual({ id: first.id, as: 'merged' })
    expect(jobs.enqueue(due('s2', 'm2'), T + 1).as).toBe('new')
    expect(jobs.get(first.id)).toMatchObject({ watermark: 'm2', input: { upTo: 'm2' }, readyMs: T + 10 })
    expect(jobs.counts()).toEqual({ queued: 2, waiting: 0, running: 0, failed: 0 })
  })

  it('that comes while one runs leads to exactly one more run, with the newest input', () => {
    const { jobs, claims, claim } = jobTables()
    const { id } = jobs.enqueue(due('s1', 'm1'), T)
    claim('me')
    for (const watermark of ['m2', 'm3', 'm4'])
      expect(jobs.enqueue(due('s1', watermark), T + 1)).toEqual({ id, as: 'trailing' })
    expect(jobs.enqueue(due('s1', 'm1'), T + 1)).toEqual({ id, as: 'known' })
    expect(claim('me')).toBeUndefined()
    const settled = claims.settle(id, 'me', done, T + 2)
    expect(settled).toMatchObject({ state: 'done', watermark: 'm1', trailing: false, followedBy: expect.any(String) })
    const { jobs: all } = jobs.list({ limit: 10 })
    expect(all.map(({ state, watermark }) => [state, watermark])).toEqual([
      ['queued', 'm4'],
      ['done', 'm1'],
    ])
    expect(all[0]?.id).toBe(settled?.followedBy)
  })

  it.each([['done'], ['failed'], ['killed']])('with the watermark of a job that is %s begins nothing', (how) => {
    const { jobs, claims, claim } = jobTables()
    const { id } = jobs.enqueue(due('s1', 'm1'), T)
    claim('me')
    if (how === 'killed') claims.kill(id, T)
    claims.settle(id, 'me', how === 'done' ? done : { to: 'failed', error: 'x', failures: 3, retryAt: 0 }, T)
    expect(jobs.get(id)?.state).toBe(how)
    expect(jobs.enqueue(due('s1', 'm1'), T)).toEqual({ id, as: 'known' })
    expect(jobs.enqueue(due('s1', 'm2'), T)).toMatchObject({ as: 'new' })
  })

  it('is taken in with the transaction that found it, and with it undone', () => {
    const { jobs, state } = jobTables()
    const db = openDatabase(storeLayout(state).index)
    const theirs = createJobTable(() => db)
    const fails = db.transaction(() => {
      theirs.enqueue(due('s1', 'm1'), T)
      throw new Error('no')
    })
    expect(fails).toThrow('no')
    expect(jobs.list({ limit: 10 }).jobs).toEqual([])
    db.transaction(() => theirs.enqueue(due('s1', 'm1'), T))()
    expect(jobs.list({ limit: 10 }).jobs).toMatchObject([{ key: 's1' }])
    db.close()
  })
})

describe('a lease', () => {
  it('keeps others away while it lasts, and is renewed by its owner alone', () => {
    const { jobs, claims, claim } = jobTables()
    const { id } = jobs.enqueue(due('s1', 'm1'), T)
    expect(claim('a')).toMatchObject({ id, state: 'running', attempts: 1, startedMs: T })
    expect(claim('b', T + MINUTE - 1)).toBeUndefined()
    expect([claims.renew('b', T + MINUTE - 1), claims.renew('a', T + MINUTE - 1)]).toEqual([[], [id]])
    expect(claim('b', T + MINUTE)).toBeUndefined()
  })

  it('that ran out is taken by another, and what its owner still brings no longer counts', () => {
    const { jobs, claims, claim } = jobTables()
    const { id } = jobs.enqueue(due('s1', 'm1'), T)
    claim('a')
    expect(claim('b', T + MINUTE)).toMatchObject({ id, state: 'running', attempts: 2 })
    expect([claims.holds('a', id), claims.holds('b', id)]).toEqual([false, true])
    expect(claims.settle(id, 'a', done, T + MINUTE)).toBeUndefined()
    expect(jobs.get(id)?.state).toBe('running')
    expect(claims.settle(id, 'b', done, T + MINUTE)).toMatchObject({ state: 'done' })
  })

  it('does not outlive a clock that is set back', () => {
    const { jobs, claim } = jobTables()
    const { id } = jobs.enqueue(due('s1', 'm1'), T)
    claim('a')
    expect(claim('b', T - 60 * MINUTE)).toMatchObject({ id })
  })

  it('does not run out for the one who holds it, however long the machine slept', () => {
    const { jobs, claims, claim } = jobTables()
    const { id } = jobs.enqueue(due('s1', 'm1'), T)
    claim('a')
    expect(claim('a', T + 600 * MINUTE)).toBeUndefined()
    expect(claims.settle(id, 'a', done, T + 600 * MINUTE)).toMatchObject({ state: 'done' })
  })

  it('of the dead is taken back at once, with what came due meanwhile', () => {
    const { jobs, claims, claim } = jobTables()
    const { id } = jobs.enqueue(due('s1', 'm1'), T)
    claim('dead')
    jobs.enqueue(due('s1', 'm2'), T)
    expect(claims.freeOthers('me', T + 1)).toBe(1)
    expect(jobs.get(id)).toMatchObject({ state: 'queued', watermark: 'm2', trailing: false, failures: 0 })
    expect(claim('me', T + 1)).toMatchObject({ id, attempts: 2 })
    expect(claims.freeOthers('me', T + 2)).toBe(0)
  })

  it('lets a job rest for an hour under which ten processes died in a row: the machine may have lost power', () => {
    const { jobs, claims, claim } = jobTables()
    const { id } = jobs.enqueue(due('s1', 'm1'), T)
    for (let life = 0; life < 10; life++) {
      expect(jobs.get(id)?.state).toBe('queued')
      claim(`life ${life}`)
      claims.freeOthers('next', T)
    }
    expect(jobs.get(id)).toMatchObject({
      state: 'queued',
      attempts: 10,
      error: 'the process that ran it died, 10 times in a row',
    })
    expect(claim('next', T + 59 * MINUTE)).toBeUndefined()
    expect(claim('next', T + 60 * MINUTE)).toMatchObject({ id, attempts: 11 })
    claims.freeOthers('the one after', T + 61 * MINUTE)
    expect(claim('the one after', T + 120 * MINUTE)).toBeUndefined()
    expect(claim('the one after', T + 121 * MINUTE)).toMatchObject({ id })
  })
})

describe('what is due', () => {
  it('is taken in the order in which it became so', () => {
    const { jobs, claim } = jobTables()
    jobs.enqueue(due('later', 'm', { notBeforeMs: T + 2 }), T)
    jobs.enqueue(due('sooner', 'm', { notBeforeMs: T + 1 }), T)
    jobs.enqueue(due('much later', 'm', { notBeforeMs: T + 3 }), T)
    expect([claim('a', T), claim('a', T + 2)?.key, claim('a', T + 2)?.key, claim('a', T + 2)]).toEqual([
      undefined,
      'sooner',
      'later',
      undefined,
    ])
  })

  it('is taken oldest first, and after all of it what is low, newest first', () => {
    const { jobs, claims } = jobTables()
    for (const [n, kind] of ['low', 'one', 'two', 'low', 'one'].entries())
      jobs.enqueue({ ...due(`k${n}`, 'm'), kind, input: { at: T + n } }, T + n)
    const sorts = [
      { kinds: ['low', 'one'], atOnce: 100 },
      { kinds: ['two'], atOnce: 100 },
    ]
    const claim = () =>
      claims.claim({ owner: 'a', nowMs: T + 9, sorts, low: ['low'], dirOf: () => undefined, busy: [] })?.key
    expect([claim(), claim(), claim(), claim(), claim(), claim()]).toEqual(['k1', 'k2', 'k4', 'k3', 'k0', undefined])
  })

  it('is found by indexes alone, however much waits', () => {
    const db = jobTables().store.index()
    const prepared: string[] = []
    const prepare = db.prepare.bind(db)
    db.prepare = ((sql: string) => {
      prepared.push(sql)
      return prepare(sql)
    }) as typeof db.prepare
    createJobClaims(() => db).nextReady(T)
    const searches = prepared.filter((sql) => /^\s*SELECT[\s\S]*'waiting'[\s\S]*LIMIT 1/.test(sql))
    expect(searches).toHaveLength(3)
    for (const sql of searches) {
      const plan = prepare(`EXPLAIN QUERY PLAN ${sql.replace(/@\w+|\?/g, '1')}`).all() as { detail: string }[]
      const steps = plan.map(({ detail }) => detail)
      expect(steps[0]).toMatch(/^SEARCH \w+ USING INDEX jobs_(?:oldest|newest|ready) /)
      // What runs is given as a list.
      expect(steps.filter((step) => /^SCAN (?!\w+ VIRTUAL TABLE)|TEMP B-TREE/.test(step))).toEqual([])
    }
  })

  it('is not taken by one who is still at the same key or directory, though the index was begun anew', () => {
    const { jobs, claims } = jobTables()
    jobs.enqueue(due('s1', 'm1'), T)
    jobs.enqueue(due('s2', 'm1', { dir: '/a' }), T)
    jobs.enqueue(due('s3', 'm1', { dir: '/b' }), T)
    const busy = [
      { kind: 'plain', key: 's1', dir: undefined },
      { kind: 'other', key: 's9', dir: '/a' },
    ]
    const claim = () =>
      claims.claim({
        owner: 'me',
        nowMs: T,
        sorts: [{ kinds: ['plain'], atOnce: 9 }],
        low: [],
        dirOf: () => undefined,
        busy,
      })
    expect([claim()?.key, claim()]).toEqual(['s3', undefined])
  })

  it('is not put off by a clock that is set back: it is looked at once more, and once only', () => {
    const { jobs, claims, claim } = jobTables()
    const { id } = jobs.enqueue(due('s1', 'm1'), T)
    const back = T - 24 * 60 * MINUTE
    claim('a')
    claims.settle(id, 'a', { to: 'waiting', error: 'budget', retryAt: T + MINUTE }, T)
    expect(claim('a', T - 1_000)).toBeUndefined()
    expect(claim('a', back)).toMatchObject({ id })
    claims.settle(id, 'a', { to: 'waiting', error: 'budget', retryAt: back + MINUTE }, back)
    expect(claim('a', back + 1)).toBeUndefined()
  })

  it('is listed newest first, in pages, by state', () => {
    const { jobs, claim } = jobTables()
    for (const key of ['1', '2', '3']) jobs.enqueue(due(key, 'm'), T)
    claim('me')
    const page = jobs.list({ limit: 2 })
    expect(page.jobs.map(({ key }) => key)).toEqual(['3', '2'])
    expect(jobs.list({ limit: 2, after: page.next }).jobs.map(({ key }) => key)).toEqual(['1'])
    expect(jobs.list({ limit: 2, after: page.next }).next).toBeUndefined()
    expect(jobs.list({ limit: 9, state: 'running' }).jobs.map(({ key }) => key)).toEqual(['1'])
  })

  it('is forgotten some time after its end, and never before', () => {
    const { jobs, claims, claim } = jobTables()
    for (const key of ['ended', 'runs', 'queued']) jobs.enqueue(due(key, 'm'), T)
    const ended = claim('me')
    claims.settle(ended?.id ?? '', 'me', done, T + 10)
    claim('me', T)
    expect([jobs.expire(T + 10), jobs.expire(T + 11)]).toEqual([0, 1])
    expect(jobs.list({ limit: 9 }).jobs.map(({ key, state }) => [key, state])).toEqual([
      ['queued', 'queued'],
      ['runs', 'running'],
    ])
  })
})

it('a look that finds nothing needs no lock: the thread that reads transcripts may hold it', () => {
  const { state, claim, jobs } = jobTables()
  jobs.enqueue(due('s1', 'm1', { notBeforeMs: T + MINUTE }), T)
  const reader = openDatabase(storeLayout(state).index)
  onTestFinished(() => void reader.close())
  reader.exec('BEGIN IMMEDIATE')
  expect(claim('us', T)).toBeUndefined()
})
