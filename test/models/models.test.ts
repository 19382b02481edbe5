import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, createReadStream, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Access, createKeys, type NoAccess } from '../../daemon/models/models.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { runCommand } from '../../daemon/platform/process.ts'
import { manualTime } from '../support/clock.ts'
import { testCore } from '../support/core.ts'
import { makeHome } from '../support/home.ts'

const fingerprint = (key: string) => createHash('sha256').update(key).digest('hex').slice(0, 16)
const key = (value: string, kind: 'api-key' | 'token' = 'api-key') => ({ kind, value, fingerprint: fingerprint(value) })

async function rig(env: Record<string, string> = {}, settings = { apiKeyFile: null, apiKeyCommand: null } as Settings) {
  const time = manualTime()
  const { core, home } = await testCore({ time, env })
  const { dir } = home
  const live = { baseUrl: null as string | null, ...settings }
  const current = () => ({ ...core.settings.current(), model: { ...core.settings.current().model, ...live } })
  const found = createKeys({ ...core, settings: { ...core.settings, current } })
  onTestFinished(found.stop)
  const keyIn = (access: Access | NoAccess) => ('none' in access ? access : access.key)
  const keys = { ...found, known: () => keyIn(found.known()), find: async () => keyIn(await found.find()) }
  const write = (text: string, mode = 0o600) => {
    const path = join(dir, 'key')
    writeFileSync(path, text)
    chmodSync(path, mode)
    return path
  }
  return { dir, time, live, keys, access: found.known, write }
}
type Settings = { apiKeyFile: string | null; apiKeyCommand: string | null }

