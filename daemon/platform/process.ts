/** Processes of this machine, commands of the user's, and threads of the daemon. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { HOLDER_FILE, type Holder, parseHolder } from '../../schema/rendezvous.ts'
import type { Clock, Timer } from './clock.ts'

export type Processes = ReturnType<typeof createProcesses>

/** The field `starttime` of /proc/<pid>/stat, counted from the state. */
const STARTED = 19

export function createProcesses() {
  const hasProc = existsSync('/proc/self/stat')
  return {
    /** Tells a process from a later one of the same number; undefined without such a process, or without /proc. */
    birthOf: (pid: number): string | undefined => statOf(pid)?.started,
    isAlive: (pid: number, born?: string): boolean => {
      if (!hasProc) return takesSignals(pid)
      const stat = statOf(pid)
      // A zombie has ended.
      return stat !== undefined && !'ZX'.includes(stat.state) && (born === undefined || born === stat.started)
    },
  }
}

function statOf(pid: number): { state: string; started: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of a program may hold spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state, started] = [fields[0], fields[STARTED]]
    return state === undefined || started === undefined ? undefined : { state, started }
  } catch {
    return undefined
  }
}

/** The daemon that holds the lock of a state folder, or was killed while it did. */
export function readHolder(stateDir: string): Holder | undefined {
  try {
    return parseHolder(readFileSync(join(stateDir, HOLDER_FILE), 'utf8'))
  } catch {
    return undefined
  }
}

type CommandOutcome = { output: string } | { trouble: string }

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

export function runCommand(command: string, { clock, timeoutMs, maxBytes, signal }: Limits): Promise<CommandOutcome> {
  return new Promise((resolve) => {
    // A group of its own, so that what the shell has started ends with it.
    const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'ignore'], detached: true, cwd: '/' })
    const chunks: Buffer[] = []
    let bytes = 0
    let draining: Timer | undefined
    const finish = (outcome: CommandOutcome) => {
      timer.stop()
      draining?.stop()
      signal.removeEventListener('abort', onAbort)
      child.stdout.destroy()
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

/** Little of what a thread allocates stays alive: a larger young generation would only hold memory. */
const YOUNG_MB = 16

/** Built, all files stand in one folder and end in `.js`. */
export function threadFile(name: string, base: string): URL {
  return new URL(base.endsWith('.ts') ? name : name.replace(/\.ts$/, '.js'), base)
}

export function beginThread(program: URL, workerData?: unknown): Worker {
  const worker = new Worker(program, { workerData, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } })
  worker.unref()
  worker.once('online', keepHeapSmall)
  return worker
}

/**
 * Tells V8 to hold little more than what is alive: by itself it holds 34 MB of garbage and lets a heap of 15 MB grow to 60. Call it
 * when the daemon is ready, since other flags make V8 refuse Node's compiled code, and after a thread has begun, which
 * resets the first flag. Unknown flags are ignored.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=30')
  // Threads do not live long enough to grow.
  setFlagsFromString('--min-semi-space-size=4')
  // So small a heap is collected before helper threads wake up.
  setFlagsFromString('--no-parallel-scavenge')
}
