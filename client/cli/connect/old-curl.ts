/**
 * curl before 7.87 waits for standard input without looking at the time. Where it is such a one, `timeout` ends the hook: it
 * costs a process each time, so nobody else gets it.
 */
import { spawnSync } from 'node:child_process'
import type { Environment } from '../../../schema/rendezvous.ts'

const PATIENCE_MS = 5_000
/** After curl itself, which gives up first whenever it can; before the half second is over. */
const BOUND = ['timeout', '0.45'] as const

/** What is to stand before the command; nothing where it keeps its time by itself, or nobody can see to it. */
export function boundFor(env: Environment): string {
  const run = ([program, ...args]: readonly [string, ...string[]]) =>
    spawnSync(program, args, { env: env as NodeJS.ProcessEnv, encoding: 'utf8', timeout: PATIENCE_MS })
  const [, major, minor] = /^curl (\d+)\.(\d+)/.exec(run(['curl', '--version']).stdout ?? '') ?? []
  // Without curl it is node, which does.
  if (major === undefined || Number(major) > 7 || (major === '7' && Number(minor) >= 87)) return ''
  // Some know whole seconds only.
  return run([...BOUND, 'true']).status === 0 ? `${BOUND.join(' ')} ` : ''
}
