import { appendFileSync, chmodSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startDaemon as startProcess } from '../support/daemon.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { jobEnds } from '../support/job-ends.ts'
import { rawRequest } from '../support/raw.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'

/** As far as it was read by then: how long that takes is up to the machine. */
const JOBS = expect.any(Array)
const SECRET = 'tR7#kf9Qz2Lm'

function projectIn(home: Home): string {
  const cwd = join(home.dir, 'project')
  mkdirSync(join(cwd, '.git'), { recursive: true })
  return cwd
}

const fileOf = (home: Home, harness: string, id: string) =>
  join(home.places.stateDir, 'sessions', harness, id, 'pushed.jsonl')

const linesOf = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

const said = (question: string, answer: string) => [
  { role: 'user', content: question },
  { role: 'assistant', content: [{ type: 'text', text: answer }] },
]

describe('a turn that is pushed', () => {
  it('is dated by the day it was where it was said', async () => {
    const home = makeHome({ TZ: 'Pacific/Kiritimati' })
    const cwd = projectIn(home)
    const daemon = await startProcess(home)
    const ends = await jobEnds(daemon.client, 'extract')
    const messages = [
      {
        role: 'user',
        content: 'the code freeze starts tomorrow, nothing lands after that',
        at: '2026-10-31T23:30:00-11:00',
      },
      { role: 'assistant', content: 'Noted.' },
    ]
    await daemon.client.pushTurn({ cwd, harness: 'mine', sessionId: 's', turnId: 'one', messages })
    await ends.next()
    const { items } = await daemon.client.notices({ id: 's', harness: 'mine' })
    expect(items.flatMap(({ files }) => files)).toEqual(['project_the_code_freeze_starts_2026_11_01_nothing_lands.md'])
  })

  it('is kept in the generic form, read like any transcript, and taken once', async () => {
    const home = makeHome()
    genericRoot(home)
    const cwd = projectIn(home)
    const daemon = await startDaemon(home)
    const turns = await turnEvents(daemon.client)
    const session = { cwd, harness: 'mine', sessionId: 's' }
    const messages = [
      { role: 'user', content: 'Why is the build red?', id: 'u1', drifted: { a: 1 } },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'text', text: 'Let me look.' },
          { type: 'tool_use', id: 't1', name: 'bash', input: { command: 'npm run build' } },
          { type: 'tool_use', id: 't2', name: 'bash', input: { command: 'ls' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't1', content: 'error TS2304' },
          { type: 'tool_result', tool_use_id: 't2', content: [{ type: 'text', text: 'cart.ts' }] },
        ],
      },
      { role: 'assistant', content: 'An import is missing.', usage: { input: 10, output: 2 } },
    ]
    expect(await daemon.client.pushTurn({ ...session, turnId: 'one', messages })).toEqual({ jobIds: JOBS })
    expect(await turns.take(1)).toMatchObject([{ harness: 'mine', sessionId: 's', end: 'final', cwd, project: cwd }])
    const file = fileOf(home, 'mine', 's')
    const at = expect.any(Number)
    expect(linesOf(file)).toEqual([
      { type: 'session', id: 's', cwd, at },
      { type: 'user', id: 'u1', text: 'Why is the build red?', at },
      {
        type: 'assistant',
        id: 'one.2',
        text: 'Let me look.',
        toolCalls: [
          { id: 't1', name: 'bash', input: 'npm run build' },
          { id: 't2', name: 'bash', input: 'ls' },
        ],
        at,
      },
      { type: 'tool', id: 'one.3', callId: 't1', text: 'error TS2304', at },
      { type: 'tool', id: 'one.3.2', callId: 't2', text: 'cart.ts', at },
      {
        type: 'assistant',
        id: 'one.4',
        text: 'An import is missing.',
        usage: { input: 10, output: 2, cacheRead: 0, cacheWrite: 0 },
        at,
      },
      { type: 'end', id: 'one.end', at },
    ])
    expect([statSync(file).mode & 0o777, statSync(join(file, '..')).mode & 0o777]).toEqual([0o600, 0o700])
    const before = readFileSync(file, 'utf8')
    await daemon.client.pushTurn({ ...session, turnId: 'one', messages })
    expect(readFileSync(file, 'utf8')).toBe(before)
    await daemon.client.pushTurn({
      ...session,
      turnId: 'two',
      messages: [...said('And now?', 'Green.'), { type: 'end', end: 'aborted' }],
    })
    expect(await turns.take(1)).toMatchObject([{ end: 'aborted' }])
    expect(await daemon.client.session({ id: 's' })).toMatchObject({
      harness: 'mine',
      tokens: 12,
      turns: 2,
      turnList: [
        { prompt: 'Why is the build red?', toolCalls: 2, end: 'final' },
        { prompt: 'And now?', toolCalls: 0, end: 'aborted' },
      ],
    })
    expect((await daemon.client.search({ cwd, q: 'TS2304' })).items).toMatchObject([{ harness: 'mine', role: 'tool' }])
    await daemon.stop()
  })

  it('is there after a kill, and what a kill left half is neither read nor in the way', async () => {
    const home = makeHome()
    genericRoot(home)
    const cwd = projectIn(home)
    const first = await startProcess(home)
    const session = { cwd, harness: 'mine', sessionId: 's' }
    await first.client.pushTurn({ ...session, turnId: 'one', messages: said('one?', 'one') })
    await first.kill9()
    const file = fileOf(home, 'mine', 's')
    const whole = readFileSync(file, 'utf8')
    appendFileSync(file, '{"type":"user","id":"two.1","text":"two?"}\n{"type":"assist')
    const second = await startProcess(home)
    const turns = await turnEvents(second.client)
    await second.client.pushTurn({ ...session, turnId: 'one', messages: said('one?', 'one') })
    expect(readFileSync(file, 'utf8').startsWith(whole)).toBe(true)
    await second.client.pushTurn({ ...session, turnId: 'two', messages: said('two?', 'two') })
    while (!(await turns.take(1)).some(({ sessionId }) => sessionId === 's')) {}
    expect(linesOf(file).map(({ id }) => id)).toEqual([
      's',
      'one.1',
      'one.2',
      'one.end',
      'two.1',
      'two.1',
      'two.2',
      'two.end',
    ])
    expect(await second.client.session({ id: 's' })).toMatchObject({
      turns: 2,
      turnList: [{ prompt: 'one?' }, { prompt: 'two?' }],
    })
    expect((await second.client.status()).ingest.skipped).toEqual({})
    await second.stop()
  })

  it('comes through in order when many come at once', async () => {
    const home = makeHome()
    genericRoot(home)
    const cwd = projectIn(home)
    const daemon = await startDaemon(home)
    const names = Array.from({ length: 30 }, (_, n) => `t${n}`)
    const push = (turnId: string) =>
      daemon.client.pushTurn({ cwd, sessionId: 's', turnId, messages: said(`${turnId}?`, turnId) })
    await Promise.all([...names, ...names].map(push))
    const ends = linesOf(fileOf(home, 'generic', 's')).filter(({ type }) => type === 'end')
    expect(ends.map(({ id }) => id).sort()).toEqual(names.map((name) => `${name}.end`).sort())
    await daemon.stop()
  })

  it('leaves nothing private and no credential on disk', async () => {
    const home = makeHome()
    const secret = join(home.dir, 'secret')
    mkdirSync(secret)
    genericRoot(home, { private: [secret] })
    const cwd = projectIn(home)
    const daemon = await startDaemon(home)
    const turns = await turnEvents(daemon.client)
    const password = `password = "${SECRET}"`
    await daemon.client.pushTurn({
      cwd,
      sessionId: password,
      turnId: password,
      messages: [
        { role: 'user', id: password, content: `it is ${password} <private>hush hush</private> and so on` },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'x', name: password, input: { command: password } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: password, content: password }] },
        { role: 'assistant', model: password, content: password, thinking: password },
        { type: 'session', branch: password, forkOf: password },
        { type: 'never-seen', text: password },
        { type: 'rewind', from: password },
      ],
    })
    await turns.take(1)
    const refused = (input: object) =>
      daemon.client
        .pushTurn({ cwd, sessionId: 's', turnId: 't', messages: said('hush', 'hush'), ...input })
        .catch(({ code, reason }) => [code, reason])
    expect(await refused({ cwd: secret })).toEqual(['MEMORY_OFF', undefined])
    expect(await refused({ cwd: join(home.dir, password) })).toEqual(['REFUSED', 'secret'])
    await daemon.client.pause({})
    expect(await refused({})).toEqual(['MEMORY_OFF', undefined])
    await daemon.stop()
    const all = readdirSync(home.places.stateDir, { recursive: true, withFileTypes: true }).flatMap((entry) => {
      const path = join(entry.parentPath, entry.name)
      return [path, entry.isFile() ? readFileSync(path, 'latin1') : '']
    })
    expect(all.filter((text) => text.includes(SECRET))).toEqual([])
    expect(all.filter((text) => text.includes('hush'))).toEqual([])
    expect(all.filter((text) => text.includes('and so on'))).toHaveLength(1)
  })

  it('has no name that leads out of its folder', async () => {
    const home = makeHome()
    genericRoot(home)
    const cwd = projectIn(home)
    const daemon = await startDaemon(home)
    const turns = await turnEvents(daemon.client)
    for (const sessionId of ['..', '../../x', 'a/b', 'x'.repeat(300), 'ü'])
      await daemon.client.pushTurn({ cwd, harness: '..', sessionId, turnId: '../t', messages: said('q', 'a') })
    await turns.take(5)
    const sessions = join(home.places.stateDir, 'sessions')
    const names = readdirSync(sessions, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    expect(names.map(({ parentPath }) => parentPath.slice(sessions.length))).toEqual(
      Array.from({ length: 5 }, () => expect.stringMatching(/^\/[\da-f]{64}\/[\da-f]{64}$/)),
    )
    expect(await daemon.client.session({ id: '../../x' })).toMatchObject({ id: '../../x', turns: 1 })
    await daemon.stop()
  })

  it('is read from the transcript that the harness writes, if it names one', async () => {
    const home = makeHome()
    genericRoot(home)
    const cwd = projectIn(home)
    const elsewhere = join(home.dir, 'elsewhere', 'e.jsonl')
    append(elsewhere, { type: 'session', id: 'e', cwd }, ...turn('one'))
    append(join(home.dir, 'points.jsonl'), { x: 1 })
    const daemon = await startDaemon(home)
    const turns = await turnEvents(daemon.client)
    const push = (transcriptPath: string) =>
      daemon.client.pushTurn({ cwd, sessionId: 'e', turnId: 't', transcriptPath }).catch(({ code }) => code)
    expect(await push(elsewhere)).toEqual({ jobIds: JOBS })
    expect(await turns.take(1)).toMatchObject([{ sessionId: 'e' }])
    for (const path of ['points.jsonl', 'none.jsonl', 'elsewhere'])
      expect(await push(join(home.dir, path))).toBe('BAD_REQUEST')
    expect(await push(join(home.places.stateDir, 'history.db'))).toBe('BAD_REQUEST')
    expect(await daemon.client.pushTurn({ cwd, sessionId: 'e', turnId: 't' }).catch(({ code }) => code)).toBe(
      'BAD_REQUEST',
    )
    await daemon.stop()
  })

  it('may be as long as a conversation, and is answered with 202', async () => {
    const home = makeHome()
    genericRoot(home)
    const cwd = projectIn(home)
    const daemon = await startDaemon(home)
    const text = 'some words '.repeat(200_000)
    const body = { cwd, sessionId: 's', turnId: 't', messages: said(text, 'Read.') }
    await daemon.client.pushTurn(body)
    const { status } = await rawRequest(home.places.socketPath, {
      method: 'POST',
      path: '/v1/turns',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(status).toBe(202)
    const tooLong = { ...body, messages: said('x'.repeat(33_000_000), '') }
    await expect(daemon.client.pushTurn(tooLong)).rejects.toMatchObject({ code: 'TOO_LARGE' })
    await daemon.stop()
  })

  it('expires like everything else that is kept', async () => {
    const home = makeHome()
    genericRoot(home, { retention: { days: 30, maxBytes: 2_000_000_000, backups: 7 } })
    const cwd = projectIn(home)
    const first = await startDaemon(home)
    for (const sessionId of ['old', 'new'])
      await first.client.pushTurn({ cwd, harness: 'mine', sessionId, turnId: 't', messages: said('q', 'a') })
    await first.stop()
    const long = Date.now() / 1_000 - 31 * 86_400
    utimesSync(fileOf(home, 'mine', 'old'), long, long)
    const second = await startDaemon(home)
    await second.logged('deleted what is past its retention')
    expect(readdirSync(join(home.places.stateDir, 'sessions', 'mine'))).toEqual(['new'])
    await second.stop()
  })

  it('is refused, and nothing of it kept, when it cannot be written', async () => {
    const home = makeHome()
    genericRoot(home)
    const cwd = projectIn(home)
    const daemon = await startDaemon(home)
    // A file where the folder should be: also for root, who may write anywhere.
    mkdirSync(join(home.places.stateDir, 'sessions'), { mode: 0o700 })
    appendFileSync(join(home.places.stateDir, 'sessions', 'mine'), '')
    chmodSync(join(home.places.stateDir, 'sessions', 'mine'), 0o600)
    const push = () =>
      daemon.client.pushTurn({ cwd, harness: 'mine', sessionId: 's', turnId: 't', messages: said('q', 'a') })
    await expect(push()).rejects.toMatchObject({ code: expect.stringMatching(/^(INTERNAL|DEGRADED)$/) })
    await daemon.stop()
  })
})
