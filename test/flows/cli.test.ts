import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openLogFile } from '../../daemon/platform/log.ts'
import { holdFile } from '../../daemon/platform/process-lock.ts'
import { cliMain, memoryd, stopsAfterwards } from '../support/cli.ts'
import { startDaemon } from '../support/daemon.ts'
import { makeHome, ownCache } from '../support/home.ts'
import { rawRequest } from '../support/raw.ts'

describe('a newcomer in an empty home', () => {
  it('starts the daemon, reads where it is and what to do next, and stops it', async () => {
    const home = makeHome()
    stopsAfterwards(home)
    const started = await memoryd(home, 'start')
    expect(started).toMatchObject({ code: 0, stderr: '' })
    const lines = started.stdout.trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(6)
    expect(started.stdout).toContain(home.places.socketPath)
    expect(started.stdout).toContain('offline')
    expect(started.stdout).toContain('status')

    const health = await rawRequest(home.places.socketPath, { path: '/v1/health' })
    const { pid } = JSON.parse(health.body)
    expect(await memoryd(home, 'start')).toMatchObject({ code: 0, stdout: expect.stringContaining('already runs') })

    expect(await memoryd(home, 'stop')).toEqual({ code: 0, stdout: `memoryd stopped (pid ${pid})\n`, stderr: '' })
    expect(readdirSync(home.places.stateDir)).not.toContain('daemon.json')
    expect(await memoryd(home, 'stop')).toEqual({ code: 0, stdout: 'memoryd is not running\n', stderr: '' })
  })

  it('restarts into another process', async () => {
    const home = makeHome()
    stopsAfterwards(home)
    const first = JSON.parse((await memoryd(home, 'start', '--json')).stdout)
    const second = JSON.parse((await memoryd(home, 'restart', '--json')).stdout)
    expect(first).toMatchObject({ started: true, mode: 'offline' })
    expect(second).toMatchObject({ started: true })
    expect(second.pid).not.toBe(first.pid)
  })

  it('is told what is wrong when the daemon cannot start', async () => {
    const home = makeHome()
    writeFileSync(home.places.configFile, '{"log":{"level":"loud"}}')
    const { code, stderr } = await memoryd(home, 'start')
    expect(code).toBe(5)
    expect(stderr).toContain(home.places.configFile)
    expect(stderr).toContain('log.level: expected one of "debug"|"info"|"warn"|"error", got "loud"')
  })

  it('keeps the daemon that it has where the next one could not start', async () => {
    const home = makeHome()
    const { client, pid } = await startDaemon(home)
    writeFileSync(home.places.configFile, '{"log":{"level":"loud"}}')
    const restarted = await memoryd(home, 'restart')
    expect(restarted).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining('got "loud"\ncorrect it') })
    expect(existsSync(/described in (.*)/.exec(restarted.stderr)?.[1] ?? '')).toBe(true)
    expect(await client.health()).toMatchObject({ pid })
  })

  it('starts a new one as soon as the old one has drained', async () => {
    const home = makeHome()
    stopsAfterwards(home)
    const old = await startDaemon(home)
    // An upload that is not finished keeps the old one from stopping.
    const upload = request({
      socketPath: home.places.socketPath,
      method: 'POST',
      path: '/v1/pause',
      headers: { 'content-type': 'application/json', 'content-length': 2 },
    })
    upload.on('error', () => {})
    upload.write('{')
    await old.client.health()
    const stopped = old.stop()
    await old.logged('memoryd is stopping')
    const started = memoryd(home, 'start', '--json')
    upload.end('}')
    await stopped
    expect(JSON.parse((await started).stdout).pid).not.toBe(old.pid)
  })

  it('starts a new one when the old one has taken its name away and lets go of the lock', async () => {
    const home = makeHome()
    stopsAfterwards(home)
    mkdirSync(home.places.stateDir, { recursive: true, mode: 0o700 })
    const letGo = holdFile(join(home.places.stateDir, 'daemon.lock'))
    const cli = spawn(process.execPath, [cliMain, 'start', '--json'], {
      env: home.env as NodeJS.ProcessEnv,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    // The daemon that it starts waits for a name, and gives up.
    const children = () => readFileSync(`/proc/${cli.pid}/task/${cli.pid}/children`, 'utf8')
    await vi.waitUntil(() => children() !== '', { timeout: 30_000 })
    await vi.waitUntil(() => children() === '', { timeout: 30_000 })
    letGo?.()
    expect(JSON.parse(await text(cli.stdout))).toMatchObject({ started: true })
  })

  it('ends no stranger who was given the pid of a daemon that was killed', async () => {
    const home = makeHome()
    mkdirSync(home.places.stateDir, { recursive: true, mode: 0o700 })
    const stranger = spawn('sleep', ['60'])
    onTestFinished(() => void stranger.kill())
    const startedAt = new Date(Date.now() - 600_000).toISOString()
    const name = { pid: stranger.pid, version: '0.1.0', socket: home.places.socketPath, startedAt }
    writeFileSync(join(home.places.stateDir, 'daemon.json'), JSON.stringify(name))
    // As it is while another process only looks whether the lock is free.
    onTestFinished(holdFile(join(home.places.stateDir, 'daemon.lock')) ?? (() => {}))
    expect(await memoryd(home, 'stop')).toEqual({ code: 0, stdout: 'memoryd is not running\n', stderr: '' })
    expect(stranger.signalCode).toBe(null)
  })

  it('finds and stops a daemon whose socket was deleted', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    rmSync(home.places.socketPath)
    expect(await memoryd(home, 'stop')).toMatchObject({ code: 0, stdout: `memoryd stopped (pid ${daemon.pid})\n` })
    expect(await daemon.exited).toMatchObject({ code: 0 })
  })
})

