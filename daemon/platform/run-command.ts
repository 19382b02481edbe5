/** Runs a command of the user's and gives what it printed. Nobody waits longer than agreed, and nothing of it is logged. */
import { spawn } from 'node:child_process'
import type { Clock, Timer } from './clock.ts'

export type CommandOutcome = { output: string } | { trouble: string }

type Limits = { clock: Clock; timeoutMs: number; maxBytes: number; signal: AbortSignal }

const DRAIN_MS = 200

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
    // Whoever it left in the background may hold its output open: what it printed itself is read by then.
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
