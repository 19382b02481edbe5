/** memoryd as a systemd user service with its socket. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { Context } from '../context.ts'
import { readTemplate } from '../installation.ts'
import { control, mentions, refuseToReplace, type Service, succeeds, unitValues, writeUnit } from './manager.ts'
import { fillSystemdUnit, quoted, startedBy } from './units.ts'

const UNITS = ['memoryd.socket', 'memoryd.service']

export function systemdService(context: Context): Service | undefined {
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
