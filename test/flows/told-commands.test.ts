/** Everything the README and `--help` tell people to type is typed here, in a home of its own. */
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { claudeSession } from '../support/claude-session.ts'
import { cliMain, memoryd, stopsAfterwards } from '../support/cli.ts'
import { connectAs } from '../support/connect-as.ts'
import { type Home, makeHome, ownCache } from '../support/home.ts'
import { addOldNode } from '../support/old-node.ts'
import { projectRoot } from '../support/sources.ts'
import { helpOf, linesIn, mentionsIn, pages, scriptsIn } from '../support/told-commands.ts'
import { memoryDirOf } from '../support/writer.ts'

const { scripts } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
}
/**
 * What there is here was built, and is being tested: of each script its last step is left. The scripted server takes a free port.
 * What is installed has a test of its own.
 */
const steps = Object.entries({ ...scripts, test: 'true', build: 'true', ci: 'true', install: 'true' }).map(
  ([name, script]) => `${name}) exec ${script.split(' && ').at(-1)}${name === 'messages-api' ? ' 0' : ''} ;;`,
)

/** Programs that people have and a test may not. */
const programs = {
  npm: `cd "${projectRoot}"; [ "$1" = run ] && shift; [ "$1" = --silent ] && shift; case $1 in\n${steps.join('\n')}\nesac; exit 1`,
  npx: `shift; exec "${process.execPath}" "${cliMain}" "$@"`,
  memoryd: `exec "${process.execPath}" "${cliMain}" "$@"`,
  jq: 'cat',
  nano: 'echo "And more." >> "$1"',
  // Those of the user who runs the tests are not for them.
  systemctl: 'exit 1',
  launchctl: 'exit 1',
}

/** What goes on until it is ended: how one knows that it is at work. */
const endless: [RegExp, (on: Ground, said: string) => boolean | Promise<boolean>][] = [
  [/^memoryd logs -f/, (_on, said) => said.includes('ready')],
  [/^npm run messages-api/, (_on, said) => said.includes('answers at')],
  [/^memoryd serve/, async ({ client }) => (await client.health()).ok],
  [
    /^memoryd jobs watch/,
    async ({ client, session: { cwd } }, said) => {
      await client.dream({ cwd, force: true })
      return said !== ''
    },
  ],
]

/** What cannot go well in this home, and how it ends. */
const otherwise: [RegExp, number, RegExp][] = [
  [/^memoryd service (install|uninstall)/, 5, /nothing was changed/],
  [/ --at 2026-03-01/, 1, /no memory user_role.md at that time/],
  [/ --purge/, 2, /there is no terminal to ask at/],
  [/ --lift 3/, 1, /no tombstone 3/],
  [/^memoryd undo (17|--run)/, 1, /no change 17|nothing to undo/],
  [/^memoryd review (approve|reject)/, 1, /no change \d that waits/],
  [/^memoryd jobs (show|kill|retry)/, 1, /no job/],
]

const PATIENCE = { timeout: 30_000 }

async function ground() {
  const home = makeHome(ownCache)
  stopsAfterwards(home)
  const bin = join(home.dir, 'bin')
  mkdirSync(bin)
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  home.env.PATH = `${bin}:${home.env.PATH}`
  for (const folder of ['work/secret', 'work/shop', 'work/app', 'app', 'backup/.claude/projects', 'old-laptop'])
    mkdirSync(join(home.dir, folder), { recursive: true })
  const session = claudeSession(home)
  for (let n = 0; n < 20; n++) session.say('Let us look at the token refresh', 'It is as it should be. '.repeat(200))
  await memoryd(home, 'start')
  const client = connectAs(home, 'user')
  await expect.poll(async () => (await client.sessions({ cwd: session.cwd })).items[0]?.turns, PATIENCE).toBe(20)
  return { home, client, session }
}

const FILES = ['user_role.md', 'feedback_testing.md', 'old.md', 'wrong.md', 'secret.md']

type Ground = Awaited<ReturnType<typeof ground>>

/** Whatever the line before has left: a daemon, and the files that lines name. */
async function prepare(line: string, { home, client, session }: Ground): Promise<void> {
  if (line.startsWith('memoryd serve')) return void (await memoryd(home, 'stop'))
  if (!(await client.health().catch(() => undefined))) await memoryd(home, 'start')
  await client.resume({})
  await client.pause({ cwd: join(home.dir, 'work/secret') })
  for (const file of FILES) {
    const content = `---\nname: ${file}\ndescription: What ${file} is about\ntype: project\n---\n\nThis is what ${file} says.\n`
    await client.putMemory({ cwd: session.cwd, file, content, ifHash: null }).catch(() => {})
  }
  if (!line.startsWith('mv ')) return
  rmSync(join(home.dir, 'work/app'), { recursive: true })
  // An import before may have filled the place: a project moves to where there are no memories.
  rmSync(memoryDirOf(home, join(home.dir, 'work/app')), { recursive: true, force: true })
  await client.remember({ cwd: join(home.dir, 'app'), text: 'The app is written in Go' })
}

