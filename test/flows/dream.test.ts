import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { DreamBegun, DreamReport } from '../../schema/dream.ts'
import { memoryd } from '../support/cli.ts'
import { connectAs } from '../support/connect-as.ts'
import {
  dreamGround,
  dreamModel,
  goodDream,
  read,
  remove,
  sixtyMemories,
  snapshot,
  write,
} from '../support/dream-ground.ts'
import { collectEvents } from '../support/events.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { jobEnds } from '../support/job-ends.ts'
import { says } from '../support/messages-api/answers.ts'

const configure = (home: Home, settings: object) => writeFileSync(home.places.configFile, JSON.stringify(settings))

async function dreamt(home: Home, cwd: string) {
  const daemon = await startDaemon(home)
  const person = connectAs(home, 'user')
  const ends = await jobEnds(person, 'dream')
  const events = await collectEvents(person, 'dream')
  const begun = await person.dream({ cwd, force: true })
  if (!begun.started) throw new Error(JSON.stringify(begun))
  const job = await ends.next()
  expect(job.id).toBe(begun.jobId)
  const { last } = await person.dreamStatus({ cwd })
  return { daemon, person, job, events: events.seen, last: last as DreamReport, ends }
}

describe('a dream over sixty memories', () => {
  it('says each thing once, tells truly what it did, and can be undone to the byte', async () => {
    const { api, home } = await dreamModel(goodDream)
    const { cwd, dir, before } = dreamGround(home)
    const { person, last, job, events } = await dreamt(home, cwd)
    expect(job).toMatchObject({ state: 'done', result: { outcome: 'applied', created: 0, updated: 4 } })
    const after = snapshot(dir)
    const gone = Object.keys(before).filter((file) => !(file in after))
    expect(last).toMatchObject({
      outcome: 'applied',
      mode: 'model',
      trigger: 'person',
      created: 0,
      updated: 4,
      merged: 5,
      removed: 3,
      turns: 3,
      denials: 0,
      repairs: { dangling: 2, duplicate: 1, orphan: 0, long: 1 },
      undone: false,
    })
    expect(gone).toHaveLength(8)
    expect(
      last.files
        .filter(({ op }) => op === 'merge' || op === 'delete')
        .map(({ file }) => file)
        .sort(),
    ).toEqual(gone)
    expect(
      last.files
        .filter(({ op }) => op === 'update')
        .map(({ file }) => file)
        .sort(),
    ).toEqual(['MEMORY.md', 'demo_0.md', 'demo_1.md', 'demo_2.md', 'demo_3.md'])
    expect(last.files.find(({ file }) => file === 'demo_2.md')?.diff).toContain(
      '+ The demo for customer2 is on 2026-03-12',
    )
    // The index is as long as the report says, and points to exactly what is there.
    const index = after['MEMORY.md'] ?? ''
    expect(last.index?.after).toEqual({ lines: index.split('\n').length - 1, bytes: Buffer.byteLength(index) })
    expect(last.index?.before.bytes).toBe(Buffer.byteLength(before['MEMORY.md'] ?? ''))
    const pointers = [...index.matchAll(/\]\(([^)]+)\)/g)].map(([, file]) => file)
    expect(pointers.sort()).toEqual(
      Object.keys(after)
        .filter((file) => file !== 'MEMORY.md')
        .sort(),
    )
    expect(Math.max(...index.split('\n').map((line) => line.length))).toBeLessThanOrEqual(200)
    expect(index.startsWith('# Memories\n\n')).toBe(true)
    // What was told while it went on.
    expect(events.map(({ state, phase }) => `${state} ${phase}`)).toEqual([
      'running starting',
      'running starting',
      'running starting',
      'running updating',
      'running updating',
      'completed updating',
    ])
    expect(events[3]?.turn).toMatchObject({ turn: 2, tools: expect.arrayContaining(['Write', 'Edit']) })
    expect(last.spent?.usd).toBeGreaterThan(0)
    const directive = JSON.stringify(api.requests[0]?.body)
    for (const word of ['1. Orient', '2. Gather', '3. Consolidate', '4. Prune', 'project_billing0.md', 'gone_1.md'])
      expect(directive).toContain(word)
    const [cost] = (await person.cost({ by: 'job' })).items
    expect(cost).toMatchObject({ key: 'dream', calls: 3, usd: last.spent?.usd })

    await person.undoRun({ id: last.runId })
    expect(snapshot(dir)).toEqual(before)
    expect((await person.dreamStatus({ cwd })).last?.undone).toBe(true)
  })

  it('does without a model what needs none', async () => {
    const home = makeHome()
    const { cwd, dir, before } = dreamGround(home)
    const { person, last } = await dreamt(home, cwd)
    expect(last).toMatchObject({ outcome: 'applied', mode: 'rules', merged: 5, updated: 0, removed: 0, turns: 0 })
    expect(Object.keys(snapshot(dir))).toHaveLength(56)
    await person.undoRun({ id: last.runId })
    expect(snapshot(dir)).toEqual(before)
  })

  it('waits for a person as a whole where review is required', async () => {
    const { home } = await dreamModel(goodDream)
    configure(home, { review: 'required' })
    const { cwd, dir, before } = dreamGround(home)
    const { person, last } = await dreamt(home, cwd)
    expect(last).toMatchObject({ outcome: 'review', why: expect.stringContaining('review is required'), updated: 4 })
    expect(snapshot(dir)).toEqual(before)
    const { items } = await person.reviews()
    expect(items).toHaveLength(last.files.length)
    await person.decideReview({ id: items[0]?.id ?? '', decision: 'approve' })
    expect(await person.reviews()).toEqual({ items: [] })
    expect((await person.dreamStatus({ cwd })).last).toMatchObject({ outcome: 'applied' })
    expect(Object.keys(snapshot(dir))).toHaveLength(53)
  })
})