describe('a key', () => {
  it('comes from the environment first, and a key before a token', async () => {
    const settings = { apiKeyFile: '/nowhere', apiKeyCommand: 'echo other' }
    const find = async (env: Record<string, string>) => (await rig(env, settings)).keys.find()
    expect(await find({ ANTHROPIC_API_KEY: 'a', ANTHROPIC_AUTH_TOKEN: 'b' })).toEqual(key('a'))
    expect(await find({ ANTHROPIC_AUTH_TOKEN: 'b' })).toEqual(key('b', 'token'))
    expect(await (await rig()).keys.find()).toEqual({ none: 'unset' })
    expect(await (await rig({ ANTHROPIC_API_KEY: '' })).keys.find()).toEqual({ none: 'unset' })
  })

  it('comes from a file of ours, read anew each time', async () => {
    const { keys, live, write } = await rig()
    live.apiKeyFile = write('sk-one\n')
    expect(keys.known()).toEqual(key('sk-one'))
    write('sk-two')
    expect([keys.known(), await keys.find()]).toEqual([key('sk-two'), key('sk-two')])
    live.apiKeyFile = null
    expect(keys.known()).toEqual({ none: 'unset' })
  })

  it.each([
    ['a file that others can read', 0o644, 'sk-one', /can be read by others \(mode 644\)/, /^chmod 600 /],
    ['a file that the group can read', 0o640, 'sk-one', /mode 640/, /^chmod 600 /],
    ['an empty file', 0o600, ' \n', /is empty/, /the key alone/],
    ['a file with more in it', 0o600, 'KEY=sk-one\nURL=x y\n', /more than a key/, /the key alone/],
    ['a large file', 0o600, 'k'.repeat(20_000), /20000 bytes/, /the key alone/],
  ])('is not taken from %s, and it says what to do', async (_what, mode, text, trouble, remedy) => {
    const { keys, live, write } = await rig()
    live.apiKeyFile = write(text, mode)
    expect(keys.known()).toEqual({
      none: 'problem',
      problem: expect.stringMatching(trouble),
      remedy: expect.stringMatching(remedy),
    })
    expect(JSON.stringify(keys.known())).not.toContain('sk-one')
  })

  it('is not waited for at a pipe, nor looked for in a folder or in nothing', async () => {
    const { keys, live, dir } = await rig()
    const pipe = join(dir, 'pipe')
    execFileSync('mkfifo', ['-m', '600', pipe])
    for (const [path, why] of [
      [pipe, /not a file/],
      [dir, /not a file/],
      [join(dir, 'nothing'), /is not there/],
    ] as const) {
      live.apiKeyFile = path
      expect(keys.known()).toMatchObject({ problem: expect.stringMatching(why), remedy: expect.any(String) })
    }
  })

  it('comes from a command, which is run again when its word is old, when it was refused, and when it changed', async () => {
    const { keys, live, time, dir } = await rig()
    const runs = join(dir, 'runs')
    const count = () => readFileSync(runs, 'utf8').length
    live.apiKeyCommand = `printf x >> ${runs}; echo "sk-$(wc -c < ${runs} | tr -d ' ')"`
    expect(keys.known()).toEqual({ none: 'pending' })
    expect(await Promise.all([keys.find(), keys.find()])).toEqual([key('sk-1'), key('sk-1')])
    expect([keys.known(), await keys.find(), count()]).toEqual([key('sk-1'), key('sk-1'), 1])
    time.pass(5 * 60_000)
    expect(await keys.find()).toEqual(key('sk-2'))
    keys.refused()
    expect(await keys.find()).toEqual(key('sk-3'))
    live.apiKeyCommand = 'echo another'
    expect([keys.known(), await keys.find()]).toEqual([{ none: 'pending' }, key('another')])
  })

  it.each([
    ['fails', 'echo sk-secret; exit 3', /failed with exit code 3/],
    ['is not there', 'no-such-program-at-all', /exit code 127/],
    ['says nothing', 'true', /is empty/],
    ['says too much', 'echo "The key is sk-secret"', /more than a key/],
    ['never stops talking', 'yes sk-secret', /more than 8192 bytes/],
    ['is killed', 'kill -9 $$', /SIGKILL/],
  ])('is not taken from a command that %s, whose words are not repeated', async (_what, command, why) => {
    const { keys, live } = await rig()
    live.apiKeyCommand = command
    const found = await keys.find()
    expect(found).toEqual({ none: 'problem', problem: expect.stringMatching(why), remedy: expect.any(String) })
    expect(JSON.stringify(found)).not.toContain('sk-secret')
  })

  it('is taken from a command that complains besides', async () => {
    const { keys, live } = await rig()
    live.apiKeyCommand = 'echo "warning: keychain is old" >&2; echo; echo "  sk-one  "'
    expect(await keys.find()).toEqual(key('sk-one'))
  })

  it('is not waited for longer than ten seconds, and whatever the command started ends with it', async () => {
    const { keys, live, time, dir } = await rig()
    const pipe = join(dir, 'pipe')
    execFileSync('mkfifo', [pipe])
    // Each process the command starts holds the pipe open: its end is theirs.
    live.apiKeyCommand = `exec 3> ${pipe}; echo up >&3; sh -c 'sleep 1000'; echo late`
    const found = keys.find()
    const reading = createReadStream(pipe)
    await once(reading, 'data')
    time.pass(10_000)
    expect(await found).toMatchObject({ problem: expect.stringContaining('did not end within 10 s') })
    await once(reading, 'end')
  })

  it('is taken from a command that leaves something in the background, which ends with it', async () => {
    const { dir } = makeHome()
    const pipe = join(dir, 'pipe')
    execFileSync('mkfifo', [pipe])
    const limits = { clock: createClock(), timeoutMs: 60_000, maxBytes: 1_000, signal: new AbortController().signal }
    const run = runCommand(`(exec 3> ${pipe}; sleep 1000) & echo sk-one`, limits)
    const reading = createReadStream(pipe)
    expect(await run).toEqual({ output: 'sk-one\n' })
    reading.resume()
    await once(reading, 'end')
  })

  it('does not keep the daemon from stopping', async () => {
    const stopping = new AbortController()
    const limits = { clock: createClock(), timeoutMs: 60_000, maxBytes: 10, signal: stopping.signal }
    const run = runCommand('sleep 1000', limits)
    stopping.abort()
    expect(await run).toEqual({ trouble: 'was broken off' })
  })
})

describe('the way to a model', () => {
  const access = async (env: Record<string, string>, baseUrl: string | null) => {
    const made = await rig({ ANTHROPIC_API_KEY: 'k', ...env })
    made.live.baseUrl = baseUrl
    return made.access()
  }

  it('leads to the usual place, the configured one, or the one of the environment', async () => {
    expect(await access({}, null)).toEqual({ key: key('k'), baseUrl: 'https://api.anthropic.com' })
    expect(await access({}, 'http://localhost:11434/')).toMatchObject({ baseUrl: 'http://localhost:11434' })
    expect(await access({ ANTHROPIC_BASE_URL: 'http://proxy:1/x/' }, 'http://localhost:2')).toMatchObject({
      baseUrl: 'http://proxy:1/x',
    })
  })

  it('leads nowhere when that is no address', async () => {
    for (const bad of ['localhost:11434', 'file:///etc/passwd', 'not a url', 'http://ada:secret@localhost:1'])
      expect(await access({ ANTHROPIC_BASE_URL: bad }, null)).toMatchObject({
        none: 'problem',
        remedy: expect.any(String),
      })
  })
})
