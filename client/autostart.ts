/** Starts a daemon that is not there. At most one attempt at a time, and none soon after one that failed. */
import { spawn } from 'node:child_process'

export type Autostart = { command: readonly [string, ...string[]] }

export const defaultAutostart: Autostart = { command: ['memoryd', 'start'] }

const PAUSE_AFTER_FAILURE_MS = 30_000

export type Starter = {
  /** Resolves when the attempt is over; true when the daemon should answer now. */
  start(): Promise<boolean>
}

export function createStarter({ command: [program, ...args] }: Autostart, now: () => number): Starter {
  let attempt: Promise<boolean> | undefined
  let notBefore = Number.NEGATIVE_INFINITY
  return {
    start: () => {
      if (now() < notBefore) return Promise.resolve(false)
      attempt ??= run(program, args).then((started) => {
        attempt = undefined
        if (!started) notBefore = now() + PAUSE_AFTER_FAILURE_MS
        return started
      })
      return attempt
    },
  }
}

function run(program: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
    child.unref()
  })
}
