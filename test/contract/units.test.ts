import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { daemonEnv } from '../../client/cli/daemon.ts'
import { fillPlist, fillSystemdUnit, startedBy, type UnitValues } from '../../client/cli/service/units.ts'
import { passedSocket } from '../../daemon/platform/socket.ts'
import { MemoryError } from '../../schema/errors.ts'
import { makeHome } from '../support/home.ts'
import { needPrograms } from '../support/programs.ts'

const template = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
const systemdUnits = ['memoryd.service', 'memoryd.socket'] as const

const realistic: UnitValues = {
  node: process.execPath,
  main: '/usr/lib/node_modules/memoryd/dist/daemon.js',
  config: '/home/ann/.config/memoryd/config.json',
  state: '/home/ann/.local/state/memoryd',
  socket: '/run/user/1000/memoryd/memoryd.sock',
  home: '/home/ann',
  env: { CLAUDE_CONFIG_DIR: '/home/ann/.claude' },
}

/** What a folder may be called that means something to systemd, to a shell or to XML. */
const names = [
  'two words',
  '100%h %% %',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: systemd would put a variable in
  '$HOME ${PATH} $$',
  'a&b &amp; <c> ]]>',
  'für 雪 🧠',
  '#hash; semi=colon:',
  '*?[x] ~',
  '@STATE@',
]
/** Fine for every path but that of the program itself. */
const namesWithQuotes = ['"double" \'single\'', '5" disk', 'back\\slash \\n \\x41', '--']

function inFolder(folder: string): Omit<UnitValues, 'node'> {
  return {
    main: join(folder, 'main.js'),
    config: join(folder, 'config.json'),
    state: join(folder, 'state'),
    socket: join(folder, 'memoryd.sock'),
    home: folder,
    env: { CLAUDE_CONFIG_DIR: join(folder, 'claude') },
  }
}

function verify(fill: (unit: string) => string): { status: number | null; stdout: string; stderr: string } {
  const home = makeHome()
  const runtime = join(home.dir, 'run')
  mkdirSync(runtime, { mode: 0o700 })
  const files = systemdUnits.map((unit) => join(home.dir, unit))
  systemdUnits.forEach((unit, n) => {
    writeFileSync(files[n] as string, fill(unit))
  })
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['--user', 'verify', ...files], {
    encoding: 'utf8',
    env: { ...home.env, XDG_RUNTIME_DIR: runtime } as NodeJS.ProcessEnv,
  })
  return { status, stdout, stderr }
}

const fillSystemd = (values: UnitValues) => (unit: string) => fillSystemdUnit(template(`systemd/${unit}`), values)
const satisfied = { status: 0, stdout: '', stderr: '' }

describe('the systemd units', () => {
  it('satisfy systemd itself', (context) => {
    needPrograms(context, 'systemd-analyze')
    expect(verify(fillSystemd(realistic))).toEqual(satisfied)
  })

  it.for([...names, ...namesWithQuotes])('satisfy systemd with everything in a folder called %s', (name, context) => {
    needPrograms(context, 'systemd-analyze')
    expect(verify(fillSystemd({ node: process.execPath, ...inFolder(join('/home', name)) }))).toEqual(satisfied)
  })

  it.for(names)('satisfy systemd with node in a folder called %s', (name, context) => {
    needPrograms(context, 'systemd-analyze')
    const folder = join(makeHome().dir, name)
    mkdirSync(folder)
    const node = join(folder, 'node')
    symlinkSync(process.execPath, node)
    expect(verify(fillSystemd({ ...realistic, node }))).toEqual(satisfied)
  })

  it('give the daemon what the command gives it', () => {
    for (const [name, value] of Object.entries(daemonEnv))
      expect(template('systemd/memoryd.service').split('\n')).toContain(`Environment=${name}=${value}`)
  })

  it.each([...names, ...namesWithQuotes])('tell what they start, in a folder called %s', (name) => {
    const node = join('/opt', names.includes(name) ? name : 'plain', 'node')
    const values = { node, ...inFolder(join('/home', name)) }
    expect(startedBy(fillSystemd(values)('memoryd.service'))).toEqual([node, values.main])
    expect(startedBy(fillPlist(template('launchd/dev.memoryd.plist'), values))).toEqual([node, values.main])
  })

  it('tell nothing of a start command that is not ours', () => {
    expect(startedBy('[Service]\nExecStart=/usr/bin/env node main.js\n')).toEqual([])
  })

  it('keep systemd from reading variables, specifiers and quotes into a path', () => {
    // What the checker cannot tell: a path that is valid, but another one.
    const line = 'ExecStart=@NODE@ @MAIN@ ReadWritePaths=@STATE@ Environment=@ENV_STATE@ ListenStream=@SOCKET@'
    const values = { ...realistic, node: '/$a %b/node', main: '/$a %b/"\\m.js', state: '/$a "%b', socket: '/$a "%b\\s' }
    expect(fillSystemdUnit(line, values)).toBe(
      [
        'ExecStart="/$a %%b/node" "/$$a %%b/\\"\\\\m.js"',
        'ReadWritePaths="/$a \\"%%b"',
        'Environment="MEMORYD_STATE_DIR=/$a \\"%%b"',
        'ListenStream=/$a "%%b\\s',
      ].join(' '),
    )
  })

  it('would not satisfy systemd unfilled', (context) => {
    needPrograms(context, 'systemd-analyze')
    expect(verify((unit) => template(`systemd/${unit}`)).status).not.toBe(0)
  })

  it('refuse a program that systemd refuses', (context) => {
    needPrograms(context, 'systemd-analyze')
    for (const name of ['"', "'", '\\']) {
      const node = join(makeHome().dir, `no${name}de`)
      symlinkSync(process.execPath, node)
      expect(() => fillSystemd({ ...realistic, node })('memoryd.service')).toThrow(MemoryError)
      const escaped = JSON.stringify(node)
      const byHand = verify((unit) => fillSystemd(realistic)(unit).replace(`"${process.execPath}"`, escaped))
      expect(byHand.stderr).toContain('Executable name contains special characters')
    }
  })

  it.each(['/run/a ', '/run/a\\'])('refuse the socket path "%s", which would end elsewhere', (socket) => {
    expect(() => fillSystemd({ ...realistic, socket })('memoryd.socket')).toThrow(MemoryError)
  })
})

