/** The service manager of this machine, if it has one that memoryd can use, and memoryd as its service. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { MemoryError } from '../../../schema/errors.ts'
import { settingsVariables } from '../../../schema/rendezvous.ts'
import type { Context } from '../context.ts'
import { daemonMain, readTemplate } from '../installation.ts'
import { fillPlist, fillSystemdUnit, quoted, startedBy, type UnitValues, xml } from './units.ts'

export type Service = NonNullable<ReturnType<typeof findService>>

/** Undefined where neither manager answers, as in a container or over a bare ssh login. */
export function findService(context: Context) {
  return process.platform === 'darwin' ? launchdService(context) : systemdService(context)
}

function unitValues({ places, env }: Context): UnitValues {
  const { configFile: config, stateDir: state, socketPath: socket, home } = places
  const recorded = settingsVariables.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []))
  return { node: process.execPath, main: daemonMain, config, state, socket, home, env: Object.fromEntries(recorded) }
}

/** A unit of another state folder is not ours: a user may run a second daemon beside the service. */
function mentions(file: string, text: string): boolean {
  return existsSync(file) && readFileSync(file, 'utf8').includes(text)
}

function refuseToReplace(file: string, serves: () => boolean): void {
  if (existsSync(file) && !serves())
    throw new MemoryError('CONFLICT', `${file} serves another state folder, so nothing was changed`, {
      hint: 'uninstall that service with the environment it was installed with, or delete the file',
    })
}

function writeUnit(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content, { mode: 0o644 })
}

function control(context: Context, program: string, args: string[]): string {
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

function succeeds(context: Context, program: string, args: string[]): boolean {
  try {
    control(context, program, args)
    return true
  } catch {
    return false
  }
}

const UNITS = ['memoryd.socket', 'memoryd.service']

function systemdService(context: Context) {
  const { env, places } = context
  if (!env.XDG_RUNTIME_DIR && !env.DBUS_SESSION_BUS_ADDRESS) return undefined
  const systemctl = (...args: string[]) => control(context, 'systemctl', ['--user', ...args])
  if (!succeeds(context, 'systemctl', ['--user', 'show-environment'])) return undefined
  const base =
    env.XDG_CONFIG_HOME && isAbsolute(env.XDG_CONFIG_HOME) ? env.XDG_CONFIG_HOME : join(places.home, '.config')
  const files = UNITS.map((unit) => join(base, 'systemd', 'user', unit))
  // After a few failed starts systemd refuses more for a while, even when what was wrong has been put right.
  const forgetFailures = () => succeeds(context, 'systemctl', ['--user', 'reset-failed', ...UNITS])
  const unit = files[1] as string
  const serves = () => mentions(unit, quoted(`MEMORYD_STATE_DIR=${places.stateDir}`))
  return {
    kind: 'systemd',
    files,
    starts: () => startedBy(readFileSync(unit, 'utf8')),
    installed: () => files.every((file) => existsSync(file)) && serves(),
    running: () => serves() && UNITS.some((unit) => succeeds(context, 'systemctl', ['--user', 'is-active', unit])),
    install: () => {
      refuseToReplace(unit, serves)
      UNITS.forEach((unit, n) => {
        writeUnit(files[n] as string, fillSystemdUnit(readTemplate(`systemd/${unit}`), unitValues(context)))
      })
      systemctl('daemon-reload')
      forgetFailures()
      // By path: the manager may have been started with another XDG_CONFIG_HOME than this shell.
      systemctl('enable', '--now', ...files)
    },
    uninstall: () => {
      // Not `disable --now`: that may forget the units' own rules for stopping before it stops them.
      systemctl('stop', ...UNITS)
      systemctl('disable', ...UNITS)
      for (const file of files) rmSync(file, { force: true })
      systemctl('daemon-reload')
    },
    start: () => {
      forgetFailures()
      systemctl('start', ...UNITS)
    },
    stop: () => void systemctl('stop', ...UNITS),
  }
}

const LABEL = 'dev.memoryd'

function launchdService(context: Context) {
  const domain = `gui/${process.getuid?.()}`
  const target = `${domain}/${LABEL}`
  const launchctl = (...args: string[]) => control(context, 'launchctl', args)
  if (!succeeds(context, 'launchctl', ['print', domain])) return undefined
  const file = join(context.places.home, 'Library', 'LaunchAgents', `${LABEL}.plist`)
  const serves = () => mentions(file, `<string>${xml(context.places.stateDir)}</string>`)
  const running = () => serves() && succeeds(context, 'launchctl', ['print', target])
  const stop = () => {
    if (running()) launchctl('bootout', target)
  }
  return {
    kind: 'launchd',
    files: [file],
    starts: () => startedBy(readFileSync(file, 'utf8')),
    installed: () => existsSync(file) && serves(),
    running,
    install: () => {
      refuseToReplace(file, serves)
      stop()
      writeUnit(file, fillPlist(readTemplate(`launchd/${LABEL}.plist`), unitValues(context)))
      launchctl('bootstrap', domain, file)
    },
    uninstall: () => {
      stop()
      rmSync(file, { force: true })
    },
    start: () => {
      if (!running()) launchctl('bootstrap', domain, file)
    },
    stop,
  }
}
