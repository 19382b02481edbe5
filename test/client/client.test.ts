import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createNetServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../client/index.ts'
import { cliMain, stopsAfterwards } from '../support/cli.ts'
import { startDaemon } from '../support/daemon.ts'
import { statusEvents } from '../support/events.ts'
import { makeHome } from '../support/home.ts'

/** Something at the socket that is not our daemon. */
async function impostor(listener: RequestListener): Promise<string> {
  const path = join(makeHome().dir, 's')
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(path, resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return path
}

const speaks = { 'x-memoryd-protocol': '1', 'content-type': 'application/json' }

describe('a client whose daemon is away', () => {
  it('answers nothing and says so', async () => {
    const client = connect({ socket: join(makeHome().dir, 'none') })
    expect(await client.status()).toBeUndefined()
    expect(await client.pause({ cwd: '/x' })).toBeUndefined()
    expect(client.available).toBe(false)
    expect(client.lastError).toMatchObject({ code: 'UNREACHABLE', hint: 'run: memoryd start' })
    const events = []
    for await (const event of client.events()) events.push(event)
    expect(events).toEqual([])
  })

  it('throws what to do when it is strict', async () => {
    const socket = join(makeHome().dir, 'none')
    await expect(connect({ socket, strict: true }).status()).rejects.toMatchObject({
      code: 'UNREACHABLE',
      message: `no daemon at ${socket}`,
    })
  })

  it('does not throw over a socket path that cannot be one', async () => {
    const home = makeHome()
    const before = process.env.MEMORYD_SOCKET
    process.env.MEMORYD_SOCKET = `${home.dir}/${'x'.repeat(120)}`
    onTestFinished(() => {
      if (before === undefined) delete process.env.MEMORYD_SOCKET
      else process.env.MEMORYD_SOCKET = before
    })
    const client = connect()
    expect(await client.health()).toBeUndefined()
    expect(client.lastError?.code).toBe('SETUP')
  })

  it('gives up at its deadline when a program accepts and never answers', async () => {
    const path = join(makeHome().dir, 's')
    const server = createNetServer(() => {})
    await new Promise<void>((resolve) => server.listen(path, resolve))
    onTestFinished(() => void server.close())
    const client = connect({ socket: path, deadlineMs: 50 })
    expect(await client.health()).toBeUndefined()
    expect(client.lastError?.message).toContain('did not answer within 50 ms')
  })

  it.each([{ mode: 'model' as const }, { deadlineMs: 1_000 }])(
    'waits as long for a recall as the daemon may, beyond its deadline: %j',
    async (more) => {
      const answer = { mode: 'local', memories: [], text: '', bytes: 0, sessionBytes: 0 }
      const socket = await impostor((_request, response) => {
        setTimeout(() => response.writeHead(200, speaks).end(JSON.stringify(answer)), 300)
      })
      const client = connect({ socket, deadlineMs: 50 })
      expect(await client.recall({ cwd: '/x', query: 'y', ...more })).toEqual(answer)
      expect(await client.recall({ cwd: '/x', query: 'y', mode: 'local' })).toBeUndefined()
    },
  )

  it('gives up at its deadline when the answer stops half way', async () => {
    const socket = await impostor((_request, response) => {
      response.writeHead(200, speaks)
      response.write('{"ok":')
    })
    const client = connect({ socket, deadlineMs: 50 })
    expect(await client.health()).toBeUndefined()
    expect(client.lastError?.code).toBe('UNREACHABLE')
  })

  it('starts one when asked to, and answers with it', async () => {
    const home = makeHome()
    stopsAfterwards(home)
    const command = `HOME='${home.dir}' exec '${process.execPath}' '${cliMain}' start`
    const client = connect({
      socket: home.places.socketPath,
      deadlineMs: 20_000,
      autostart: { command: ['sh', '-c', command] },
    })
    onTestFinished(client.close)
    const [one, two] = await Promise.all([client.health(), client.health()])
    expect(one).toMatchObject({ ok: true })
    expect(two).toEqual(one)
  })

  it('tries to start one once for all calls that wait, and not again soon after it failed', async () => {
    const home = makeHome()
    const tries = join(home.dir, 'tries')
    const client = connect({
      socket: home.places.socketPath,
      deadlineMs: 5_000,
      autostart: { command: ['sh', '-c', `echo x >> ${tries}; exit 1`] },
    })
    expect(await Promise.all([client.health(), client.health()])).toEqual([undefined, undefined])
    expect(await client.health()).toBeUndefined()
    expect(readFileSync(tries, 'utf8')).toBe('x\n')
  })

  it('does not start one beside a daemon that is only slow', async () => {
    const home = makeHome()
    const tries = join(home.dir, 'tries')
    const socket = await impostor(() => {})
    const client = connect({ socket, deadlineMs: 50, autostart: { command: ['touch', tries] } })
    expect(await client.health()).toBeUndefined()
    expect(client.lastError?.reason).toBe('slow')
    expect(existsSync(tries)).toBe(false)
  })

  it('does not wait beyond its deadline for one that starts slowly', async () => {
    const home = makeHome()
    const release = join(home.dir, 'release')
    const client = connect({
      socket: join(home.dir, 'none'),
      deadlineMs: 100,
      // Ends only when the test lets it, which is after the call has given up.
      autostart: { command: ['sh', '-c', `mkfifo ${release}; read x < ${release}`] },
    })
    expect(await client.health()).toBeUndefined()
    await new Promise((resolve) => spawn('sh', ['-c', `echo > ${release}`]).once('exit', resolve))
  })
})

describe('a client', () => {
  it('reaches a real daemon, one method per route', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    const client = connect({ socket: home.places.socketPath })
    onTestFinished(client.close)
    expect(await client.health()).toEqual({ ok: true, version: expect.any(String), pid: daemon.pid })
    expect(await client.pause({ cwd: home.dir })).toEqual({ all: false, projects: [home.dir] })
    expect(await client.resume()).toEqual({ all: false, projects: [] })
    expect(client.available).toBe(true)
  })

  it('finds a restarted daemon again over its old connections', async () => {
    const home = makeHome()
    const first = await startDaemon(home)
    const client = connect({ socket: home.places.socketPath })
    onTestFinished(client.close)
    await client.health()
    await first.kill9()
    expect(await client.health()).toBeUndefined()
    const second = await startDaemon(home)
    expect(await client.health()).toMatchObject({ pid: second.pid })
  })

  it('throws its own mistakes though it is lenient', async () => {
    const home = makeHome()
    await startDaemon(home)
    const client = connect({ socket: home.places.socketPath })
    onTestFinished(client.close)
    await expect(client.pause({ cwd: 'relative' })).rejects.toMatchObject({ code: 'BAD_REQUEST' })
    expect(client.available).toBe(true)
  })

  it('tells a daemon of another protocol, and a stranger, from its own', async () => {
    const other = await impostor((_request, response) =>
      response.writeHead(200, { 'x-memoryd-protocol': '2' }).end('{}'),
    )
    await expect(connect({ socket: other, strict: true }).health()).rejects.toMatchObject({ code: 'PROTOCOL' })
    const stranger = await impostor((_request, response) => response.end('<html>'))
    expect(await connect({ socket: stranger }).health()).toBeUndefined()
  })

  it.each([
    ['noise', 'no HTTP at all'],
    ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
    ['a header without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`],
    ['an error that says nothing', 'HTTP/1.1 500 No\r\nx-memoryd-protocol: 1\r\ncontent-length: 4\r\n\r\nnull'],
  ])('answers nothing, in time, to %s', async (_what, bytes) => {
    const path = join(makeHome().dir, 's')
    const server = createNetServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.write(bytes))
    })
    await new Promise<void>((resolve) => server.listen(path, resolve))
    onTestFinished(() => void server.close())
    const client = connect({ socket: path, deadlineMs: 500 })
    onTestFinished(client.close)
    expect(await client.health()).toBeUndefined()
    expect(client.lastError).toBeDefined()
  })

  it('says that a body is too large instead of breaking off', async () => {
    const home = makeHome()
    await startDaemon(home)
    const client = connect({ socket: home.places.socketPath })
    onTestFinished(client.close)
    await expect(client.pause({ cwd: `/${'x'.repeat(20_000_000)}` })).rejects.toMatchObject({ code: 'TOO_LARGE' })
  })

  it('lets a script end that only asks once, and one that only waits for a start', () => {
    const home = makeHome()
    const index = fileURLToPath(new URL('../../client/index.ts', import.meta.url))
    const autostart = JSON.stringify({ command: ['sh', '-c', 'exit 1'] })
    const script = `import { connect } from '${index}'
      console.log(await connect().health())
      console.log(await connect({ autostart: ${autostart} }).health())`
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      env: home.env as NodeJS.ProcessEnv,
      encoding: 'utf8',
    })
    expect(run).toMatchObject({ status: 0, stdout: 'undefined\nundefined\n' })
  })

  it('does not choke on an answer that is not JSON, nor on an error without a form', async () => {
    const garbled = await impostor((_request, response) => response.writeHead(200, speaks).end('{{{'))
    expect(await connect({ socket: garbled }).health()).toBeUndefined()
    const formless = await impostor((_request, response) => response.writeHead(500, speaks).end('{}'))
    await expect(connect({ socket: formless, strict: true }).health()).rejects.toMatchObject({ code: 'INTERNAL' })
  })

  it("ends a call with the caller's own reason when the caller aborts", async () => {
    const socket = await impostor(() => {})
    const abort = new AbortController()
    const call = connect({ socket }).health({}, { signal: abort.signal })
    abort.abort(new Error('no longer wanted'))
    await expect(call).rejects.toThrow('no longer wanted')
  })

  it('sees events as they happen, and their end when the daemon stops', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    const client = connect({ socket: home.places.socketPath })
    const changes: string[] = []
    for await (const event of statusEvents(client)) {
      changes.push(`${event.type} ${event.change}`)
      if (event.change === 'connected') await client.pause()
      if (event.change === 'paused') void daemon.stop()
    }
    expect(changes).toEqual(['status connected', 'status paused'])
  })
})