describe('the launchd agent', () => {
  it.for(['ann', ...names, ...namesWithQuotes])(
    'says what is meant with everything in a folder called %s',
    (name, context) => {
      needPrograms(context, 'python3')
      const folder = join('/Users', name)
      const values = { node: join(folder, 'node'), ...inFolder(folder) }
      const read = 'import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))'
      const input = fillPlist(template('launchd/dev.memoryd.plist'), values)
      expect(JSON.parse(execFileSync('python3', ['-c', read], { input, encoding: 'utf8' }))).toEqual({
        Label: 'dev.memoryd',
        ProgramArguments: [values.node, values.main],
        EnvironmentVariables: {
          MEMORYD_CONFIG: values.config,
          MEMORYD_STATE_DIR: values.state,
          MEMORYD_SOCKET: values.socket,
          ...values.env,
        },
        RunAtLoad: true,
        KeepAlive: { SuccessfulExit: false },
        ThrottleInterval: 60,
        ProcessType: 'Background',
        Umask: 0o077,
        ExitTimeOut: 75,
        StandardErrorPath: `${values.state}/logs/launchd.log`,
      })
    },
  )
})

describe('every service file', () => {
  const forms = [
    ...systemdUnits.map((unit) => [`systemd/${unit}`, fillSystemdUnit] as const),
    ['launchd/dev.memoryd.plist', fillPlist] as const,
  ]

  it.each(forms)('%s has no placeholder left', (file, fill) => {
    expect(template(file)).toMatch(/@[A-Z_]+@/)
    expect(fill(template(file), realistic)).not.toMatch(/@[A-Z_]+@/)
  })

  it.each(forms)('%s is not written with a control character in a path', (file, fill) => {
    for (const key of Object.keys(realistic) as (keyof UnitValues)[])
      for (const character of ['\n', '\r', '\t', '\0', '\x1b', '\x7f', '\x85']) {
        const values = { ...realistic, [key]: `/home/a${character}ExecStart=/bin/true` }
        expect(() => fill(template(file), values)).toThrow(expect.objectContaining({ code: 'SETUP' }))
      }
  })
})

describe('a passed socket', () => {
  const passed = { LISTEN_PID: '812', LISTEN_FDS: '1' }

  it('is the first descriptor after standard error', () => {
    expect(passedSocket(passed, 812)).toBe(3)
  })

  it('is not there without systemd', () => {
    expect(passedSocket({}, 812)).toBeUndefined()
    expect(passedSocket({ LISTEN_PID: '812' }, 812)).toBeUndefined()
  })

  it('that was passed to another process is ignored', () => {
    expect(passedSocket(passed, 813)).toBeUndefined()
    expect(passedSocket({ LISTEN_FDS: '1' }, 812)).toBeUndefined()
  })

  it('must be a single one', () => {
    for (const LISTEN_FDS of ['2', '0', 'many'])
      expect(() => passedSocket({ ...passed, LISTEN_FDS }, 812)).toThrow(expect.objectContaining({ code: 'SETUP' }))
  })
})
