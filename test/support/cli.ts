/** The real `memoryd` command in a temporary HOME. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import type { Home } from './home.ts'

export const cliMain = join(inject('packageRoot'), 'client/cli/memoryd.js')

export type CliResult = { code: number; stdout: string; stderr: string }

export function memoryd(home: Home, ...args: string[]): Promise<CliResult> {
  return memorydReading(home, undefined, ...args)
}

/** With `input` on its standard input. */
export function memorydReading(home: Home, input: string | undefined, ...args: string[]): Promise<CliResult> {
  return new Promise((resolve) => {
    const options = { env: home.env as NodeJS.ProcessEnv, cwd: home.dir, timeout: 120_000 }
    const child = execFile(process.execPath, [cliMain, ...args], options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr }),
    )
    if (input !== undefined) child.stdin?.end(input)
  })
}

/** For tests that start a detached daemon through the command: it must not outlive the test. */
export function stopsAfterwards(home: Home): void {
  onTestFinished(async () => void (await memoryd(home, 'stop')))
}
