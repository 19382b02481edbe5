import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ACTOR_HEADER } from '../../schema/caller.ts'
import { filesAtRest } from '../support/at-rest.ts'
import { startDaemon } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'
import { rawRequest } from '../support/raw.ts'

const SECRET = `ghp_${'Zx9Qw4Er7Ty2Ui5Op8As'}1Df6Gh3Jk0Lz7Xc4`

const user = { [ACTOR_HEADER]: 'user' }
const json = { 'content-type': 'application/json', ...user }

async function ground() {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const daemon = await startDaemon(home)
  const post = async (path: string, body: unknown, method = 'POST') => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await rawRequest(home.places.socketPath, {
      method,
      path,
      headers: text === '' ? user : json,
      body: text,
    })
    return { status: answer.status, error: JSON.parse(answer.body).error }
  }
  return { home, cwd, post, ...daemon }
}

describe('a credential in a name', () => {
  const agent = (change: object) => ({ name: 'one', sessionId: 's1', cwd: '/p', pid: process.pid, ...change })
  const letter = (change: object) => ({ from: 'one', to: 'one', body: 'Hello.', ...change })
  const at = `/${SECRET}/project`
  const question = { cwd: '/p', query: 'Who signs a release at the lighthouse?' }
  const cases: [string, string, object | undefined, string?][] = [
    ['the folder of what is remembered', '/v1/remember', { cwd: at, text: 'Always run check before a push.' }],
    ['the folder that is paused', '/v1/pause', { cwd: at }],
    ['the folder of a memory', `/v1/memories/a.md?cwd=${at}`, { content: topic('One.') }, 'PUT'],
    ['the folder of a memory that is forgotten', `/v1/memories/a.md?cwd=${at}`, undefined, 'DELETE'],
    ['the folder that is dreamt about', '/v1/dream', { cwd: at, force: true }],
    ['the session of a recall', '/v1/recall', { ...question, sessionId: SECRET }],
    ['the harness of a recall', '/v1/recall', { ...question, sessionId: 's1', harness: SECRET }],
    ['the session of a recall that is begun', '/v1/recall/prefetch', { ...question, sessionId: SECRET }],
    ['the harness of an agent', '/v1/agents', agent({ harness: SECRET })],
    ['the harness of a result of a tool', '/v1/tool-results', { sessionId: 's1', harness: SECRET, results: [] }],
    ['the harness of a prompt', `/v1/memory/prompt?cwd=/p/q&sessionId=s1&harness=${SECRET}`, undefined, 'GET'],
    ['the name of an agent', '/v1/agents', agent({ name: SECRET })],
    ['the session of an agent', '/v1/agents', agent({ sessionId: SECRET })],
    ['the folder of an agent', '/v1/agents', agent({ cwd: at })],
    ['the sender of a letter', '/v1/mail', letter({ from: SECRET })],
    ['the session that sends a letter', '/v1/mail', letter({ from: `session:${SECRET}` })],
    ['the request that a letter makes', '/v1/mail', letter({ kind: 'shutdown_request', requestId: SECRET })],
    ['the session of a prompt', `/v1/memory/prompt?cwd=/p/q&sessionId=${SECRET}`, undefined, 'GET'],
    [
      'the type of a sub-agent whose memory is forgotten',
      `/v1/agents/${SECRET}/memory/a.md?cwd=/p/q&scope=user`,
      undefined,
      'DELETE',
    ],
    ['the type of a sub-agent', `/v1/agents/${SECRET}/memory?cwd=/p/q&scope=user`, undefined, 'GET'],
    [
      'the type of a sub-agent with a memory',
      `/v1/agents/${SECRET}/memory/a.md?cwd=/p/q&scope=user`,
      { content: topic('One.') },
      'PUT',
    ],
  ]

  it('is refused, and reaches no file', async () => {
    const { home, post, stop } = await ground()
    expect(await post('/v1/agents', agent({}))).toMatchObject({ status: 200 })
    const answers: Record<string, unknown> = {}
    for (const [what, path, body, method] of cases) {
      const { status, error } = await post(path, body ?? '', method)
      answers[what] = `${status} ${error?.reason}`
    }
    expect(answers).toEqual(Object.fromEntries(cases.map(([what]) => [what, '422 secret'])))
    await stop()
    const holding = filesAtRest(home.dir).filter(({ path, bytes }) => path.includes(SECRET) || bytes.includes(SECRET))
    expect(holding.map(({ path }) => path)).toEqual([])
  })
})

it('a folder behind a link whose name holds a credential is refused like that folder', async () => {
  const { home, post, stop } = await ground()
  const real = join(home.dir, SECRET, 'project')
  mkdirSync(join(real, '.git'), { recursive: true })
  const link = join(home.dir, 'link')
  symlinkSync(real, link)
  const secret = { status: 422, error: { reason: 'secret' } }
  expect(await post('/v1/remember', { cwd: link, text: 'Always run check before a push.' })).toMatchObject(secret)
  expect(await post('/v1/recall', { cwd: real, query: 'What runs before a push?', sessionId: 's' })).toMatchObject(
    secret,
  )
  await stop()
  const holding = filesAtRest(home.places.stateDir).filter(({ bytes }) => bytes.includes(SECRET))
  expect(holding.map(({ path }) => path)).toEqual([])
})

describe('a body that costs more than it says', () => {
  it('is refused where it is nested a hundred thousand times', async () => {
    const { cwd, post } = await ground()
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const turn = `"cwd":${JSON.stringify(cwd)},"sessionId":"s","turnId":"t"`
    const bodies = [
      `{${turn},"messages":${deep}}`,
      `{${turn},"messages":[{"type":"user","text":"x","more":${deep}}]}`,
      `{${turn},"messages":[{"role":"user","content":${deep}}]}`,
      `{${turn},"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":${deep}}]}]}`,
    ]
    const statuses = []
    for (const body of bodies) statuses.push((await post('/v1/turns', body)).status)
    expect(statuses).toEqual(bodies.map(() => 400))
  })

  it('is refused where a hook has a million fields', async () => {
    const { post, client } = await ground()
    const fields = Array.from({ length: 1_000_000 }, (_, n) => `"k${n}":1`).join()
    expect(await post('/v1/hooks/claude-code', `{${fields}}`)).toMatchObject({
      status: 400,
      error: { message: expect.stringContaining('more than 1000 fields') },
    })
    expect(await client.health()).toMatchObject({ ok: true })
  })
})

it('sweeps what dreams of a daemon that was killed have left', async () => {
  const home = makeHome()
  const folder = join(home.places.stateDir, 'dreams')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const left = ['0a.lock', '0a.lock-journal', '0a.json.1b2c.tmp']
  for (const name of left) writeFileSync(join(folder, name), '')
  writeFileSync(join(home.places.stateDir, 'import-1.tmp'), '')
  await startDaemon(home)
  expect(readdirSync(folder).filter((name) => left.includes(name))).toEqual([])
  expect(existsSync(join(home.places.stateDir, 'import-1.tmp'))).toBe(false)
})
