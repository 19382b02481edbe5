import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ACTOR_HEADER, callerVariables, ENV_HEADER } from '../../schema/caller.ts'
import { PROTOCOL, PROTOCOL_HEADER } from '../../schema/rendezvous.ts'
import { routeTable } from '../../schema/route-table.ts'
import { type HookRun, hookScript, runCommand, runHook } from '../support/hook-command.ts'
import { projectRoot } from '../support/sources.ts'

const INPUT = { session_id: 's', cwd: '/w', hook_event_name: 'UserPromptSubmit', prompt: 'Wie gehts, "日本"?\n\\' }

function folder(...names: string[]): string {
  const dir = mkdtempSync(join(tmpdir(), 'mh-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, ...names)
  mkdirSync(path, { recursive: true })
  return path
}

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void

async function serve(answer: Answer, dir = folder()): Promise<string> {
  const socket = join(dir, 's.sock')
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer)
    } catch {
      return // It has given up.
    }
    answer(request, response, Buffer.concat(chunks).toString())
  })
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return socket
}

const echo: Answer = (request, response, body) => {
  const told = { method: request.method, url: request.url, body: JSON.parse(body), headers: request.headers }
  response.writeHead(200).end(`${JSON.stringify(told)}\n`)
}

const refuse: Answer = (_request, response) => response.writeHead(400).end('{"error":{}}')

/** Only these programs are on the way. */
function pathWith(...programs: string[]): string {
  const bin = folder('bin')
  for (const name of programs) {
    const found = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()
    symlinkSync(found, join(bin, name))
  }
  return bin
}

const ways: [string, () => Record<string, string>][] = [
  ['curl', () => ({ PATH: process.env.PATH ?? '' })],
  ['node, where there is no curl', () => ({ PATH: pathWith('sh', 'node') })],
]