describe('a dream that goes wrong leaves the directory as it was, and says why', () => {
  const all = Object.keys(sixtyMemories().files)
  const inSteps =
    (act: (file: string) => ReturnType<typeof write>, end = says('Done.')) =>
    (n: number) => {
      if (n === 1) return all.slice(0, 40).map(read)
      if (n === 2) return all.slice(40).map(read)
      if (n === 3) return all.slice(0, 40).map(act)
      return n === 4 ? all.slice(40).map(act) : end
    }
  const one = '---\nname: All\ndescription: Everything there is\ntype: project\n---\n\nEverything is fine.\n'
  it.each([
    ['deletes everything', inSteps(remove), 'review', /60 memories would be gone.*60 memories would be deleted/],
    [
      'empties the index',
      (n: number) => (n === 1 ? [write('MEMORY.md', '# \n')] : says('Done.')),
      'review',
      /the index would shrink/,
    ],
    ['rewrites every file to one', inSteps((file) => write(file, one)), 'review', /memories would be gone/],
    [
      'writes outside',
      (n: number) =>
        n === 1
          ? [write('../outside.md', one), write('/outside.md', one), write('../../../.bashrc', 'x'), write('x.sh', 'x')]
          : says('Done.'),
      'failed',
      /tried to write outside the memory directory \(3×\)/,
    ],
    [
      'writes into another home beside a good dream',
      (n: number) => {
        const turn = goodDream(n)
        return n === 2 && Array.isArray(turn) ? [...turn, write('~/.bashrc', 'x')] : turn
      },
      'failed',
      /tried to write outside the memory directory \(1×\)/,
    ],
    ['never stops', () => [read('MEMORY.md')], 'failed', /the limit of 30 turns was reached/],
    ['is cut off in its words', () => says('I will', { stop: 'max_tokens' }), 'failed', /cut at its longest/],
    [
      'is refused',
      () => ({ status: 400, type: 'invalid_request_error', message: 'no such thing' }) as const,
      'failed',
      /no such thing/,
    ],
  ] as const)('one that %s', async (_what, script, outcome, why) => {
    const { home } = await dreamModel(script as never)
    const { cwd, dir, before } = dreamGround(home)
    const { last, person } = await dreamt(home, cwd)
    expect(last).toMatchObject({ outcome, why: expect.stringMatching(why) })
    expect(snapshot(dir)).toEqual(before)
    // And it is not paid for again at once.
    const { gates } = (await person.dream({ cwd, explain: true })) as Extract<DreamBegun, { started: false }>
    if (outcome === 'failed')
      expect(gates[2]).toMatchObject({
        gate: 'throttle',
        facts: { failures: 1, failedUsd: last.spent?.usd ?? 0, waitMinutes: 60 },
        why: expect.stringMatching(/^the last dream failed or was stopped 0(\.\d+)? minutes ago.*, and 60 must pass$/),
      })
    else expect(gates[1]).toMatchObject({ gate: 'time', why: expect.stringContaining('24 must pass') })
    for (const outside of [join(dir, '..', 'outside.md'), join(dir, '..', '..', '..', '.bashrc')])
      expect(existsSync(outside)).toBe(false)
  })
})

