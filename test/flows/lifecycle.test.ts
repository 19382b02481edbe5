import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../client/index.ts'
import { findPlaces } from '../../schema/rendezvous.ts'
import { daemonMain, launch, startDaemon } from '../support/daemon.ts'
import { statusEvents } from '../support/events.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon as startHere } from '../support/in-process.ts'
import { needPrograms } from '../support/programs.ts'

const mode = (path: string) => statSync(path).mode & 0o777

/** So often a daemon looks whether its socket is still there. */
const LOOK_MS = 10_000

describe('a running daemon', () => {
  it('is reachable by its user alone', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    const { stateDir, socketPath } = home.places
    expect({ state: mode(stateDir), folder: mode(dirname(socketPath)), socket: mode(socketPath) }).toEqual({
      state: 0o700,
      folder: 0o700,
      socket: 0o600,
    })
    for (const file of ['history.db', 'index.db', 'daemon.lock', 'logs/memoryd.log'])
      expect(mode(join(stateDir, file)) & 0o077, file).toBe(0)
    // What is done at every start is done by then.
    await daemon.stop()
    expect(mode(join(stateDir, 'backups')) & 0o077).toBe(0)
  })

  it('keeps its socket private under a wide umask', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home, ['sh', '-c', 'umask 000; exec "$@"', 'sh'])
    expect([mode(home.places.socketPath), mode(home.places.stateDir)]).toEqual([0o600, 0o700])
    await daemon.stop()
  })

  it('turns another user away', async ({ skip }) => {
    if (process.getuid?.() !== 0) {
      console.warn('skipped: only root can become another user')
      return skip()
    }
    const home = makeHome()
    await startDaemon(home)
    // Open the way to the folder, so that it is the folder itself that refuses.
    chmodSync(home.dir, 0o755)
    for (const parent of ['.local', '.local/state']) chmodSync(join(home.dir, parent), 0o755)
    const curl = ['curl', '-sS', '--unix-socket', home.places.socketPath, 'http://memoryd/v1/health']
    const other = ['setpriv', '--reuid=4243', '--regid=4243', '--clear-groups', ...curl]
    const as = ([program = '', ...args]: string[]) => spawnSync(program, args, { encoding: 'utf8' })
    expect(as(curl)).toMatchObject({ status: 0, stdout: expect.stringContaining('"ok":true') })
    const CANNOT_CONNECT = 7
    expect(as(other)).toMatchObject({ status: CANNOT_CONNECT, stdout: '' })
    // Even with the folder open, the socket itself refuses.
    chmodSync(home.places.stateDir, 0o755)
    expect(as(other)).toMatchObject({ status: CANNOT_CONNECT, stdout: '' })
    // It was the permissions, and nothing else, that kept the other one out.
    chmodSync(home.places.socketPath, 0o666)
    expect(as(other)).toMatchObject({ status: 0 })
  })

  it('stops cleanly on SIGTERM: exit 0, socket and name gone, WAL folded in', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    expect(await daemon.stop()).toMatchObject({ code: 0, signal: null, stderr: '' })
    for (const left of ['memoryd.sock', 'daemon.json', 'history.db-wal', 'index.db-wal'])
      expect(existsSync(join(home.places.stateDir, left)), left).toBe(false)
  })

  it('makes its socket again, folder and all, when it is deleted, and loses no open connection over it', async () => {
    const home = makeHome()
    const runtime = join(home.dir, 'run')
    const env = { ...home.env, MEMORYD_SOCKET: join(runtime, 'memoryd.sock') }
    const moved = { ...home, env, places: findPlaces(env) }
    const daemon = await startHere(moved)
    for await (const event of statusEvents(daemon.client)) {
      if (event.change === 'connected') {
        rmSync(runtime, { recursive: true })
        daemon.time.pass(LOOK_MS)
        await daemon.logged('the socket had been deleted')
        await connect({ socket: moved.places.socketPath, strict: true }).pause()
      } else break
    }
    expect([mode(runtime), mode(moved.places.socketPath)]).toEqual([0o700, 0o600])
    expect(await daemon.stop()).toMatchObject({ code: 0 })
  })

  it('opens no debugger, which would be a TCP port, when it is asked to', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    daemon.signal('SIGUSR1')
    await daemon.client.health()
    expect(await daemon.stop()).toMatchObject({ code: 0, stderr: '' })
  })

  it('stops when its terminal is closed, and reloads when only the signal comes', async (context) => {
    needPrograms(context, 'python3')
    const home = makeHome()
    // A pseudo-terminal whose other side is closed once the daemon is ready.
    const script = [
      'import os, pty, signal, sys',
      'signal.alarm(30)',
      'pid, fd = pty.fork()',
      'if pid == 0: os.execv(sys.argv[2], sys.argv[2:])',
      'text = b""',
      'while b"is ready" not in text: text += os.read(fd, 4096)',
      'open(sys.argv[1], "w").write("{\\"log\\":{\\"level\\":\\"debug\\"}}")',
      'os.kill(pid, signal.SIGHUP)',
      'while b"settings reloaded" not in text: text += os.read(fd, 4096)',
      'os.close(fd)',
      'print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))',
    ].join('\n')
    const run = spawnSync('python3', ['-c', script, home.places.configFile, process.execPath, daemonMain], {
      env: home.env as NodeJS.ProcessEnv,
      encoding: 'utf8',
    })
    expect(run.stdout).toBe('0\n')
  })

  it('outlives errors of the disk and of the databases that no caller caught, and no others', async () => {
    const { outlives } = await startHere(makeHome())
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    const corrupt = new Database.SqliteError('database disk image is malformed', 'SQLITE_CORRUPT')
    expect([full, corrupt, new Error('a surprise')].map(outlives)).toEqual([true, true, false])
  })

  it('ends its event streams when it stops', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    const seen: string[] = []
    for await (const event of statusEvents(daemon.client)) {
      seen.push(event.change)
      void daemon.stop()
    }
    expect(seen).toEqual(['connected'])
    expect(await daemon.exited).toMatchObject({ code: 0 })
  })
})