const shells = [['sh'], ['dash'], ['bash', '--posix'], ['busybox', 'sh']].filter(([name]) => {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`])
    return true
  } catch {
    return false
  }
}) as [string, ...string[]][]

/** Side by side, for most of them wait. */
async function expectSilence(cases: string[], run: (what: string, n: number) => Promise<HookRun>): Promise<void> {
  const ended = await Promise.all(cases.map(async (what, n) => ({ what, ...(await run(what, n)) })))
  expect(ended).toEqual(cases.map((what) => ({ what, code: 0, stdout: '', stderr: '' })))
}

describe.each(ways)('the hook command with %s', (_name, envOf) => {
  it('hands over what it is given and prints what it is answered, as they are', async () => {
    const [socket, env] = [await serve(echo), envOf()]
    const { code, stdout, stderr } = await runHook('claude-code', socket, INPUT, { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { method, url } = routeTable.hook
    expect(JSON.parse(stdout)).toMatchObject({
      method,
      url: url.replace(':harness', 'claude-code'),
      body: INPUT,
      headers: {
        'content-type': 'application/json',
        [PROTOCOL_HEADER]: String(PROTOCOL),
        [ACTOR_HEADER]: 'agent:claude-code',
      },
    })
  })

  it('tells the variables that memory depends on, whatever is in them', async () => {
    const socket = await serve(echo)
    const odd = { CLAUDE_CONFIG_DIR: '/x/"y" \\ é', CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' }
    for (const more of [{ CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1', CLAUDE_CONFIG_DIR: '/a b/c' }, odd]) {
      const env = { ...envOf(), ...more, UNRELATED: 'x' }
      const { stdout } = await runHook('codex', socket, INPUT, { env })
      expect(JSON.parse(JSON.parse(stdout).headers[ENV_HEADER])).toEqual(more)
    }
  })

  const silent: [string, () => Promise<string>][] = [
    ['the socket is missing', async () => join(folder(), 'none.sock')],
    [
      'no process listens any more',
      async () => {
        const socket = join(folder(), 'old.sock')
        const die = 'require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))'
        spawnSync(process.execPath, ['-e', die, socket], { timeout: 20_000 })
        expect(existsSync(socket)).toBe(true)
        return socket
      },
    ],
    [
      'it is no socket',
      async () => {
        const file = join(folder(), 'file')
        writeFileSync(file, '')
        return file
      },
    ],
    ['the daemon hangs', () => serve(() => {})],
    [
      'the daemon hangs after half of its answer',
      () => serve((_request, response) => void response.writeHead(200).write('{"half')),
    ],
    [
      'the daemon dies in the middle of its answer',
      () =>
        serve((_request, response) => {
          response.writeHead(200, { 'content-length': '100' })
          response.write('{"half', () => response.destroy())
        }),
    ],
    [
      'the daemon dies in the middle of an answer of unknown length',
      () =>
        serve((_request, response) => {
          response.writeHead(200)
          response.write('{"half', () => response.destroy())
        }),
    ],
    ['the daemon fails', () => serve((_request, response) => void response.writeHead(500).end('{"error":{}}'))],
    ['the daemon refuses', () => serve((_request, response) => void response.writeHead(404).end('{"error":{}}'))],
    ['the answer is none yet', () => serve((_request, response) => void response.writeHead(202).end('{"later":1}'))],
    [
      'the answer is elsewhere',
      () => serve((_request, response) => void response.writeHead(302, { location: '/' }).end('there')),
    ],
    ['there is nothing to say', () => serve((_request, response) => void response.writeHead(204).end())],
    ['another program answers', () => serve((_request, response) => void response.socket?.end('hello\n'))],
  ]
  it('prints nothing and ends well, whatever is wrong with the daemon', () =>
    expectSilence(
      silent.map(([what]) => what),
      async (_what, n) => {
        const socket = await silent[n]?.[1]()
        return runHook('claude-code', socket ?? '', INPUT, { env: envOf(), deadline: 'own' })
      },
    ))

  it('does not wait for the end of what it is given: nothing, a part or all of it', () =>
    expectSilence(['', '{"session_id":', JSON.stringify(INPUT)], async (input) =>
      runHook('claude-code', await serve(refuse), input, { env: envOf(), ends: 'never', deadline: 'own' }),
    ))

  it('ends well, whatever it is run with', () =>
    expectSilence(['<&-', '</dev/zero', '<&- >&- 2>&-', '</'], async (how) =>
      runCommand(`sh '${hookScript}' claude-code '${await serve(refuse)}' ${how}`, '', envOf(), { deadline: 'own' }),
    ))

  it('takes large inputs and answers', async () => {
    const socket = await serve((_request, response, body) => void response.writeHead(200).end(body))
    const big = { ...INPUT, prompt: '日本 '.repeat(300_000) }
    const { code, stdout } = await runHook('claude-code', socket, big, { env: envOf() })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual(big)
  })
})

describe('the hook command', () => {
  it.each(shells)('runs in %s', async (...shell) => {
    const socket = await serve(echo)
    const { code, stdout, stderr } = await runHook('gemini', socket, INPUT, { shell })
    expect({ code, stderr, body: JSON.parse(stdout).body }).toEqual({ code: 0, stderr: '', body: INPUT })
  })

  it('needs nothing of the environment', async () => {
    const [socket, options] = [await serve(echo), { env: {}, shell: ['/bin/sh'] }] as const
    const { code, stdout, stderr } = await runHook('claude-code', socket, INPUT, options)
    expect({ code, stderr, body: JSON.parse(stdout).body }).toEqual({ code: 0, stderr: '', body: INPUT })
  })

  it('is not put off by proxies and by how the user configured curl', async () => {
    const home = folder()
    writeFileSync(join(home, '.curlrc'), 'include\nverbose\noutput = "/dev/null"\n')
    const proxy = 'http://127.0.0.1:9'
    const env = { PATH: process.env.PATH ?? '', HOME: home, http_proxy: proxy, HTTP_PROXY: proxy, ALL_PROXY: proxy }
    const socket = await serve(echo)
    const { stdout } = await runHook('claude-code', socket, INPUT, { env })
    expect(JSON.parse(stdout).body).toEqual(INPUT)
  })

  it('is not put off by what the user has node do first', async () => {
    const before = join(folder(), 'before.cjs')
    writeFileSync(before, 'console.log("another program"); require("fs").readSync(0, Buffer.alloc(1))')
    const socket = await serve(echo)
    const env = { PATH: pathWith('sh', 'node'), NODE_OPTIONS: `--require ${before}` }
    const { code, stdout } = await runHook('claude-code', socket, INPUT, { env })
    expect({ code, body: JSON.parse(stdout).body }).toEqual({ code: 0, body: INPUT })
  })

  it('lives in folders of any name', async () => {
    const home = folder(`it's "odd" $HOME é 日本`)
    mkdirSync(join(home, 'client', 'hooks'), { recursive: true })
    const script = join(home, 'client', 'hooks', 'memoryd-hook.sh')
    copyFileSync(hookScript, script)
    for (const part of ['client/hooks/hook.ts', 'client/hooks/pass-on.ts', 'schema', 'node_modules', 'package.json'])
      symlinkSync(join(projectRoot, part), join(home, part))
    const socket = await serve(echo, home)
    for (const env of [{ PATH: process.env.PATH ?? '' }, { PATH: pathWith('sh', 'node') }]) {
      const { stdout } = await runHook('claude-code', socket, INPUT, { script, env })
      expect(JSON.parse(stdout).body).toEqual(INPUT)
    }
  })

  it('gives up in time for a prompt, unless the user gives it longer', async () => {
    expect(readFileSync(hookScript, 'utf8')).toContain("'') seconds=0.35 ;;")
    for (const [, envOf] of ways) {
      const order: string[] = []
      const socket = await serve((_request, response) => {
        order.push('asked')
        response.socket?.once('close', () => order.push('given up'))
      })
      await runHook('gemini', socket, INPUT, { env: { ...envOf(), MEMORYD_HOOK_SECONDS: '0.3' } })
      // A number that is none is the default, not "no limit".
      await runHook('gemini', socket, INPUT, { env: { ...envOf(), MEMORYD_HOOK_SECONDS: '0.x' } })
      expect(order.filter((each) => each === 'given up').length).toBe(order.filter((each) => each === 'asked').length)
    }
  })

  it('says the same as the route table', () => {
    const text = readFileSync(hookScript, 'utf8')
    expect(text).toContain(`http://memoryd${routeTable.hook.url.replace(':harness', '$1')}`)
    expect(text).toContain(`${PROTOCOL_HEADER}: ${PROTOCOL}`)
    for (const name of callerVariables) expect(text).toContain(name)
  })
})
