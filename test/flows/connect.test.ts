import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { memoryd, stopsAfterwards } from '../support/cli.ts'
import { connectAs } from '../support/connect-as.ts'
import { startDaemon } from '../support/daemon.ts'
import { type Home, makeHome, ownCache } from '../support/home.ts'
import { runCommand } from '../support/hook-command.ts'

const FILES = {
  'claude-code': '.claude/settings.json',
  codex: '.codex/hooks.json',
  gemini: '.gemini/settings.json',
  pi: '.pi/agent/extensions/memoryd.ts',
}
const harnesses = Object.entries(FILES)
const json = harnesses.filter(([, file]) => file.endsWith('.json'))

const THEIRS = `{
\t// how I like it
\t"model": "opus", /* for now */
\t"odd key": [1,2,
\t\t3],
\t"hooks": {
\t\t"Stop": [ { "hooks": [ { "type": "command", "command": "say done" } ] }, ],
\t},
}
`

function put(home: Home, file: string, text: string): string {
  const path = join(home.dir, file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

const read = (path: string) => readFileSync(path, 'utf8')

describe.each(harnesses)('connect %s', (harness, file) => {
  it('makes what is missing, once, and disconnect leaves nothing behind', async () => {
    const home = makeHome()
    const path = join(home.dir, file)
    const { code, stdout } = await memoryd(home, 'connect', harness)
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`connected ${harness}: made ${path}`),
    })
    const made = read(path)
    expect(made).toContain('memoryd-hook')
    expect((await memoryd(home, 'connect', harness)).stdout).toContain('connected already')
    expect(read(path)).toBe(made)
    const before = readdirSync(home.dir).sort()
    expect((await memoryd(home, 'disconnect', harness)).stdout).toContain(`removed ${path}`)
    expect(existsSync(path)).toBe(false)
    expect(readdirSync(home.dir)).toEqual(before.filter((name) => name !== file.split('/')[0]))
    expect((await memoryd(home, 'disconnect', harness)).stdout).toContain('was not connected')
  })

  it('shows what it would do, and does it not', async () => {
    const home = makeHome()
    const { stdout } = await memoryd(home, 'connect', harness, '--dry-run')
    expect(stdout).toContain('this would be changed in')
    expect(stdout).toMatch(/^\+.*memoryd-hook/m)
    expect(existsSync(join(home.dir, file))).toBe(false)
    expect(existsSync(join(home.places.stateDir, 'connections'))).toBe(false)
  })

  it('is for one project where that is wanted', async () => {
    const home = makeHome()
    const project = join(home.dir, 'project')
    mkdirSync(join(project, '.git'), { recursive: true })
    mkdirSync(join(project, 'src'))
    const { stdout } = await memoryd({ ...home, dir: join(project, 'src') }, 'connect', harness, '--project', '--json')
    const { file: made } = JSON.parse(stdout) as { file: string }
    expect(made.startsWith(`${project}/.`)).toBe(true)
    expect(read(made)).toContain('memoryd-hook')
    expect(existsSync(join(home.dir, file))).toBe(false)
    expect((await memoryd(home, 'disconnect', harness, '--project', project)).code).toBe(0)
    expect(readdirSync(project).sort()).toEqual(['.git', 'src'])
  })
})

describe.each(json)('settings of %s', (harness, file) => {
  it('are byte for byte as they were after connect and disconnect', async () => {
    const home = makeHome()
    const odd = [THEIRS.replaceAll('\n', '\r\n'), `\ufeff${THEIRS}`, '{}', '{"a":1}\n', '{ }\n\n']
    // All of those that are JSON are edited in one way, as `hook-settings.test.ts` has it.
    for (const text of [THEIRS, '', ...(harness === 'claude-code' ? odd : [])]) {
      const path = put(home, file, text)
      chmodSync(path, 0o640)
      expect((await memoryd(home, 'connect', harness)).code).toBe(0)
      expect(read(path)).not.toBe(text)
      expect(statSync(path).mode & 0o777).toBe(0o640)
      expect((await memoryd(home, 'disconnect', harness)).code).toBe(0)
      expect(read(path)).toBe(text)
      expect(statSync(path).mode & 0o777).toBe(0o640)
    }
    expect(readdirSync(dirname(join(home.dir, file)))).toEqual([file.split('/')[1]])
  })

  it('keep what the user changed in between, and lose only our lines', async () => {
    const home = makeHome()
    const path = put(home, file, THEIRS)
    await memoryd(home, 'connect', harness)
    const edit = (text: string) => text.replace('"opus"', '"sonnet"')
    writeFileSync(path, edit(read(path)))
    await memoryd(home, 'disconnect', harness)
    expect(read(path)).toBe(edit(THEIRS))
  })
})