describe('settings of a running daemon', () => {
  it('are taken up when the file changes, refused ones shown and the old ones kept', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    const changes: string[] = []
    const edits = ['{"log":{"level":"warn"}}', '{"log":{"level":"loud"}}', '{"log":{"level":"info"}}']
    for await (const event of statusEvents(daemon.client)) {
      changes.push(event.change)
      if (event.change === 'condition' && event.state === 'degraded') {
        const { reasons } = await daemon.client.status()
        expect(reasons).toEqual([
          {
            code: 'config',
            since: expect.any(String),
            message: expect.stringContaining(
              `${home.places.configFile} is not a valid configuration:\n  log.level: expected one of "debug"|"info"|"warn"|"error", got "loud"`,
            ),
          },
        ])
      }
      const edit = edits.shift()
      if (edit === undefined) break
      // In one step: the daemon would take up, or refuse, what is written so far.
      writeFileSync(`${home.places.configFile}.new`, edit)
      renameSync(`${home.places.configFile}.new`, home.places.configFile)
      daemon.signal('SIGHUP')
    }
    expect(changes).toEqual(['connected', 'settings', 'condition', 'condition'])
    expect(await daemon.client.status()).toMatchObject({ state: 'ready', reasons: [] })
  })

  it('are noticed without a signal', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    for await (const event of statusEvents(daemon.client)) {
      if (event.change === 'settings') break
      writeFileSync(home.places.configFile, '{"log":{"level":"debug"}}')
    }
    expect((await daemon.client.status()).state).toBe('ready')
  })
})

describe('a daemon that cannot start', () => {
  it.each([
    [
      'an open state folder',
      (home: ReturnType<typeof makeHome>) => mkdirSync(home.places.stateDir, { recursive: true, mode: 0o755 }),
      5,
      'chmod 700',
    ],
    [
      'a wrong configuration',
      (home: ReturnType<typeof makeHome>) => writeFileSync(home.places.configFile, '{"log":3}'),
      5,
      'log: expected object, got 3',
    ],
    [
      'a file in the place of the socket',
      (home: ReturnType<typeof makeHome>) => {
        mkdirSync(home.places.stateDir, { recursive: true, mode: 0o700 })
        writeFileSync(home.places.socketPath, 'precious')
      },
      5,
      'is not a socket',
    ],
    [
      'a file in the place of the state folder',
      (home: ReturnType<typeof makeHome>) => {
        mkdirSync(dirname(home.places.stateDir), { recursive: true })
        writeFileSync(home.places.stateDir, '')
      },
      5,
      'cannot create the state folder',
    ],
  ])('says why: %s', async (_what, spoil, code, words) => {
    const home = makeHome()
    spoil(home)
    const exit = await launch(home).exited
    expect(exit).toMatchObject({ code, stderr: expect.stringContaining(words) })
    expect(exit.stderr).not.toContain('    at ')
  })

  it('takes over the socket of one that was killed', async () => {
    const home = makeHome()
    await (await startDaemon(home)).kill9()
    expect(existsSync(home.places.socketPath)).toBe(true)
    const { client, pid } = await startDaemon(home)
    expect((await client.status()).pid).toBe(pid)
  })

  it("leaves a stranger's listening socket alone", async () => {
    const home = makeHome()
    mkdirSync(home.places.stateDir, { recursive: true, mode: 0o700 })
    const stranger = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => stranger.listen(home.places.socketPath, resolve))
    onTestFinished(() => void stranger.close())
    const exit = await launch(home).exited
    expect(exit).toMatchObject({ code: 5, stderr: expect.stringContaining('another program already listens') })
    expect(existsSync(home.places.socketPath)).toBe(true)
  })

  it('refuses a socket folder that is a link to a place of everyone', async () => {
    const home = makeHome()
    const link = join(home.dir, 'run')
    symlinkSync('/tmp', link)
    const exit = await launch({ ...home, env: { ...home.env, MEMORYD_SOCKET: join(link, 'm.sock') } }).exited
    expect(exit).toMatchObject({ code: 5, stderr: expect.stringContaining('/run') })
  })
})
