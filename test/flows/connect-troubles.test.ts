import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cliMain, memoryd } from '../support/cli.ts'
import { type Home, makeHome } from '../support/home.ts'
import { runCommand } from '../support/hook-command.ts'

const SETTINGS = '.claude/settings.json'
const THEIRS = `{
\t// how I like it
\t"model": "opus", /* for now */
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

describe('connect, when something goes wrong half way,', () => {
  /** As `memoryd` does it, with a bound on how large a file may get: what a full disk does. */
  const onFullDisk = (home: Home, blocks: number, ...args: string[]) => {
    const command = `ulimit -f ${blocks}; exec '${process.execPath}' '${cliMain}' ${args.join(' ')}`
    return runCommand(command, '', { ...home.env, PATH: process.env.PATH ?? '' } as Record<string, string>)
  }
  /** Killed without a word when it calls this function of `node:fs` for the nth time. */
  const killedAt = (home: Home, call: string, nth: number, ...args: string[]) => {
    const preload = join(home.dir, `kill-${call}-${nth}.cjs`)
    const kill = `if (++n === ${nth}) process.kill(process.pid, 'SIGKILL')`
    writeFileSync(
      preload,
      `const fs = require('fs'); let n = 0; const real = fs.${call}
fs.${call} = (...args) => { ${kill}; return real(...args) }
require('module').syncBuiltinESMExports()`,
    )
    const env = { ...home.env, NODE_OPTIONS: `--require ${preload}` }
    return memoryd({ ...home, env }, ...args)
  }
  const LONG = THEIRS.replace('opus', 'o'.repeat(3_000))

  it('leaves the settings as they were where only a part of them can be written', async () => {
    const home = makeHome()
    const path = put(home, SETTINGS, LONG)
    const { code, stderr } = await onFullDisk(home, 8, 'connect', 'claude-code')
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('nothing was changed') })
    expect(read(path)).toBe(LONG)
    expect(readdirSync(dirname(path))).toEqual(['settings.json'])
    await memoryd(home, 'connect', 'claude-code')
    const connected = read(path)
    expect((await onFullDisk(home, 2, 'disconnect', 'claude-code')).code).toBe(1)
    expect(read(path)).toBe(connected)
    await memoryd(home, 'disconnect', 'claude-code')
    expect(read(path)).toBe(LONG)
  })

  it('leaves settings and backup as they were where a second one fails', async () => {
    const home = makeHome()
    const path = put(home, SETTINGS, THEIRS)
    await memoryd(home, 'connect', 'claude-code')
    const connected = read(path)
    expect((await onFullDisk(home, 0, 'connect', 'claude-code', '--mail')).code).toBe(1)
    expect(read(path)).toBe(connected)
    await memoryd(home, 'disconnect', 'claude-code')
    expect(read(path)).toBe(THEIRS)
  })

  it('never writes a damaged backup over the settings', async () => {
    const home = makeHome()
    const path = put(home, SETTINGS, THEIRS)
    const connections = join(home.places.stateDir, 'connections')
    for (const damaged of ['', THEIRS.slice(0, 40), '{}']) {
      await memoryd(home, 'connect', 'claude-code')
      for (const name of readdirSync(connections).filter((each) => each.endsWith('.backup')))
        writeFileSync(join(connections, name), damaged)
      expect((await memoryd(home, 'disconnect', 'claude-code')).code).toBe(0)
      expect(read(path)).toContain('// how I like it')
      expect(read(path)).toContain('say done')
      expect(read(path)).not.toContain('memoryd-hook')
      writeFileSync(path, THEIRS)
    }
  })

  it.each([
    ['renameSync', 1],
    ['renameSync', 2],
    ['renameSync', 3],
    ['fsyncSync', 1],
    ['fsyncSync', 2],
    ['writeSync', 1],
    ['writeSync', 2],
  ])('can be undone after a kill at %s %i, and nothing of it is left lying about', async (call, nth) => {
    const home = makeHome()
    const path = put(home, SETTINGS, THEIRS)
    await killedAt(home, call, nth, 'connect', 'claude-code')
    await memoryd(home, 'disconnect', 'claude-code')
    expect(read(path)).toBe(THEIRS)
    await memoryd(home, 'connect', 'claude-code')
    writeFileSync(path, read(path).replace('opus', 'sonnet'))
    await killedAt(home, call, nth, 'connect', 'claude-code', '--mail')
    await memoryd(home, 'disconnect', 'claude-code')
    expect(read(path)).toBe(THEIRS.replace('opus', 'sonnet'))
    expect(readdirSync(dirname(path))).toEqual(['settings.json'])
    const kept = readdirSync(join(home.places.stateDir, 'connections'))
    expect(kept.filter((name) => !name.endsWith('.backup'))).toEqual([])
  })

  it('has the doctor tidy up after a kill', async () => {
    const home = makeHome()
    const path = put(home, SETTINGS, THEIRS)
    await memoryd(home, 'connect', 'claude-code')
    await killedAt(home, 'renameSync', 1, 'connect', 'claude-code', '--mail')
    expect(readdirSync(dirname(path))).toHaveLength(2)
    await memoryd(home, 'doctor')
    expect(readdirSync(dirname(path))).toEqual(['settings.json'])
  })

  it('says so where no backup can be kept', async () => {
    const home = makeHome()
    const path = put(home, SETTINGS, THEIRS)
    mkdirSync(home.places.stateDir, { recursive: true })
    writeFileSync(join(home.places.stateDir, 'connections'), 'a file')
    const { code, stderr } = await memoryd(home, 'connect', 'claude-code')
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/no backup of .* can be kept in/) })
    expect(read(path)).toBe(THEIRS)
  })
})

describe('connect', () => {
  it('keeps the rights of a file, whatever is asked for new ones', async () => {
    const home = makeHome()
    const path = put(home, SETTINGS, THEIRS)
    for (const mode of [0o664, 0o600, 0o666, 0o755]) {
      chmodSync(path, mode)
      await memoryd(home, 'connect', 'claude-code')
      expect(statSync(path).mode & 0o7777).toBe(mode)
      await memoryd(home, 'disconnect', 'claude-code')
      expect(statSync(path).mode & 0o7777).toBe(mode)
    }
  })

  it('refuses a file with a second name, which would be cut off', async () => {
    const home = makeHome()
    const path = put(home, SETTINGS, THEIRS)
    linkSync(path, join(home.dir, 'dotfile.json'))
    const { code, stderr } = await memoryd(home, 'connect', 'claude-code')
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('hard link') })
    expect(statSync(path).nlink).toBe(2)
  })

  it("leaves a user's own hook alone that speaks of ours", async () => {
    const home = makeHome()
    const own = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"~/bin/memoryd-hook-wrapper.sh mine"}]}]}}'
    const path = put(home, SETTINGS, own)
    await memoryd(home, 'connect', 'claude-code')
    expect(read(path)).toContain('memoryd-hook-wrapper.sh mine')
    await memoryd(home, 'disconnect', 'claude-code')
    expect(read(path)).toBe(own)
  })

  it('refuses a project that is none, and tells how to undo one from anywhere', async () => {
    const home = makeHome()
    const project = join(home.dir, "it's a project")
    mkdirSync(project)
    const file = put(home, 'file', '')
    for (const wrong of [join(home.dir, 'typo', 'dir'), file])
      for (const command of ['connect', 'disconnect']) {
        const { code, stderr } = await memoryd(home, command, 'claude-code', '--project', wrong)
        expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`there is no folder ${wrong}`) })
      }
    expect(existsSync(join(home.dir, 'typo'))).toBe(false)
    const { stdout } = await memoryd(home, 'connect', 'claude-code', '--project', project)
    const undo = /to undo it: .*(disconnect .*)/.exec(stdout)?.[1] ?? ''
    await runCommand(`'${process.execPath}' '${cliMain}' ${undo}`, '', home.env as Record<string, string>)
    expect(readdirSync(project)).toEqual([])
  })

  it('has a curl ended that waits for its input without looking at the time', async () => {
    const home = makeHome()
    const old = '#!/bin/sh\n[ "$1" = --version ] && echo "curl 7.81.0 (x86_64)" && exit 0\nexec cat\n'
    const bin = join(home.dir, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'curl'), old, { mode: 0o755 })
    const env = { ...home.env, PATH: `${bin}:${process.env.PATH}` }
    const connect = () => memoryd({ ...home, env }, 'connect', 'claude-code')
    await connect()
    const { command } = JSON.parse(read(join(home.dir, SETTINGS))).hooks.Stop[0].hooks[0]
    const ended = await runCommand(command, '{}', { PATH: env.PATH }, { ends: 'never', deadline: 'own' })
    expect(ended).toEqual({ code: 0, stdout: '', stderr: '' })
    expect((await connect()).stdout).toContain('connected already')
    expect((await memoryd(home, 'doctor', '--json')).stdout).toContain('connected: claude-code')
    await memoryd(home, 'disconnect', 'claude-code')
    expect(existsSync(join(home.dir, '.claude'))).toBe(false)
  })

  it('is one of several at once, and disconnect leaves nothing of any', async () => {
    const home = makeHome()
    const path = put(home, SETTINGS, THEIRS)
    for (let round = 0; round < 3; round++) {
      await Promise.all(
        [[], ['--mail'], [], ['--mail']].map((more) => memoryd(home, 'connect', 'claude-code', ...more)),
      )
      expect(read(path).match(/"SessionStart"/g)).toHaveLength(1)
      expect((await memoryd(home, 'disconnect', 'claude-code')).code).toBe(0)
      expect(read(path)).toBe(THEIRS)
      expect(readdirSync(dirname(path))).toEqual(['settings.json'])
    }
  })

  it('forgets a project that was removed', async () => {
    const home = makeHome()
    const project = join(home.dir, 'project')
    mkdirSync(project)
    await memoryd(home, 'connect', 'claude-code', '--project', project)
    rmSync(project, { recursive: true })
    expect((await memoryd(home, 'disconnect', 'claude-code', '--project', project)).code).toBe(0)
    expect(existsSync(project)).toBe(false)
  })

  it('refuses a folder of settings whose place is unknown', async () => {
    const home = makeHome()
    const { code, stderr } = await memoryd(
      { ...home, env: { ...home.env, CLAUDE_CONFIG_DIR: 'rel' } },
      'connect',
      'claude-code',
    )
    expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining('CLAUDE_CONFIG_DIR must be') })
    expect(existsSync(join(home.dir, 'rel'))).toBe(false)
  })

  it.each([['--mail'], ['--dry-run'], ['--project', '/nowhere']])('takes no %s for mcp', async (...options) => {
    const { code, stderr } = await memoryd(makeHome(), 'connect', 'mcp', ...options)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('mcp takes no options') })
  })
})
