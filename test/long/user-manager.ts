/** A second user of this machine with a real `systemd --user`, as systemd-user.sh makes one. Needs root. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { CliResult } from '../support/cli.ts'
import { isThere } from '../support/programs.ts'

const UID = 4243
const COMMAND_LIMIT_MS = 100_000
const SYSTEMD = '/lib/systemd/systemd'
const PROGRAMS = ['bash', 'unshare', 'nsenter', 'setpriv', 'findmnt', 'dbus-daemon', 'systemctl', 'systemd-notify']
const script = fileURLToPath(new URL('systemd-user.sh', import.meta.url))
const checkout = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
const identity = [`--reuid=${UID}`, `--regid=${UID}`, '--clear-groups', '--inh-caps=-all']

/** Why this machine cannot do it; nothing if it can. */
export function whyNot(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux'
  const missing = [...PROGRAMS.filter((name) => !isThere(name)), ...(existsSync(SYSTEMD) ? [] : [SYSTEMD])]
  if (missing.length > 0) return `not on this machine: ${missing.join(', ')}`
  if (spawnSync('findmnt', ['--types', 'cgroup2']).status !== 0) return 'no cgroup2 is mounted'
  const { status, stderr } = spawnSync('unshare', ['--mount', '--pid', '--fork', '--cgroup', '--mount-proc', 'true'])
  return status === 0 ? undefined : `namespaces are not allowed here: ${String(stderr).trim()}`
}

/** memoryd where the second user can run it. */
export type Installation = { node: string; cli: string; folder: string; remove(): void }

const inPlace = { node: process.execPath, folder: checkout }

/** The checkout itself, or a copy of it when it lies where the second user cannot look. */
export function prepareInstallation(): Installation {
  // The script puts an empty folder over these two.
  const hidden = Object.values(inPlace).some((path) => /^\/(home|run)\//.test(path))
  if (!hidden && runs(inPlace)) return { ...inPlace, cli: cliOf(checkout), remove: () => {} }
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-copy-'))
  const copied = { node: join(folder, 'node'), folder }
  const parts = ['client', 'daemon', 'schema', 'node_modules', 'package.json', 'systemd'].map((name) =>
    join(checkout, name),
  )
  spawnSync('cp', ['-a', ...parts, folder])
  spawnSync('cp', [process.execPath, copied.node])
  spawnSync('chmod', ['-R', 'a+rX', folder])
  const remove = () => rmSync(folder, { recursive: true, force: true })
  if (runs(copied)) return { ...copied, cli: cliOf(folder), remove }
  remove()
  throw new Error(`uid ${UID} can run memoryd neither in ${checkout} nor in ${folder}; set TMPDIR to an open folder`)
}

const cliOf = (folder: string) => join(folder, 'client', 'cli', 'memoryd.js')

function runs({ node, folder }: { node: string; folder: string }): boolean {
  return spawnSync('setpriv', [...identity, node, cliOf(folder), '--version'], { cwd: '/' }).status === 0
}

export type UserManager = {
  home: string
  runtimeDir: string
  /** As the second user. */
  run(program: string, ...args: string[]): Promise<CliResult>
  /** As the second user; throws unless the program succeeds. */
  read(program: string, ...args: string[]): Promise<string>
  asRoot(program: string, ...args: string[]): Promise<CliResult>
  /** The named properties of a unit. */
  show(unit: string, ...properties: string[]): Promise<Record<string, string>>
}

/** Resolves when the manager answers. It ends, with all it started, when the test does. */
export async function startUserManager(home = '/home/ann'): Promise<UserManager> {
  const source = mkdtempSync(join(tmpdir(), 'memoryd-home-'))
  mkdirSync(join(source, '.config'))
  for (const folder of [source, join(source, '.config')]) chownSync(folder, UID, UID)
  chmodSync(source, 0o700)
  const child = spawn(script, [String(UID), source, home], { stdio: ['pipe', 'pipe', 'pipe'] })
  let words = ''
  child.stderr.on('data', (chunk) => {
    words += chunk
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  onTestFinished(async () => {
    child.stdin.end()
    await ended
    rmSync(source, { recursive: true, force: true })
  })
  const init = await new Promise<string>((resolve, reject) => {
    let pid = ''
    createInterface({ input: child.stdout }).on('line', (line) => {
      pid ||= /^init (\d+)$/.exec(line)?.[1] ?? ''
      if (line === 'ready') resolve(pid)
    })
    void ended.then(() => reject(new Error(`systemd-user.sh ended: ${words}`)))
  })

  const runtimeDir = `/run/user/${UID}`
  const env = [
    `HOME=${home}`,
    'PATH=/usr/local/bin:/usr/bin:/bin',
    `XDG_RUNTIME_DIR=${runtimeDir}`,
    `DBUS_SESSION_BUS_ADDRESS=unix:path=${runtimeDir}/bus`,
    'NO_COLOR=1',
  ]
  const asRoot = (...command: string[]) =>
    execute('nsenter', `--target=${init}`, '--mount', '--pid', '--cgroup', '--', ...command)
  const run = (...command: string[]) => asRoot('setpriv', ...identity, 'env', '-i', ...env, ...command)
  const read = async (...command: string[]) => {
    const { code, stdout, stderr } = await run(...command)
    if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stderr}`)
    return stdout
  }
  const show = async (unit: string, ...properties: string[]) => {
    const text = await read('systemctl', '--user', 'show', `--property=${properties.join(',')}`, unit)
    return Object.fromEntries(
      text
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split(/=(.*)/s, 2) as [string, string]),
    )
  }
  return { home, runtimeDir, run, read, asRoot, show }
}

function execute(program: string, ...args: string[]): Promise<CliResult> {
  return new Promise((resolve) =>
    execFile(program, args, { timeout: COMMAND_LIMIT_MS }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr }),
    ),
  )
}

/** What systemd does in its own time; looked at until it is so. */
export async function eventually<T>(what: string, look: () => Promise<T | undefined>, limitMs = 20_000): Promise<T> {
  const until = performance.now() + limitMs
  for (;;) {
    const seen = await look()
    if (seen !== undefined) return seen
    if (performance.now() > until) throw new Error(`not within ${limitMs / 1000} s: ${what}`)
    await delay(50)
  }
}