describe('a dream keeps to what is its own', () => {
  const note = (what: string) =>
    `---\nname: ${what}\ndescription: About ${what}\ntype: project\n---\n\nThe ${what} is known to all of us here.\n`

  it('and touches neither memories of the team nor logs', async () => {
    const { home } = await dreamModel((n) =>
      n === 1
        ? [read('team/plan.md'), read('logs/2026/06/2026-06-30.md')]
        : n === 2
          ? [
              write('team/plan.md', note('new plan')),
              write('team/other.md', note('salary')),
              remove('team/plan.md'),
              write('logs/2026/06/2026-06-30.md', '- said\n- and more\n'),
            ]
          : says('Done.'),
    )
    configure(home, { team: { enabled: true }, dailyLog: { enabled: true } })
    const { cwd, dir, before } = dreamGround(home, {
      files: {
        'a.md': note('first thing'),
        'team/plan.md': note('plan'),
        'team/MEMORY.md': '- [plan](team/plan.md) — plan\n',
        'logs/2026/06/2026-06-30.md': '- said\n',
      },
      index: '- [first thing](a.md) — About first thing\n',
    })
    const { last } = await dreamt(home, cwd)
    expect(last).toMatchObject({ outcome: 'nothing', denials: 4 })
    expect(snapshot(dir)).toEqual(before)
  })

  it('and writes nothing where memory was switched off meanwhile', async () => {
    const { api, home } = await dreamModel((n) => {
      const turn = goodDream(n)
      return n < 3 ? turn : { fault: 'slow', of: says('Done.'), everyMs: 100, pings: 10 }
    })
    const { cwd, dir, before } = dreamGround(home)
    const { client } = await startDaemon(home)
    const ends = await collectEvents(client, 'dream')
    await client.dream({ cwd, force: true })
    await api.request(3)
    await client.pause({ cwd })
    await ends.until((seen) => seen.some(({ state }) => state !== 'running'))
    expect(ends.seen.at(-1)).toMatchObject({ state: 'killed', why: expect.stringMatching(/^memory is off: paused/) })
    expect(snapshot(dir)).toEqual(before)
    expect(existsSync(join(dir, '.consolidate-lock'))).toBe(false)
  })
})

