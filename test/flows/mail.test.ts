import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../client/index.ts'
import { connectAs } from '../support/connect-as.ts'
import { startDaemon as startProcess } from '../support/daemon.ts'
import { collectEvents } from '../support/events.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { topic } from '../support/memory.ts'
import { rawRequest } from '../support/raw.ts'

const me = (name: string) => ({ name, sessionId: `s-${name}`, cwd: '/', pid: process.pid })

/** On a connection of its own: whatever was asked before it has arrived when this is answered. */
async function answered(home: Home): Promise<void> {
  const client = connect({ socket: home.places.socketPath, strict: true })
  await client.health()
  client.close()
}

async function twoAgents() {
  const home = makeHome()
  const daemon = await startDaemon(home)
  const { client } = daemon
  await client.registerAgent({ ...me('a'), harness: 'claude-code' })
  await client.registerAgent(me('b'))
  return { home, daemon, client }
}

describe('agents', () => {
  it('are listed with whether their processes are there', async () => {
    const { client } = await twoAgents()
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    const gone = new Promise((resolve) => child.once('exit', resolve))
    onTestFinished(() => void child.kill('SIGKILL'))
    const pid = child.pid as number
    expect(await client.registerAgent({ ...me('child'), pid })).toMatchObject({ alive: true })
    await expect(client.registerAgent(me('child'))).rejects.toMatchObject({ code: 'CONFLICT' })
    child.kill('SIGKILL')
    await gone
    const registeredAt = expect.any(String)
    expect((await client.agents()).items).toEqual([
      { name: 'child', sessionId: 's-child', harness: 'generic', cwd: '/', pid, registeredAt, alive: false },
      { ...me('b'), harness: 'generic', registeredAt, alive: true },
      { ...me('a'), harness: 'claude-code', registeredAt, alive: true },
    ])
    expect((await client.sendMail({ from: 'a', to: '*', body: 'x' })).ids).toHaveLength(1)
  })

  it.each(['*', 'session:x', '', ' a', 'a\nb', '\u202ea', 'x'.repeat(129)])('are not called %j', async (name) => {
    const home = makeHome()
    const { client } = await startDaemon(home)
    await expect(client.registerAgent({ ...me('a'), name })).rejects.toMatchObject({
      code: 'BAD_REQUEST',
      message: expect.stringContaining('body.name: expected'),
    })
  })
})