type Ended = { line: string; code: number | null; said: string }

function type(line: string, on: Ground): Promise<Ended> {
  const [, isAtWork] = endless.find(([which]) => which.test(line)) ?? []
  const child = spawn('sh', ['-c', isAtWork ? `exec ${line}` : line], {
    cwd: on.session.cwd,
    env: on.home.env as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
  if (isAtWork)
    void expect
      .poll(() => isAtWork(on, said), PATIENCE)
      .toBe(true)
      .finally(() => child.kill('SIGINT'))
  return new Promise((resolve) => child.once('close', (code) => resolve({ line, code, said })))
}

function asExpected({ line: typed, code, said }: Ended): boolean {
  const line = bare(typed)
  const [, other, why] = otherwise.find(([which]) => which.test(line)) ?? []
  if (other !== undefined && why) return code === other && why.test(said)
  // Ended by the signal that it was sent, or in its own way because of it.
  return code === 0 || (endless.some(([which]) => which.test(line)) && (code === null || code === 130))
}

/** Asked once: to ask for the help of every command starts as many processes. */
let help: ReturnType<typeof helpOf> | undefined
const helpIn = (home: Home) => {
  help ??= helpOf((...args) => memoryd(home, ...args))
  return help
}

describe('what people are told to type', () => {
  it('works as the README and the docs have it, line by line', async () => {
    const on = await ground()
    const wrong: Ended[] = []
    for (const { text } of pages) {
      // Each page begins with a daemon that runs.
      await memoryd(on.home, 'start')
      for (const line of linesIn(text)) {
        const ended = await type(line, on)
        if (!asExpected(ended)) wrong.push(ended)
      }
    }
    expect(wrong).toEqual([])
  })

  it('works as each command tells of itself', async () => {
    const on = await ground()
    const wrong: Ended[] = []
    const done = new Set(pages.flatMap(({ text }) => linesIn(text)).map(bare))
    const help = await helpIn(on.home)
    for (const line of new Set(help.flatMap(({ examples }) => examples))) {
      if (done.has(line)) continue
      await prepare(line, on)
      const ended = await type(real(line, on), on)
      if (!asExpected(ended)) wrong.push(ended)
    }
    expect(wrong).toEqual([])
  }, 180_000)

  it('is all there is: every command, and nothing that the README names in passing is missing among it', async () => {
    const help = await helpIn(makeHome())
    const lines = [...pages.flatMap(({ text }) => linesIn(text)).map(bare), ...help.flatMap(({ examples }) => examples)]
    const isTyped = (command: string) => lines.some((line) => ` ${line} `.includes(` ${command} `))
    expect(help.filter(({ command }) => !isTyped(command))).toEqual([])
    const all = pages.map(({ text }) => text).join('\n')
    const typed = lines.map((line) => new Set(line.split(/[\s|&]+/)))
    const never = mentionsIn(all).filter((words) => !typed.some((line) => words.every((word) => line.has(word))))
    expect(never).toEqual([])
    expect(scriptsIn(all).filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
  })
})

/** npm puts the Node of this checkout on the PATH of what it runs; a user's shell has another. */
describe.skipIf(process.platform !== 'linux')('a checkout that is installed as the README says', () => {
  it('gives a plain memoryd that works in every folder, on an older Node', async () => {
    const line = 'npm install -g .'
    expect(pages.flatMap(({ text }) => linesIn(text)).map(bare)).toContain(line)
    const home = makeHome()
    stopsAfterwards(home)
    const prefix = join(home.dir, 'prefix')
    const env = { ...home.env, npm_config_prefix: prefix, npm_config_offline: 'true' } as NodeJS.ProcessEnv
    execFileSync('sh', ['-c', line], { cwd: projectRoot, env, stdio: 'ignore' })
    addOldNode(prefix)
    const PATH = [prefix, join(prefix, 'bin'), home.env.PATH].join(delimiter)
    const type = (line: string) =>
      execFileSync('sh', ['-c', line], { cwd: home.dir, env: { ...env, PATH }, encoding: 'utf8' })
    expect(type('memoryd start')).toContain('memoryd status · memoryd logs -f')
    expect(type('memoryd remember "We deploy on Mondays"')).toContain('take it back with: memoryd undo 1')
    expect(type('memoryd stop')).toContain('memoryd stopped')
  })
})

/** With what there is in this home in place of what stands for it. */
function real(line: string, { session }: Ground): string {
  return line.replace(/\b(?:1f0c|0c8f1d2e(?:-[0-9a-f-]{27})?)\b/g, session.id)
}

/** As `--help` has it. */
function bare(line: string): string {
  return line.replace(/^npx /, '').replace(/ *#.*$/, '')
}
