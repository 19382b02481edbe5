/** Processes of this machine, commands of the user's, and threads of the daemon. */

import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from './clock.ts'

export type Processes = ReturnType<typeof createProcesses>

/** Where the system tells of its processes as files. */
const PROC = '/proc'
/** Counted from the state, which follows the name. */
const STARTED = 19

export function createProcesses() {
  const hasProc = existsSync(`${PROC}/self/stat`)
  return {
    /** What tells a process from a later one of the same number; undefined where there is none, or the system does not say. */
    birthOf: (pid: number): string | undefined => statOf(pid)?.started,
    isAlive: (pid: number, born?: string): boolean => {
      if (!hasProc) return takesSignals(pid)
      const stat = statOf(pid)
      // What has ended and was not collected yet is as good as gone.
      return stat !== undefined && !'ZX'.includes(stat.state) && (born === undefined || born === stat.started)
    },
  }
}

function statOf(pid: number): { state: string; started: string } | undefined {
  try {
    const text = readFileSync(`${PROC}/${pid}/stat`, 'utf8')
    // A program may have any name, also one with spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state, started] = [fields[0], fields[STARTED]]
    return state === undefined || started === undefined ? undefined : { state, started }
  } catch {
    return undefined
  }
}

export type CommandOutcome = { output: string } | { trouble: string }

type Limits = { clock: Clock; timeoutMs: number; maxBytes: number; signal: AbortSignal }

const DRAIN_MS = 200

export function takesSignals(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Runs a command of the user's and gives what it printed, within the time limit. Nothing of it is logged. */
export function runCommand(command: string, { clock, timeoutMs, maxBytes, signal }: Limits): Promise<CommandOutcome> {
  return new Promise((resolve) => {
    // A group of its own, so that whatever the shell has started ends with it.
    const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'ignore'], detached: true, cwd: '/' })
    const chunks: Buffer[] = []
    let bytes = 0
    let draining: Timer | undefined
    const finish = (outcome: CommandOutcome) => {
      timer.stop()
      draining?.stop()
      signal.removeEventListener('abort', onAbort)
      child.stdout.destroy()
      // Also when the shell has ended: what it left in the background has no more to say.
      if (child.pid !== undefined) endGroup(child.pid)
      resolve(outcome)
    }
    const timer = clock.after(timeoutMs, () => finish({ trouble: `did not end within ${timeoutMs / 1_000} s` }))
    const onAbort = () => finish({ trouble: 'was broken off' })
    signal.addEventListener('abort', onAbort, { once: true })
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) finish({ trouble: `printed more than ${maxBytes} bytes` })
      else chunks.push(chunk)
    })
    child.once('error', (error) => finish({ trouble: `could not be started: ${error.message}` }))
    const ended = (code: number | null, signal: NodeJS.Signals | null) => {
      if (code === 0) finish({ output: Buffer.concat(chunks).toString('utf8') })
      else finish({ trouble: signal ? `was ended by ${signal}` : `failed with exit code ${code}` })
    }
    child.once('close', ended)
    // A process it left in the background may hold its output open: what it printed itself is read by then.
    child.once('exit', (code, signal) => {
      draining = clock.after(DRAIN_MS, () => ended(code, signal))
    })
  })
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has just ended by itself.
  }
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** What a thread does leaves little that lives on: more room for what has died would only be held. */
const YOUNG_MB = 16

/** Names the file of a thread beside the module `base`. Built, all files stand in one folder and end in `.js`. */
export function threadFile(name: string, base: string): URL {
  return new URL(base.endsWith('.ts') ? name : name.replace(/\.ts$/, '.js'), base)
}

export function beginThread(program: URL, workerData?: unknown): Worker {
  const worker = new Worker(program, { workerData, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } })
  // What keeps the daemon alive is its socket.
  worker.unref()
  worker.once('online', keepHeapSmall)
  return worker
}

/**
 * Tells V8 to hold little more than what lives; unknown flags are ignored. By itself V8 holds 34 megabytes for what is dead a moment later, and lets a heap of fifteen grow to sixty before it looks
 * for what has died since. Not before the daemon is ready: what Node brings along compiled is only taken under its own flags.
 * Once more with each thread that has begun, which sets the first of them back.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=30')
  // Threads begin with what they may hold: they have no time to grow.
  setFlagsFromString('--min-semi-space-size=4')
  // What lives of so little is gone through before other threads are awake to help, and requests would wait for them.
  setFlagsFromString('--no-parallel-scavenge')
}
