/** What both service managers have in common: the interface, the templates, running their tools. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { MemoryError } from '../../../schema/errors.ts'
import { settingsVariables } from '../../../schema/rendezvous.ts'
import type { Context } from '../context.ts'
import { daemonMain } from '../installation.ts'
import type { UnitValues } from './units.ts'

export type Service = {
  kind: 'systemd' | 'launchd'
  /** Where its files go. */
  files: string[]
  /** The files its unit needs to start: node and the program. Only where it is installed. */
  starts(): string[]
  installed(): boolean
  running(): boolean
  install(): void
  uninstall(): void
  start(): void
  stop(): void
}

export function unitValues({ places, env }: Context): UnitValues {
  const { configFile, stateDir, socketPath } = places
  const recorded = settingsVariables.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []))
  return {
    node: process.execPath,
    main: daemonMain,
    config: configFile,
    state: stateDir,
    socket: socketPath,
    home: places.home,
    env: Object.fromEntries(recorded),
  }
}

/** Whether a unit is that of this state folder: a user may run a second daemon beside the service, for a test say. */
export function mentions(file: string, text: string): boolean {
  return existsSync(file) && readFileSync(file, 'utf8').includes(text)
}

export function refuseToReplace(file: string, serves: () => boolean): void {
  if (existsSync(file) && !serves())
    throw new MemoryError('CONFLICT', `${file} serves another state folder, so nothing was changed`, {
      hint: 'uninstall that service with the environment it was installed with, or delete the file',
    })
}

export function writeUnit(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content, { mode: 0o644 })
}

/** Runs the manager's own tool; its words are the best explanation there is. */
export function control(context: Context, program: string, args: string[]): string {
  try {
    return execFileSync(program, args, {
      encoding: 'utf8',
      env: context.env as NodeJS.ProcessEnv,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 90_000,
    })
  } catch (cause) {
    const said = String((cause as { stderr?: string }).stderr ?? '').trim() || (cause as Error).message
    throw new MemoryError('INTERNAL', `${program} ${args.join(' ')} failed: ${said}`, {
      hint: `run: ${context.self} doctor`,
      cause,
    })
  }
}

export function succeeds(context: Context, program: string, args: string[]): boolean {
  try {
    control(context, program, args)
    return true
  } catch {
    return false
  }
}
