import { spawn } from 'node:child_process'
import { lstatSync, mkdirSync } from 'node:fs'
import { connect as dial } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../client/index.ts'
import { exitCodes } from '../../schema/errors.ts'
import { launch, startDaemon } from '../support/daemon.ts'
import { type Home, makeHome } from '../support/home.ts'
import { needPrograms } from '../support/programs.ts'

/** A daemon that starts with the first connection; resolves as soon as one is possible. */
async function activated(home: Home, ...sockets: string[]) {
  mkdirSync(home.places.stateDir, { recursive: true, mode: 0o700 })
  const { child, exited } = launch(home, ['systemd-socket-activate', ...sockets.flatMap((path) => ['-l', path])])
  let listening = 0
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
      if (/^Listening on /.test(line) && ++listening === sockets.length) resolve()
    })
    void exited.then(({ stderr }) => reject(new Error(stderr)))
  })
  return { child, exited }
}

describe('socket activation', () => {
  it('answers the request that started it, and leaves the socket to its owner', async (context) => {
    needPrograms(context, 'systemd-socket-activate')
    const home = makeHome()
    const { child, exited } = await activated(home, home.places.socketPath)
    const before = lstatSync(home.places.socketPath)
    const client = connect({ socket: home.places.socketPath, strict: true, deadlineMs: 10_000 })
    onTestFinished(client.close)
    expect(await client.health()).toMatchObject({ pid: child.pid })
    child.kill('SIGTERM')
    expect(await exited).toMatchObject({ code: exitCodes.ok, signal: null })
    const { ino, mode, birthtimeMs } = lstatSync(home.places.socketPath)
    expect({ ino, birthtimeMs }).toEqual({ ino: before.ino, birthtimeMs: before.birthtimeMs })
    expect(mode & 0o777).toBe(0o600)
  })

  it('is refused with two sockets', async (context) => {
    needPrograms(context, 'systemd-socket-activate')
    const home = makeHome()
    const { exited } = await activated(home, home.places.socketPath, join(home.dir, 'second.sock'))
    const caller = dial(home.places.socketPath).on('error', () => {})
    onTestFinished(() => void caller.destroy())
    const { code, stderr } = await exited
    expect(code).toBe(exitCodes.setup)
    expect(stderr).toContain('expected one passed socket, got LISTEN_FDS=2')
  })
})

/** What systemd receives: every datagram on its notification socket. */
const receiver = `
import json, socket, sys
notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notices.bind(sys.argv[1])
print(flush=True)
while True:
    print(json.dumps(notices.recv(4096).decode()), flush=True)
`

describe('readiness', () => {
  it('is told to systemd once the daemon answers, and names its process', async (context) => {
    needPrograms(context, 'python3', 'systemd-notify')
    const home = makeHome()
    const socket = join(home.dir, 'notify.sock')
    const child = spawn('python3', ['-c', receiver, socket], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    await lines.next()

    home.env.NOTIFY_SOCKET = socket
    const started = startDaemon(home)
    const notice = JSON.parse((await lines.next()).value)
    const client = connect({ socket: home.places.socketPath, strict: true })
    onTestFinished(client.close)
    const { pid } = await client.health()
    expect(notice.split('\n').filter(Boolean).sort()).toEqual([`MAINPID=${pid}`, 'READY=1'])
    const { stop } = await started
    expect(await stop()).toMatchObject({ code: exitCodes.ok })
  })
})