describe('mail over the socket', () => {
  it('is announced, read, acknowledged, and in no log', async () => {
    const { home, client, daemon } = await twoAgents()
    const { seen, until } = await collectEvents(client, 'mail')
    const { ids } = await client.sendMail({
      from: 'a',
      to: 'b',
      body: 'a word that no other mail says',
      summary: 'a word',
    })
    await until((events) => events.length === 1)
    expect(seen).toEqual([
      { type: 'mail', at: expect.any(String), id: ids[0], from: 'a', to: 'b', sessionId: 's-b', kind: 'text' },
    ])
    const { items } = await client.mail({ agent: 'b' })
    expect(items).toEqual([
      {
        id: ids[0],
        at: expect.any(String),
        from: 'a',
        to: 'b',
        kind: 'text',
        body: 'a word that no other mail says',
        summary: 'a word',
      },
    ])
    expect(await client.acknowledgeMail({ agent: 'b', ids })).toEqual({ ids })
    expect(await client.mail({ agent: 'b' })).toEqual({ items: [] })
    await daemon.stop()
    expect(readFileSync(home.places.logFile, 'utf8')).not.toContain('a word')
  })

  it('is refused with what is wrong about it', async () => {
    const { client, home } = await twoAgents()
    const send = (letter: object) => client.sendMail({ from: 'a', to: 'b', body: 'x', ...letter } as never)
    await expect(send({ to: 'unknown' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      hint: expect.stringContaining('/v1/agents'),
    })
    await expect(send({ body: 'x'.repeat(65_537) })).rejects.toMatchObject({ code: 'TOO_LARGE' })
    await expect(send({ kind: 'order' })).rejects.toMatchObject({ code: 'BAD_REQUEST' })
    await expect(send({ to: ['b'] })).rejects.toMatchObject({ message: expect.stringContaining('* for all') })
    await expect(send({ from: '*' })).rejects.toMatchObject({ code: 'BAD_REQUEST' })
    await expect(send({ kind: 'shutdown_response', requestId: 'r' })).rejects.toMatchObject({
      code: 'REFUSED',
      reason: 'shape',
    })
    for (const wait of ['61', '-1', '1.5', 'x'])
      await expect(client.mail({ agent: 'b', wait })).rejects.toMatchObject({
        message: expect.stringContaining('query.wait'),
      })
    const odd = await rawRequest(home.places.socketPath, { path: `/v1/mail/${encodeURIComponent('session:a/b ü')}` })
    expect(odd.status).toBe(404)
  })

  it('to a session is read by its agent, whatever its id', async () => {
    const { client } = await twoAgents()
    const sessionId = 'a/b ü?#'
    await client.registerAgent({ ...me('c'), sessionId })
    await client.sendMail({ from: 'a', to: `session:${sessionId}`, body: 'here' })
    for (const agent of ['c', `session:${sessionId}`])
      expect((await client.mail({ agent })).items).toMatchObject([{ body: 'here' }])
  })

  it('keeps nothing of a memory that is purged', async () => {
    const { client, home } = await twoAgents()
    const cwd = join(home.dir, 'project')
    mkdirSync(cwd)
    const person = connectAs(home, 'user')
    await person.putMemory({ cwd, file: 'a.md', content: topic('The harbour opens at seven in the morning.') })
    await client.sendMail({ from: 'a', to: 'b', body: 'I heard: The harbour opens at seven in the morning. Good?' })
    await client.sendMail({ from: 'a', to: 'b', body: 'Something else.' })
    await person.forget({ cwd, file: 'a.md', purge: 'true' })
    expect((await client.mail({ agent: 'b' })).items.map(({ body }) => body)).toEqual(['purged', 'Something else.'])
  })
})

describe('waiting for mail', () => {
  it('ends when some comes, and outlasts the deadline of other calls', async () => {
    const { client, home } = await twoAgents()
    const hasty = connect({ socket: home.places.socketPath, strict: true, deadlineMs: 500 })
    onTestFinished(hasty.close)
    expect(await hasty.mail({ agent: 'b', wait: '1' })).toEqual({ items: [] })
    const waiting = hasty.mail({ agent: 'b', wait: '30' })
    await client.sendMail({ from: 'a', to: 'b', body: 'come' })
    expect((await waiting).items).toMatchObject([{ body: 'come' }])
    await hasty.acknowledgeMail({ agent: 'b', ids: (await waiting).items.map(({ id }) => id) })
    const late = hasty.mail({ agent: 'b', wait: '30' }, { deadlineMs: 50 })
    await expect(late).rejects.toMatchObject({ code: 'UNREACHABLE', reason: 'slow' })
  })

  it('by many holds up no other, and is over when the reader gives up', async () => {
    const { client } = await twoAgents()
    const readers = Array.from({ length: 40 }, () => new AbortController())
    const ended = Promise.allSettled(readers.map(({ signal }) => client.mail({ agent: 'b', wait: '60' }, { signal })))
    expect(await client.health()).toMatchObject({ ok: true })
    for (const reader of readers) reader.abort(new Error('enough'))
    for (const { status } of await ended) expect(status).toBe('rejected')
    await client.sendMail({ from: 'a', to: 'b', body: 'kept' })
    expect((await client.mail({ agent: 'b', wait: '60' })).items).toMatchObject([{ body: 'kept' }])
  })

  it('does not hold up a daemon that stops, and finds out about one that is killed', async () => {
    const { client, daemon, home } = await twoAgents()
    const waiting = client.mail({ agent: 'b', wait: '60' })
    await answered(home)
    expect(await daemon.stop()).toMatchObject({ code: 0 })
    expect(await waiting).toEqual({ items: [] })

    const again = await startProcess(home)
    const cut = client.mail({ agent: 'b', wait: '60' })
    const refused = expect(cut).rejects.toMatchObject({ code: 'UNREACHABLE' })
    await answered(home)
    await again.kill9()
    await refused
    expect(await connect({ socket: home.places.socketPath }).mail({ agent: 'b', wait: '60' })).toBeUndefined()
  })
})