describe('the lock', () => {
  it('is put back when a dream fails or is killed, which stops the model within a second', async () => {
    const { api, home } = await dreamModel((n) =>
      n === 1 ? [read('demo_0.md')] : n === 2 ? [remove('demo_0.md')] : { fault: 'silent' },
    )
    const { cwd, dir, before } = dreamGround(home)
    const lock = join(dir, '.consolidate-lock')
    writeFileSync(lock, '')
    const at = Math.floor(Date.now() - 50 * 3_600_000)
    utimesSync(lock, at / 1_000, (at + 0.5) / 1_000)
    const { client } = await startDaemon(home)
    const ends = await jobEnds(client, 'dream')
    const begun = await client.dream({ cwd, force: true })
    const jobId = begun.started ? begun.jobId : ''
    await api.request(3)
    expect(statSync(lock).mtimeMs).toBeGreaterThan(at + 1_000)
    expect(await client.dreamStatus({ cwd })).toMatchObject({
      live: { state: 'running', phase: 'updating', turnCount: 2 },
    })
    // A caller that asks for another is led to this one.
    expect(await client.dream({ cwd, force: true })).toEqual({ started: true, jobId })
    await client.killJob({ id: jobId })
    expect((await ends.next()).state).toBe('killed')
    expect(await (await api.request(3)).closed).toMatchObject({ complete: false })
    while ((await client.dreamStatus({ cwd })).live?.state === 'running') await new Promise(setImmediate)
    expect(await client.dreamStatus({ cwd })).toMatchObject({ live: { state: 'killed' }, last: { outcome: 'killed' } })
    expect(Math.floor(statSync(lock).mtimeMs)).toBe(at)
    expect(readFileSync(lock, 'utf8')).toBe('')
    expect(snapshot(dir)).toEqual(before)
  })

  it('of another program keeps a dream from starting, and says whose it is', async () => {
    const home = makeHome()
    const { cwd, dir, before } = dreamGround(home)
    const lock = join(dir, '.consolidate-lock')
    writeFileSync(lock, String(process.ppid))
    const { client } = await startDaemon(home)
    expect(await client.dream({ cwd, force: true })).toMatchObject({
      started: false,
      gate: 'lock',
      facts: { holder: process.ppid },
    })
    expect(snapshot(dir)).toEqual(before)
    rmSync(lock)
    expect(await client.dream({ cwd })).toMatchObject({
      started: false,
      gate: 'sessions',
      facts: { sessions: 0, minSessions: 5, since: 'ever' },
    })
    expect(await client.dream({ cwd, explain: true })).toMatchObject({
      started: false,
      gate: 'throttle',
      gates: [{ gate: 'enabled' }, { gate: 'time' }, { gate: 'throttle' }, { gate: 'sessions' }, { gate: 'lock' }],
      lastCheck: { gate: 'sessions', trigger: 'asked' },
    })
    await client.pause({ cwd })
    expect(await client.dream({ cwd, force: true })).toMatchObject({ started: false, gate: 'enabled' })
    expect(await client.dreamStatus({ cwd })).toEqual({})
  })
})

describe('memoryd dream', () => {
  it('starts one and shows what came of it, explains itself, and shows it again', async () => {
    const home = makeHome()
    const { cwd, dir } = dreamGround(home)
    await startDaemon(home)
    const here = { ...home, dir: cwd }
    expect(await memoryd(here, 'dream', '--last')).toMatchObject({ code: 0, stdout: 'there was no dream here yet\n' })
    const { code, stdout } = await memoryd(here, 'dream')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^dream-\S+ was applied\n/)
    expect(stdout).toContain('0 created, 5 merged, 0 updated, 0 removed')
    expect(stdout).toContain('2 dead pointers, 1 double, 0 missing, 1 long line')
    expect(stdout).toMatch(/\nmerge train_\d_2\.md\n/)
    expect((await memoryd(here, 'dream', '--last')).stdout).toBe(stdout)
    const { stdout: why } = await memoryd(here, 'dream', '--explain')
    expect(why).toMatch(/^none would start now: the last one was 0 hours ago, and 24 must pass\n/)
    for (const gate of ['enabled', 'time', 'throttle', 'sessions', 'lock']) expect(why).toContain(`\n  ${gate}`)
    const run = /memoryd undo --run (\S+)/.exec(stdout)?.[1] ?? ''
    expect((await memoryd(here, 'undo', '--run', run)).code).toBe(0)
    expect(Object.keys(snapshot(dir))).toHaveLength(61)
    expect((await memoryd(here, 'dream', '--last')).stdout).toContain(`${run} was undone since`)
    // A second one mends the index again, and leaves what a person has put back.
    const again = await memoryd(here, 'dream', '--json')
    expect(JSON.parse(again.stdout)).toMatchObject({
      last: { outcome: 'applied', merged: 0, repairs: { dangling: 2 } },
    })
    // One that could not begin is not taken for the one before it.
    rmSync(join(dir, '.consolidate-lock'))
    mkdirSync(join(dir, '.consolidate-lock'))
    expect(await memoryd(here, 'dream')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('there was no dream: .consolidate-lock is not a plain file'),
    })
    await memoryd(here, 'pause', '--project')
    expect(await memoryd(here, 'dream')).toMatchObject({ code: 1, stderr: expect.stringContaining('memory is off') })
  })
})
