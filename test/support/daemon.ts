/** A real daemon process in a temporary HOME, as it is published. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { inject, onTestFinished } from 'vitest'
import { connect, type StrictClient } from '../../client/index.ts'
import type { Home } from './home.ts'

export const daemonMain = join(inject('packageRoot'), 'dist/daemon.js')

export type Exit = { code: number | null; signal: string | null; stderr: string }

export type RunningDaemon = {
  pid: number
  client: StrictClient
  /** Resolves with the first log line that holds `text`, from the start of the process on. */
  logged(text: string): Promise<string>
  exited: Promise<Exit>
  stop(): Promise<Exit>
  kill9(): Promise<Exit>
  signal(name: NodeJS.Signals): void
}

export type Launched = {
  child: ChildProcess
  exited: Promise<Exit>
  /** Rejects with the daemon's own words when it ends before it logs `text`. */
  logged(text: string): Promise<string>
}

/** Starts the process and waits for nothing. */
export function launch(home: Home, wrap: string[] = []): Launched {
  const [program = process.execPath, ...args] = [...wrap, process.execPath, daemonMain]
  const child = spawn(program, args, {
    // JOURNAL_STREAM makes the daemon show its log on standard output, as under systemd.
    env: { ...home.env, JOURNAL_STREAM: '1:1' } as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const lines: string[] = []
  const waiting = new Set<(line: string) => void>()
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    lines.push(line)
    for (const look of waiting) look(line)
  })
  const exited = new Promise<Exit>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal, stderr })),
  )
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const logged = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const look = (line: string) => {
        if (!line.includes(text)) return
        waiting.delete(look)
        resolve(line)
      }
      waiting.add(look)
      lines.forEach(look)
      void exited.then(({ code }) => reject(new Error(`the daemon ended (${code}): ${stderr}${lines.join('\n')}`)))
    })
  return { child, exited, logged }
}

/** Resolves when the daemon says that it is ready; rejects with its own words when it ends instead. */
export async function startDaemon(home: Home, wrap: string[] = []): Promise<RunningDaemon> {
  const { child, exited, logged } = launch(home, wrap)
  await logged('memoryd is ready')
  const client = connect({ socket: home.places.socketPath, strict: true, deadlineMs: 10_000 })
  onTestFinished(client.close)
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return exited
  }
  return {
    pid: child.pid as number,
    client,
    logged,
    exited,
    stop: () => end('SIGTERM'),
    kill9: () => end('SIGKILL'),
    signal: (name) => void child.kill(name),
  }
}
