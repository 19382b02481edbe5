/** Real servers in a temporary HOME: the daemon as it is published, and the bare one. The caller that starts one has to stop it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { daemonEnv } from '../../client/cli/daemon.ts'
import { type Environment, findPlaces } from '../../schema/rendezvous.ts'
import { firstAnswer } from './first-answer.ts'

const daemonMain = fileURLToPath(new URL('../../dist/daemon.js', import.meta.url))
const bareMain = fileURLToPath(new URL('./bare-server.ts', import.meta.url))

const START_MS = 30_000
const STOP_MS = 10_000

export type Home = { dir: string; env: Environment; socketPath: string; remove(): void }

/** The socket gets a folder of its own, as under systemd, where nothing else stirs while it is waited for. */
export function makeHome(): Home {
  const dir = mkdtempSync(join(tmpdir(), 'mb-'))
  const env = { HOME: dir, PATH: process.env.PATH, NO_COLOR: '1', XDG_RUNTIME_DIR: join(dir, 'run') }
  const { socketPath } = findPlaces(env)
  mkdirSync(dirname(socketPath), { recursive: true, mode: 0o700 })
  return { dir, env, socketPath, remove: () => rmSync(dir, { recursive: true, force: true }) }
}

export type Server = {
  pid: number
  socketPath: string
  /** From spawn to the first answer. */
  startMs: number
  /** In order, or by force when that takes too long. */
  stop(): Promise<void>
}

export function startDaemon(home: Home): Promise<Server> {
  return startServer([daemonMain], { ...home, env: { ...daemonEnv, ...home.env } }, home.socketPath)
}

export function startBareServer(home: Home): Promise<Server> {
  const socketPath = join(dirname(home.socketPath), 'bare.sock')
  return startServer([bareMain, socketPath], home, socketPath)
}

async function startServer(args: string[], home: Home, socketPath: string): Promise<Server> {
  const ended = new AbortController()
  const answered = firstAnswer(socketPath, ended.signal)
  const spawnedMs = performance.now()
  const child = spawnNode(args, home.env)
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said += chunk
  })
  const exited = new Promise<void>((resolve) =>
    child.once('close', (code) => {
      ended.abort(new Error(`${args.join(' ')} ended (${code}) before it answered: ${said}`))
      resolve()
    }),
  )
  const late = setTimeout(() => ended.abort(new Error(`${args.join(' ')} does not answer: ${said}`)), START_MS)
  try {
    await answered
  } catch (error) {
    await stop(child, exited)
    throw error
  } finally {
    clearTimeout(late)
  }
  return {
    pid: child.pid as number,
    socketPath,
    startMs: performance.now() - spawnedMs,
    stop: () => stop(child, exited),
  }
}

/** Nothing of the developer's own environment (NODE_OPTIONS, a running systemd) reaches what is measured. */
function spawnNode(args: string[], env: Environment): ChildProcess {
  return spawn(process.execPath, args, { env: env as NodeJS.ProcessEnv, stdio: ['ignore', 'ignore', 'pipe'] })
}

/** How long a Node process takes from spawn to exit. */
export function runNode({ env }: Home, ...args: string[]): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const spawnedMs = performance.now()
    const child = spawnNode(args, env)
    child.once('error', reject)
    child.once('exit', (code) => {
      if (code === 0) resolve([performance.now() - spawnedMs])
      else reject(new Error(`${args.join(' ')} ended with ${code}`))
    })
  })
}

async function stop(child: ChildProcess, exited: Promise<void>): Promise<void> {
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await exited
  clearTimeout(timer)
}
