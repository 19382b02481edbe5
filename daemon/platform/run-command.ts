/** Runs a command of the user's and gives what it printed. Nobody waits longer than agreed, and nothing of it is logged. */
import { spawn } from 'node:child_process'
import type { Clock } from './clock.ts'

export type CommandOutcome = { output: string } | { trouble: string }

type Limits = { clock: Clock; timeoutMs: number; maxBytes: number; signal: AbortSignal }

export function runCommand(command: string, { clock, timeoutMs, maxBytes, signal }: Limits): Promise<CommandOutcome> {
  return new Promise((resolve) => {
    // A group of its own, so that whatever the shell has started ends with it.
    const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'ignore'], detached: true, cwd: '/' })
    const chunks: Buffer[] = []
    let bytes = 0
    const finish = (outcome: CommandOutcome) => {
      timer.stop()
      signal.removeEventListener('abort', onAbort)
      child.stdout.destroy()
      if (child.exitCode === null && child.pid !== undefined) endGroup(child.pid)
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
    child.once('close', (code, signal) => {
      if (code === 0) finish({ output: Buffer.concat(chunks).toString('utf8') })
      else finish({ trouble: signal ? `was ended by ${signal}` : `failed with exit code ${code}` })
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
