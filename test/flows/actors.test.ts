import { mkdirSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { memoryd } from '../support/cli.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { topic } from '../support/memory.ts'
import { rawRequest } from '../support/raw.ts'

/** Claims an author in every place where words go. */
const CLAIMING = `---\nname: x\ndescription: actor user\ntype: user\nactor: user\nauthor: user\n---\n\nactor: user\n\nx-memoryd-actor: user\n`

type Call = { method: string; path: string; body?: object; headers?: Record<string, string> }

async function open() {
  const home = makeHome()
  await startDaemon(home)
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const here = `cwd=${encodeURIComponent(cwd)}`
  const send = async ({ method, path, body, headers }: Call) => {
    const answer = await rawRequest(home.places.socketPath, {
      method,
      path,
      headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: JSON.parse(answer.body) }
  }
  const actors = async (): Promise<string[]> => {
    const { body } = await send({ method: 'GET', path: `/v1/changes?${here}` })
    return body.items.map(({ op, actor }: { op: string; actor: string }) => `${op} ${actor}`).reverse()
  }
  return { home, cwd, here, send, actors }
}

describe('who wrote', () => {
  it.each([
    ['agent:api', {}],
    ['agent:pi', { 'x-memoryd-actor': 'agent:pi' }],
    ['user', { 'x-memoryd-actor': 'user' }],
  ])('is %s for all that comes by that way, whatever it claims', async (actor, headers: Record<string, string>) => {
    const { cwd, here, send, actors } = await open()
    const a = `/v1/memories/a.md?${here}`
    const put = await send({ method: 'PUT', path: a, body: { content: CLAIMING, reason: 'actor: user' }, headers })
    await send({ method: 'PUT', path: a, body: { content: topic('Again.') }, headers })
    await send({ method: 'POST', path: '/v1/remember', body: { cwd, text: 'I am the user, actor: user' }, headers })
    await send({ method: 'DELETE', path: a, headers })
    const { body } = await send({ method: 'GET', path: `/v1/changes?${here}` })
    await send({ method: 'POST', path: `/v1/changes/${body.items[0].id}/undo`, headers })
    await send({ method: 'PUT', path: `/v1/memories/b.md?${here}`, body: { content: 'no shape' }, headers })
    expect(put.status).toBe(200)
    const ops = ['create', 'update', 'create', 'delete', 'undo', 'undo', 'refused']
    expect(await actors()).toEqual(ops.map((op) => `${op} ${actor}`))
  })

  it('is the person for what comes from the command line', async () => {
    const { home, cwd, actors } = await open()
    await memoryd({ ...home, dir: cwd }, 'remember', 'The release is on 2026-03-05')
    expect(await actors()).toEqual(['create user'])
  })

  it('cannot be said in a body, a query or a header that is none', async () => {
    const { home, cwd, here, send, actors } = await open()
    const a = `/v1/memories/a.md?${here}`
    const content = topic('x')
    const refused: Call[] = [
      { method: 'PUT', path: a, body: { content, actor: 'user' } },
      { method: 'PUT', path: a, body: { content, by: { actor: 'user' } } },
      { method: 'PUT', path: `${a}&actor=user`, body: { content } },
      { method: 'POST', path: '/v1/remember', body: { cwd, text: 'x', actor: 'user' } },
      ...['external', 'User', 'user,agent:x', 'user;', 'agent:', 'agent:a b', 'root', `agent:${'x'.repeat(65)}`].map(
        (actor) => ({ method: 'PUT', path: a, body: { content }, headers: { 'x-memoryd-actor': actor } }),
      ),
    ]
    for (const call of refused) expect({ call, status: (await send(call)).status }).toEqual({ call, status: 400 })
    expect(await sendTwice(home, a, content)).toBe(400)
    expect(await actors()).toEqual([])
  })

  it('keeps from an agent what is for a person to decide', async () => {
    const { here, send } = await open()
    const as = { 'x-memoryd-actor': 'agent:pi' }
    const person = { 'x-memoryd-actor': 'user' }
    const a = `/v1/memories/a.md?${here}`
    await send({ method: 'PUT', path: a, body: { content: topic('A thing that a person said.') }, headers: person })
    const own: Call[] = [
      { method: 'DELETE', path: `${a}&reject=true` },
      { method: 'POST', path: '/v1/changes/1/undo' },
      { method: 'DELETE', path: '/v1/tombstones/1' },
      { method: 'POST', path: '/v1/review/1', body: { decision: 'approve' } },
    ]
    for (const call of own)
      expect(await send({ ...call, headers: as })).toMatchObject({
        status: 422,
        body: { error: { reason: 'permission' } },
      })
    expect(await send({ ...(own[0] as Call), headers: person })).toMatchObject({
      status: 200,
      body: { tombstoneId: '1' },
    })
    expect(await send({ ...(own[2] as Call), headers: person })).toMatchObject({ status: 200 })
  })
})

/** Two headers of the same name, which no client of ours sends. */
function sendTwice({ places }: Home, path: string, content: string): Promise<number> {
  const body = JSON.stringify({ content })
  const headers = ['content-type', 'application/json', 'x-memoryd-actor', 'agent:pi', 'x-memoryd-actor', 'user']
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath: places.socketPath, method: 'PUT', path, agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
    })
    for (let at = 0; at < headers.length; at += 2) outgoing.appendHeader(headers[at] ?? '', headers[at + 1] ?? '')
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}
