import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exitCodes } from '../../schema/errors.ts'
import {
  eventually,
  type Installation,
  prepareInstallation,
  startUserManager,
  type UserManager,
  whyNot,
} from './user-manager.ts'

const UNITS = ['memoryd.socket', 'memoryd.service']
const reason = whyNot()
if (reason) console.warn(`skipped, no systemd --user for a second uid: ${reason}`)

let installation: Installation
beforeAll(() => {
  if (!reason) installation = prepareInstallation()
})
afterAll(() => installation?.remove())

type Setting = { home?: string; node?: string; cli?: string; env?: string[] }

/** A second user, and the `memoryd` command as that user has it. */
async function newUser({ home, ...other }: Setting = {}) {
  const manager = await startUserManager(home)
  const { run } = manager
  const { node, cli, env = [] } = { ...installation, ...other }
  const memoryd = (...args: string[]) => run('env', ...env, node, cli, ...args)
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await memoryd('--json', ...args)
    if (code !== exitCodes.ok) throw new Error(`memoryd ${args.join(' ')} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout)
  }
  const places = {
    state: join(manager.home, '.local', 'state', 'memoryd'),
    socket: join(manager.runtimeDir, 'memoryd', 'memoryd.sock'),
    units: UNITS.map((unit) => join(manager.home, '.config', 'systemd', 'user', unit)),
  }
  return { ...manager, ...places, memoryd, json }
}

async function newUserWithService(setting?: Setting) {
  const user = await newUser(setting)
  await user.json('service', 'install')
  return user
}

async function unitStates({ run }: UserManager, question: 'is-active' | 'is-enabled'): Promise<string[]> {
  return (await run('systemctl', '--user', question, ...UNITS)).stdout.trim().split('\n')
}

const mode = async ({ read }: UserManager, path: string) => (await read('stat', '--format=%a %u %F', path)).trim()
const exists = async ({ run }: UserManager, path: string) => (await run('test', '-e', path)).code === 0

describe.skipIf(reason)('memoryd as a service of a real systemd', { timeout: 180_000 }, () => {
  it('is active and enabled after install, with a socket for its user alone', async () => {
    const user = await newUser()
    expect(await user.json('service', 'install')).toEqual({ installed: true, kind: 'systemd', files: user.units })
    expect(await unitStates(user, 'is-active')).toEqual(['active', 'active'])
    expect(await unitStates(user, 'is-enabled')).toEqual(['enabled', 'enabled'])
    expect(await mode(user, user.socket)).toBe('600 4243 socket')
    expect(await mode(user, join(user.socket, '..'))).toBe('700 4243 directory')
    const { MainPID } = await user.show('memoryd.service', 'MainPID')
    expect(await user.json('status')).toMatchObject({
      pid: Number(MainPID),
      state: 'ready',
      socket: user.socket,
      stateDir: user.state,
      errors: [],
    })
    expect(await user.json('service', 'status')).toEqual({ kind: 'systemd', installed: true, running: true })
    const { ok, findings } = await user.json('doctor')
    expect({ ok, notFine: findings.filter(({ state }: { state: string }) => state !== 'ok') }).toEqual({
      ok: true,
      notFine: [],
    })
    expect(findings).toContainEqual({ check: 'service', state: 'ok', message: 'installed with systemd' })
  })

  it('may write below its home only, and gains no rights', async () => {
    const user = await newUserWithService()
    const { MainPID } = await user.show('memoryd.service', 'MainPID')
    const status = await user.read('cat', `/proc/${MainPID}/status`)
    expect(status).toMatch(/^NoNewPrivs:\t1$/m)
    expect(status).toMatch(/^Seccomp:\t2$/m)
    expect(status).toMatch(/^Umask:\t0077$/m)
    const mounts = (await user.read('cat', `/proc/${MainPID}/mountinfo`)).split('\n').map((line) => line.split(' '))
    const access = (path: string) => mounts.findLast((fields) => fields[4] === path)?.[5]?.split(',')[0]
    expect(['/', '/run', user.home].map(access)).toEqual(['ro', 'ro', 'rw'])
    expect(await user.json('remember', 'The release is on 2026-03-05')).toMatchObject({ action: 'created' })
  })

  it('is started by the first request over its socket', async () => {
    const user = await newUserWithService()
    const before = await user.json('status')
    await user.read('systemctl', '--user', 'stop', 'memoryd.service')
    expect(await unitStates(user, 'is-active')).toEqual(['active', 'inactive'])
    const after = await user.json('status')
    expect(after).toMatchObject({ state: 'ready', socket: user.socket })
    expect(after.pid).not.toBe(before.pid)
    expect(await user.show('memoryd.service', 'MainPID')).toEqual({ MainPID: String(after.pid) })
  })

  it('is started again by systemd after kill -9, with the same socket', async () => {
    const user = await newUserWithService()
    const { pid } = await user.json('status')
    const socket = await user.read('stat', '--format=%i', user.socket)
    await user.read('kill', '-9', String(pid))
    // No client connects meanwhile, so it is not the socket that starts it.
    const { MainPID } = await eventually('systemd has started it again', async () => {
      const now = await user.show('memoryd.service', 'NRestarts', 'ActiveState', 'MainPID')
      return now.NRestarts === '1' && now.ActiveState === 'active' ? now : undefined
    })
    expect(Number(MainPID)).not.toBe(pid)
    expect((await user.json('status')).pid).toBe(Number(MainPID))
    expect(await user.read('stat', '--format=%i', user.socket)).toBe(socket)
  })

  it('stops in order when systemd stops it', async () => {
    const user = await newUserWithService()
    await user.read('systemctl', '--user', 'stop', 'memoryd.service')
    expect(await user.show('memoryd.service', 'Result', 'ExecMainStatus', 'ActiveState')).toEqual({
      Result: 'success',
      ExecMainStatus: '0',
      ActiveState: 'inactive',
    })
    expect((await user.memoryd('logs', '-n', '1')).stdout).toContain('memoryd is stopping')
    // Only a daemon that was killed leaves its name, or a WAL.
    expect(await exists(user, join(user.state, 'daemon.json'))).toBe(false)
    expect(await exists(user, join(user.state, 'history.db-wal'))).toBe(false)
    expect(await exists(user, user.socket)).toBe(true)
  })

  it('is stopped, started and restarted by the memoryd command', async () => {
    const user = await newUserWithService()
    const first = await user.json('status')
    expect(await user.json('stop')).toEqual({ stopped: true, pid: first.pid })
    expect(await unitStates(user, 'is-active')).toEqual(['inactive', 'inactive'])
    expect(await exists(user, user.socket)).toBe(false)
    expect((await user.memoryd('status')).code).toBe(exitCodes.unreachable)
    expect(await user.json('service', 'status')).toEqual({ kind: 'systemd', installed: true, running: false })
    expect((await user.memoryd('doctor')).code).toBe(exitCodes.ok)
    expect(await user.json('stop')).toEqual({ stopped: false })

    expect(await user.json('start')).toMatchObject({ started: true, state: 'ready' })
    expect(await unitStates(user, 'is-active')).toEqual(['active', 'active'])
    const { pid } = await user.json('status')
    expect(await user.json('start')).toMatchObject({ started: false, pid })
    const restarted = await user.json('restart')
    expect(restarted.pid).not.toBe(pid)
    expect(await user.show('memoryd.service', 'MainPID')).toEqual({ MainPID: String(restarted.pid) })
  })

  it('cannot run without its socket', async () => {
    const user = await newUserWithService()
    await user.read('systemctl', '--user', 'stop', 'memoryd.socket')
    expect(await unitStates(user, 'is-active')).toEqual(['inactive', 'inactive'])
    await user.read('systemctl', '--user', 'start', 'memoryd.service')
    expect(await unitStates(user, 'is-active')).toEqual(['active', 'active'])
  })

  it('takes over from a daemon that was started by hand', async () => {
    const user = await newUser()
    const { pid } = await user.json('start')
    await user.json('service', 'install')
    const { MainPID } = await user.show('memoryd.service', 'MainPID')
    expect(Number(MainPID)).not.toBe(pid)
    expect(await user.json('status')).toMatchObject({ pid: Number(MainPID) })
    expect((await user.run('kill', '-0', String(pid))).code).not.toBe(0)
  })

  it('starts as soon as a broken configuration is put right, however often it failed', async () => {
    const user = await newUserWithService()
    await user.json('stop')
    const config = join(user.home, '.config', 'memoryd', 'config.json')
    await user.read('install', '-D', '/dev/null', config)
    await user.read('sh', '-c', 'echo "{ nope" > "$1"', 'sh', config)
    const refused = await user.memoryd('start')
    expect(refused.code).toBe(exitCodes.failed)
    expect(refused.stderr).toContain('doctor')
    expect((await user.memoryd('doctor')).stdout).toContain(config)
    // Every caller would start it anew, until systemd has seen enough.
    await eventually('systemd gives up', async () => {
      await user.memoryd('status')
      const { Result } = await user.show('memoryd.socket', 'Result')
      return Result === 'service-start-limit-hit' || undefined
    })
    await user.read('rm', config)
    expect(await user.json('start')).toMatchObject({ state: 'ready' })
  })

  it('starts although its state folder was deleted', async () => {
    const user = await newUserWithService()
    await user.json('stop')
    await user.read('rm', '-r', user.state)
    expect(await user.json('start')).toMatchObject({ state: 'ready' })
    expect(await mode(user, user.state)).toBe('700 4243 directory')
  })

  it('keeps running when systemd asks it to reload', async () => {
    const user = await newUserWithService()
    await user.read('systemctl', '--user', 'reload', 'memoryd.service')
    expect(await user.show('memoryd.service', 'ActiveState', 'NRestarts')).toEqual({
      ActiveState: 'active',
      NRestarts: '0',
    })
  })

  it('is gone after uninstall, and its state only when asked', async () => {
    const user = await newUserWithService()
    expect(await user.json('service', 'uninstall')).toEqual({ uninstalled: true, kind: 'systemd' })
    const loaded = await Promise.all(UNITS.map((unit) => user.show(unit, 'LoadState', 'ActiveState')))
    expect(loaded).toEqual(UNITS.map(() => ({ LoadState: 'not-found', ActiveState: 'inactive' })))
    expect(await user.read('find', join(user.home, '.config', 'systemd'), '-not', '-type', 'd')).toBe('')
    expect(await exists(user, user.socket)).toBe(false)
    expect(await exists(user, join(user.state, 'history.db'))).toBe(true)
    expect(await user.json('service', 'uninstall')).toEqual({ uninstalled: false, kind: 'systemd' })

    await user.json('service', 'install')
    expect(await user.json('uninstall', '--state')).toEqual({ service: true, hooks: [], failed: [], state: true })
    expect(await exists(user, user.state)).toBe(false)
    expect(await unitStates(user, 'is-active')).toEqual(['inactive', 'inactive'])
    expect(await user.read('find', join(user.home, '.config', 'systemd'), '-not', '-type', 'd')).toBe('')
  })

  it('is found by a manager that was started with another XDG_CONFIG_HOME', async () => {
    const user = await newUserWithService({ env: ['XDG_CONFIG_HOME=/home/ann/elsewhere'] })
    expect(await unitStates(user, 'is-active')).toEqual(['active', 'active'])
    expect(await user.json('status')).toMatchObject({ configFile: '/home/ann/elsewhere/memoryd/config.json' })
    await user.json('service', 'uninstall')
    expect(await user.read('find', user.home, '-name', '*.socket', '-o', '-name', '*.service')).toBe('')
    expect(await exists(user, user.socket)).toBe(false)
  })

  it('runs with names that mean something to systemd, in all its paths', async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: systemd would put a variable in
    const folder = '/home/ann 100%h ${HOME} $$; #é'
    const home = `${folder}/o'neill "q" \\n`
    // Node itself loads nothing from below a backslash, and systemd starts no program below a quote.
    const node = `${folder}/node`
    const checkout = `${folder}/o'neill "q"`
    const socket = `${home}/run/memoryd.sock`
    const env = [`MEMORYD_SOCKET=${socket}`]
    const user = await newUser({ home, node, cli: `${checkout}/client/cli/memoryd.js`, env })
    for (const command of [
      ['touch', node],
      ['mount', '--bind', installation.node, node],
      ['mkdir', checkout],
      ['mount', '--bind', installation.folder, checkout],
    ] as [string, ...string[]][])
      expect(await user.asRoot(...command)).toMatchObject({ code: 0 })

    await user.json('service', 'install')
    const { MainPID } = await user.show('memoryd.service', 'MainPID')
    const command = (await user.read('cat', `/proc/${MainPID}/cmdline`)).split('\0')
    expect(command[1]).toBe(`${checkout}/daemon/main.ts`)
    expect(await user.read('readlink', `/proc/${MainPID}/exe`)).toBe(`${node}\n`)
    expect(await user.json('status')).toMatchObject({
      pid: Number(MainPID),
      state: 'ready',
      socket,
      stateDir: user.state,
      configFile: `${home}/.config/memoryd/config.json`,
    })
    expect(await mode(user, socket)).toBe('600 4243 socket')
    await user.json('stop')
    await user.read('rm', '-r', user.state)
    expect(await user.json('start')).toMatchObject({ state: 'ready', stateDir: user.state })
    expect(await user.json('uninstall', '--state')).toEqual({ service: true, hooks: [], failed: [], state: true })
  })
})