describe('connect', () => {
  it('has a harness run a command that reaches the daemon, in folders of any name', async () => {
    const home = makeHome()
    const state = join(home.dir, `it's é "st"`)
    const odd = { ...home, env: { ...home.env, MEMORYD_STATE_DIR: state, MEMORYD_SOCKET: join(state, 's.sock') } }
    odd.places = { ...home.places, stateDir: state, socketPath: join(state, 's.sock') }
    mkdirSync(state, { mode: 0o700 })
    const cwd = join(home.dir, 'p')
    mkdirSync(join(cwd, '.git'), { recursive: true })
    await startDaemon(odd)
    await connectAs(odd, 'user').remember({ cwd, text: 'Always run the linter before a commit' })
    await memoryd(odd, 'connect', 'codex')
    const settings = JSON.parse(read(join(home.dir, FILES.codex)))
    const { command } = settings.hooks.SessionStart[0].hooks[0]
    const input = { hook_event_name: 'SessionStart', session_id: 's', cwd, source: 'startup' }
    const { code, stdout, stderr } = await runCommand(command, input, { PATH: process.env.PATH ?? '' })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout).hookSpecificOutput.additionalContext).toContain('linter')
    // A memoryd that was moved or removed without a word leaves a command that does nothing.
    const gone = command.replace('memoryd-hook.sh', 'gone.sh')
    expect(await runCommand(gone, input, { PATH: process.env.PATH ?? '' })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })

  it('writes anew what another socket or another place asks for', async () => {
    const home = makeHome()
    const path = put(home, FILES['claude-code'], THEIRS)
    await memoryd(home, 'connect', 'claude-code')
    const first = read(path)
    const moved = { ...home, env: { ...home.env, MEMORYD_SOCKET: join(home.dir, 'other.sock') } }
    await memoryd(moved, 'connect', 'claude-code', '--mail')
    expect(read(path)).toContain('other.sock')
    expect(read(path)).toContain('PostToolUse')
    expect(read(path)).not.toContain(home.places.socketPath)
    await memoryd(home, 'connect', 'claude-code')
    expect(read(path)).toBe(first)
    await memoryd(home, 'disconnect', 'claude-code')
    expect(read(path)).toBe(THEIRS)
  })

  it('follows a link, which stays one', async () => {
    const home = makeHome()
    const real = put(home, 'dotfiles/claude.json', THEIRS)
    mkdirSync(join(home.dir, '.claude'))
    const link = join(home.dir, FILES['claude-code'])
    symlinkSync(real, link)
    await memoryd(home, 'connect', 'claude-code')
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(read(real)).toContain('memoryd-hook')
    await memoryd(home, 'disconnect', 'claude-code')
    expect(read(real)).toBe(THEIRS)
  })

  it.each([
    [
      'settings that are none',
      (home: Home) => put(home, FILES['claude-code'], '{\n  "a": 1\n  "b": 2\n}\n'),
      /settings\.json:3:3: /,
    ],
    ['hooks that are none', (home: Home) => put(home, FILES['claude-code'], '{"hooks": [1]}'), /hooks is no object/],
    [
      'bytes that are no text',
      (home: Home) => {
        const path = put(home, FILES['claude-code'], '')
        writeFileSync(path, Buffer.from([0x7b, 0xff, 0x7d]))
        return path
      },
      /UTF-8/,
    ],
    [
      'what is read-only',
      (home: Home) => {
        const path = put(home, FILES['claude-code'], '{}')
        chmodSync(path, 0o444)
        return path
      },
      /read-only/,
    ],
    [
      'a link that leads nowhere',
      (home: Home) => {
        mkdirSync(join(home.dir, '.claude'))
        symlinkSync(join(home.dir, 'nowhere'), join(home.dir, FILES['claude-code']))
        return join(home.dir, FILES['claude-code'])
      },
      /leads nowhere/,
    ],
  ] as const)('refuses %s, and says where', async (_what, prepare, words) => {
    const home = makeHome()
    const path = prepare(home)
    const before = existsSync(path) ? readFileSync(path) : undefined
    const { code, stderr } = await memoryd(home, 'connect', 'claude-code')
    expect(code).toBe(1)
    expect(stderr).toMatch(words)
    expect(stderr).toContain('nothing was changed')
    if (before) expect(readFileSync(path)).toEqual(before)
  })

  it('leaves an extension of another author alone', async () => {
    const home = makeHome()
    const path = put(home, FILES.pi, 'export default () => {}\n')
    expect((await memoryd(home, 'connect', 'pi')).stderr).toContain('not of ours')
    expect((await memoryd(home, 'disconnect', 'pi')).stdout).toContain('was not connected')
    expect(read(path)).toBe('export default () => {}\n')
  })

  it('does not throw away what the user has made of our extension', async () => {
    const home = makeHome()
    await memoryd(home, 'connect', 'pi')
    const path = join(home.dir, FILES.pi)
    const edited = `${read(path)}// and mine\n`
    writeFileSync(path, edited)
    for (const command of ['connect', 'disconnect'])
      expect((await memoryd(home, command, 'pi')).stderr).toContain('is not as memoryd left it')
    expect(read(path)).toBe(edited)
  })

  it('tells how the MCP server is added', async () => {
    const home = makeHome()
    expect((await memoryd(home, 'connect', 'mcp')).stdout).toContain('claude mcp add --scope user memoryd -- ')
    const { stdout } = await memoryd(home, 'connect', 'mcp', '--json')
    expect(JSON.parse(stdout).mcpServers.memoryd.args.at(-1)).toBe('mcp')
    expect((await memoryd(home, 'disconnect', 'mcp')).stdout).toContain('claude mcp remove')
  })

  it('is seen in the status and by the doctor, and undone by uninstall', async () => {
    const home = makeHome(ownCache)
    stopsAfterwards(home)
    const path = put(home, FILES['claude-code'], THEIRS)
    type Finding = { check: string; state: string; message: string }
    const doctor = async () => JSON.parse((await memoryd(home, 'doctor', '--json')).stdout) as { findings: Finding[] }
    const hooks = async () => (await doctor()).findings.filter(({ check }) => check === 'hooks')
    expect(await hooks()).toMatchObject([{ state: 'ok', message: expect.stringContaining('no harness is connected') }])
    await memoryd(home, 'start')
    await memoryd(home, 'connect', 'claude-code')
    const { harnesses: known } = JSON.parse((await memoryd(home, 'status', '--json')).stdout)
    expect(known).toContainEqual({ name: 'claude-code', connected: true })
    expect((await memoryd(home, 'status')).stdout).toContain('claude-code (no hook seen yet)')
    expect(await hooks()).toMatchObject([{ state: 'ok', message: expect.stringContaining(path) }])
    writeFileSync(path, read(path).replaceAll('memoryd-hook.sh', 'memoryd-hook-old.sh'))
    expect(await hooks()).toMatchObject([{ state: 'warning' }])
    writeFileSync(path, THEIRS)
    expect(await hooks()).toMatchObject([{ state: 'warning', message: expect.stringContaining('no longer') }])
    await memoryd(home, 'connect', 'claude-code')
    expect((await memoryd(home, 'uninstall', '--state')).stdout).toContain(`took our hooks out of ${path}`)
    expect(read(path)).toBe(THEIRS)
    expect(existsSync(home.places.stateDir)).toBe(false)
  })
})