describe('the command', () => {
  it('says what was wrong with each thing it was asked, also without a daemon', async () => {
    const home = makeHome()
    const wrong: [string[], string][] = [
      [['undo'], 'name a change or a run\nrun: memoryd history'],
      [['undo', 'abc'], 'abc is not the number of a change\nrun: memoryd history'],
      [['undo', '3', '--run', 'r'], 'name a change or a run, not both\nto undo the run: memoryd undo --run r'],
      [['review', 'approve'], 'say approve or reject, and which\nrun: memoryd review'],
      [['review', 'maybe', '1'], 'say approve or reject, and which\nrun: memoryd review'],
      ...[
        ['remember', ''],
        ['recall', ''],
        ['show', ''],
        ['import', ''],
        ['move', '', '/new'],
        ['jobs', 'show', ''],
        ['list', '--project', ''],
        ['list', '--search='],
        ['undo', '--run', ''],
        ['pause', '--project='],
      ].map((args): [string[], string] => [args, 'an argument is empty\nleave it out, or fill it in']),
      [['recall', 'x', '-n', '0'], '1 to 5 memories are given for one question\ngive -n 5'],
      [['forget'], 'name a memory\nrun: memoryd list'],
      [['forget', '--lift', 'x'], 'x is not the number of a rejection\nrun: memoryd forget --rejected'],
      [['forget', '--purge'], 'name a memory\nrun: memoryd list'],
      [['review', 'reject', 'x'], 'x is not the number of a change that waits\nrun: memoryd review'],
    ]
    for (const [args, told] of wrong)
      expect(await memoryd(home, ...args)).toEqual({ code: 2, stdout: '', stderr: `memoryd: ${told}\n` })
  })

  it('takes no mistyped folder for a project, and shows what is kept of one that is gone', async () => {
    const home = makeHome()
    await startDaemon(home)
    const gone = join(home.dir, 'shopp')
    const file = join(home.dir, 'README.md')
    writeFileSync(file, '')
    const refused: [string, ...string[]][] = [
      [gone, 'remember', 'We deploy on Mondays'],
      [gone, 'recall', 'deploy'],
      [gone, 'import', '--memories', '-'],
      [gone, 'edit', 'a.md'],
      [gone, 'pause'],
      [gone, 'mcp'],
      [file, 'list'],
    ]
    for (const [folder, ...args] of refused)
      expect(await memoryd(home, ...args, '--project', folder)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`there is no folder ${folder}`),
      })
    for (const command of ['list', 'history', 'export', 'resume'])
      expect(await memoryd(home, command, '--project', gone)).toMatchObject({ code: 0, stderr: '' })
  })

  it('shows what people wrote as it is, and tells how to call itself where it speaks for itself', async () => {
    const home = makeHome()
    stopsAfterwards(home)
    await memoryd(home, 'start')
    const said = 'Run memoryd start before the tests, and memoryd stop after them'
    const remembered = await memoryd(home, 'remember', said)
    const file = /remembered in (\S+)/.exec(remembered.stdout)?.[1] ?? ''
    expect(remembered.stdout).toContain('take it back with: memoryd undo 1')
    const shown = await memoryd(home, 'show', file)
    expect(shown.stdout).toContain(`\n${said}\n`)
    expect(JSON.parse((await memoryd(home, 'show', file, '--json')).stdout).content).toBe(shown.stdout)
    expect((await memoryd(home, 'status')).stdout).toContain('none connected; memoryd connect <harness>')
  })

  it('names commands as they can be typed where it is asked, in errors too', async () => {
    const home = makeHome({ PATH: process.env.PATH })
    mkdirSync(join(home.dir, 'node_modules/.bin'), { recursive: true })
    symlinkSync(cliMain, join(home.dir, 'node_modules/.bin/memoryd'))
    const { pid } = await startDaemon(home)
    const asked: [string[], number, string][] = [
      [[], 2, 'npx memoryd start '],
      [['--help'], 0, 'Usage: npx memoryd [options]'],
      [['sttus'], 2, 'run: npx memoryd --help'],
      [['notes', 'zz'], 1, 'no session zz is known\nto find it by its words: npx memoryd search "a word of it"'],
      [['notes', 'zz', '--json'], 1, '"hint":"to find it by its words: npx memoryd search '],
      [['service'], 2, 'npx memoryd service install'],
      [['export', '--help'], 0, 'npx memoryd export | npx memoryd import --memories -'],
      [['mcp', '--help'], 0, 'npx memoryd connect mcp'],
      [
        ['serve'],
        4,
        `memoryd already runs (pid ${pid})\nstate folder ${home.places.stateDir}; to replace it: npx memoryd restart\n`,
      ],
    ]
    for (const [args, code, told] of asked) {
      const { stdout, stderr, ...ended } = await memoryd(home, ...args)
      expect({ args, ...ended, told: stdout + stderr }).toEqual({ args, code, told: expect.stringContaining(told) })
      expect(stdout + stderr).not.toMatch(
        /(?<!npx )\bmemoryd (?:start|restart|search|service|export|import|connect|mcp)\b/,
      )
    }
  })

  it.each([
    ['dollars', { usdPerDay: 0 }],
    ['tokens', { tokensPerDay: 0 }],
  ])('says that no model is called when the budget has no %s', async (_what, budget) => {
    const home = makeHome()
    writeFileSync(home.places.configFile, JSON.stringify({ budget }))
    await startDaemon(home)
    expect((await memoryd(home, 'status')).stdout).toMatch(/^ *budget +none: no model is called$/m)
  })

  it('has exit codes and remedies that scripts and people can use', async () => {
    const home = makeHome()
    expect(await memoryd(home, 'status')).toEqual({
      code: 3,
      stdout: '',
      stderr: `memoryd: no daemon at ${home.places.socketPath}\nrun: memoryd start\n`,
    })
    const json = await memoryd(home, 'status', '--json')
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'UNREACHABLE', hint: 'run: memoryd start' } })
    expect(await memoryd(home, 'sttus')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Did you mean status.*\nrun: memoryd --help\n$/),
    })
    expect(await memoryd(home, 'logs', '-n', 'x')).toMatchObject({ code: 2 })
    for (const args of [['show'], ['jobs', 'show'], ['jobs', 'frob']]) {
      const help = `run: memoryd ${args.join(' ').replace(' frob', '')} --help`
      expect(await memoryd(home, ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(`\n${help}\n`) })
    }
    expect(await memoryd(home, 'logs', '--lines', '')).toMatchObject({ code: 2 })
    expect(await memoryd(home, 'logs')).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no log') })
    expect((await memoryd(home, '--version')).stdout).toMatch(/^memoryd \d+\.\d+\.\d+ \(protocol 1\)\n$/)
    expect(
      await memoryd({ ...home, env: { ...home.env, MEMORYD_SOCKET: `/${'x'.repeat(110)}` } }, 'status'),
    ).toMatchObject({ code: 5, stderr: expect.stringContaining('at most 103') })
  })

  it('shows every command with its purpose', async () => {
    const { stdout, code } = await memoryd(makeHome(), '--help')
    expect(code).toBe(0)
    const named = 'serve start stop restart status logs doctor cost service pause resume uninstall'.split(' ')
    for (const name of named) expect(stdout).toMatch(new RegExp(`^ {2}${name}\\b.* {2}\\w`, 'm'))
    expect(stdout).toContain('Examples:')
    const unknown = await memoryd(makeHome(), 'help', 'bogus')
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringMatching(/unknown command: bogus\n$/) })
  })

  it('pauses and resumes a folder, everything, and says what stays paused', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    expect((await memoryd(home, 'pause', '--project')).stdout).toBe(`paused in:\n  ${home.dir}\n`)
    expect((await memoryd(home, 'pause')).stdout).toBe('paused everywhere: nothing is captured or recalled\n')
    const shop = join(home.dir, 'shop')
    mkdirSync(shop)
    expect(await memoryd(home, 'resume', '--project', home.dir)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('stays paused because everything is paused'),
    })
    await daemon.kill9()
    await startDaemon(home)
    expect((await memoryd(home, 'status')).stdout).toMatch(/paused +everywhere/)
    expect((await memoryd(home, 'resume')).stdout).toBe('capturing and recalling everywhere\n')
    await memoryd(home, 'pause', '--project', home.dir)
    await memoryd(home, 'pause', '--project', shop)
    const resumed = `capturing and recalling in ${home.dir}\n`
    expect((await memoryd(home, 'resume', '--project')).stdout).toBe(`${resumed}paused in:\n  ${shop}\n`)
    expect((await memoryd(home, 'resume', '--project', shop)).stdout).toBe(`capturing and recalling in ${shop}\n`)
  })

  it('shows the log of a daemon that no longer runs, for people and as data, by importance', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    await daemon.stop()
    const shown = await memoryd(home, 'logs', '-n', '1')
    expect(shown.stdout).toMatch(/^\S+ info {2}memoryd is stopping drainMs=60000\n$/)
    const data = await memoryd(home, 'logs', '--json')
    expect(data.stdout).toBe(readFileSync(home.places.logFile, 'utf8'))
    expect((await memoryd(home, 'logs', '--level', 'error')).stdout).toBe('')
  })

  it('follows the log across rotations without losing a line', async () => {
    const home = makeHome()
    mkdirSync(dirname(home.places.logFile), { recursive: true })
    writeFileSync(home.places.logFile, 'line 0\n')
    const following = spawn(process.execPath, [cliMain, 'logs', '-f'], { env: home.env as NodeJS.ProcessEnv })
    onTestFinished(() => void following.kill())
    const seen: string[] = []
    let more = () => {}
    createInterface({ input: following.stdout }).on('line', (line) => {
      seen.push(line)
      more()
    })
    const until = async (count: number) => {
      while (seen.length < count)
        await new Promise<void>((resolve) => {
          more = resolve
        })
    }
    await until(1)
    const log = openLogFile(home.places.logFile, 400, () => {})
    for (let n = 1; n <= 30; n++) {
      log.write(`line ${n}\n`)
      // Every so often the reader gets a chance to look, but not at every rotation.
      if (n % 10 === 0) await until(n + 1)
    }
    log.close()
    expect(seen).toEqual(Array.from({ length: 31 }, (_, n) => `line ${n}`))
  })

  it('ends quietly when its reader has gone', () => {
    const home = makeHome()
    const run = spawnSync('sh', ['-c', `'${process.execPath}' '${cliMain}' --help | head -1`], {
      env: home.env as NodeJS.ProcessEnv,
      encoding: 'utf8',
    })
    expect(run).toMatchObject({ status: 0, stderr: '' })
  })

  it('shows no folder name that would steer the terminal', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    await daemon.client.pause({ cwd: '/x\u001b]0;title\u0007\ny' })
    const { stdout } = await memoryd(home, 'status')
    for (const steering of ['\u001b', '\u0007']) expect(stdout).not.toContain(steering)
  })

  it('finds a service whose node is gone', async () => {
    const home = makeHome()
    const bin = join(home.dir, 'bin')
    const node = join(home.dir, 'node')
    mkdirSync(bin)
    symlinkSync(process.execPath, node)
    writeFileSync(join(bin, 'systemctl'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
    const env = { ...home.env, XDG_RUNTIME_DIR: home.dir, PATH: `${bin}:${home.env.PATH}` }
    const unit = join(home.dir, '.config/systemd/user/memoryd.service')
    expect(await memoryd({ ...home, env }, 'service', 'install')).toMatchObject({ code: 0 })
    writeFileSync(unit, readFileSync(unit, 'utf8').replace(process.execPath, node))
    const finding = async () => {
      const { stdout } = await memoryd({ ...home, env }, 'doctor', '--json')
      return JSON.parse(stdout).findings.find(({ check }: { check: string }) => check === 'service')
    }
    expect(await finding()).toEqual({ check: 'service', state: 'ok', message: 'installed with systemd' })
    rmSync(node)
    expect(await finding()).toEqual({
      check: 'service',
      state: 'problem',
      message: `the systemd service starts ${node}, which is gone`,
      remedy: 'memoryd service install',
    })
  })

  it('declines politely where there is no service manager, and changes nothing', async () => {
    const home = makeHome()
    expect(await memoryd(home, 'service', 'install')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('nothing was changed'),
    })
    expect((await memoryd(home, 'service', 'status', '--json')).stdout).toBe('{"installed":false,"running":false}\n')
  })

  it('uninstalls the state only when told to, and only what is its own', async () => {
    const home = makeHome(ownCache)
    await startDaemon(home)
    expect(await memoryd(home, 'uninstall')).toMatchObject({ code: 0, stdout: expect.stringContaining('kept') })
    expect(existsSync(`${home.places.stateDir}/history.db`)).toBe(true)
    expect(existsSync(join(home.dir, '.cache', 'memoryd'))).toBe(false)
    writeFileSync(`${home.places.stateDir}/thesis.txt`, 'mine')
    const told = `deleted all of ours in ${home.places.stateDir}; other files are there`
    expect(await memoryd(home, 'uninstall', '--state')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(told),
    })
    expect(readdirSync(home.places.stateDir)).toEqual(['thesis.txt'])
  })

  it('uninstalls all of it after a dream, and says what it stopped, what stays and why', async () => {
    const home = makeHome(ownCache)
    const { client, pid } = await startDaemon(home)
    await client.remember({ cwd: home.dir, text: 'We deploy on Mondays' })
    expect(await memoryd(home, 'dream')).toMatchObject({ code: 0 })
    expect(readdirSync(home.places.stateDir)).toContain('dreams')
    const uninstalled = await memoryd(home, 'uninstall', '--state')
    expect(uninstalled).toEqual({
      code: 0,
      stdout: [
        'there was no service',
        `stopped the daemon (pid ${pid})`,
        `deleted ${home.places.stateDir}`,
        'no cache is left',
        'left alone: your memories',
        'left alone: .consolidate-lock beside them, which keeps the time of the last dream',
        'left alone: the program; to remove it: npm uninstall -g memoryd\n',
      ].join('\n'),
      stderr: '',
    })
    expect(existsSync(home.places.stateDir)).toBe(false)
    writeFileSync(home.places.configFile, '{}')
    for (const option of ['--state', '--no-state'])
      expect((await memoryd(home, 'uninstall', option)).stdout).toBe(
        `there was no service\nthere was no state folder\nno cache is left\nleft alone: your memories\nleft alone: ${home.places.configFile}\nleft alone: the program; to remove it: npm uninstall -g memoryd\n`,
      )
  })
})
